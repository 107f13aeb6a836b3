"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 213b162733154f3b8aa2ef806715a232707d1abc81a1855235a89693614d215b; datamodel-code-generator 0.89.0
"""
