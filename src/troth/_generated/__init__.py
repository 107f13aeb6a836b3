"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 57455ae1d824a77552568702842b8373fccb0e70de85062e62b3e9f12b214676; datamodel-code-generator 0.89.0
"""
