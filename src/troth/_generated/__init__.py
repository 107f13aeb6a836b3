"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 26ac1e8306d33ea55892ccb4842005248627c6b3475b61cd178341ec943acbdb; datamodel-code-generator 0.89.0
"""
