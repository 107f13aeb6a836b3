"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: c856c1d8fdc550c22c7997f9f7515436a41733e50615094285521a6547e7b3fa; datamodel-code-generator 0.89.0
"""
