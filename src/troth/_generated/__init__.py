"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 7facc0a1e49aad833810a0b9e74c9e11185ef8da0562a3ae29c8a62ee928eab1; datamodel-code-generator 0.89.0
"""
