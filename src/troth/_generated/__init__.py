"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 0f7e890a799f53a28ba6918f8e5d2462792372e4a4e4540ad20a4f91547b98e2; datamodel-code-generator 0.89.0
"""
