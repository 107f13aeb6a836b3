"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: d0a94b058ea30a425b466e6ab712b7ac03a7104b509d29f97bbfcd31ba3a0e20; datamodel-code-generator 0.89.0
"""
