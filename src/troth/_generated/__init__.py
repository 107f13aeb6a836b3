"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 79b36db3688b6dd246dea66ddf9ca1db6cb0411cbe7ff695555ef0e3afbad0f3; datamodel-code-generator 0.89.0
"""
