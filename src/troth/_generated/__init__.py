"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: b6b41ba3ccec0fdf0cee796f4169c7f2ebaf8bcdfbf7d442b8f3c4c07cf985ba; datamodel-code-generator 0.89.0
"""
