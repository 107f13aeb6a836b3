"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 6f73e4a529d99da045d24c60b5f16ff835ef0b018576617aa8c25f6df264105d; datamodel-code-generator 0.89.0
"""
