"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: e74071229a27637e20f66155322e25c412a429ac2be98bc561ab08d3c50f19f2; datamodel-code-generator 0.89.0
"""
