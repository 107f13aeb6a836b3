"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: e24e20ca8fbeafb4a63bc06c87a68da668e795fd1f22459972d6f284a16a799e; datamodel-code-generator 0.89.0
"""
