"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 77e864a6fa8c21a6ea5f8c8575af78b9d11f6ccae62714a63d36b7b35504209d; datamodel-code-generator 0.89.0
"""
