"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 8f645a460d0a07fcb5fa3255313c13b2ca81a45ca1b7b2502e43643915c523c7; datamodel-code-generator 0.89.0
"""
