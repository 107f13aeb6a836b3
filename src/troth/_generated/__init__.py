"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 7674d62aa6e8b20e4c66773d391bcf354ef1eb6d74ffc4a2b3c473fd4390f575; datamodel-code-generator 0.89.0
"""
