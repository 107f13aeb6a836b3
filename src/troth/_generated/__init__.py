"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 45c83629dc50e5f6aa0a17625081b63e54a6f38c8d2a3653c092c5ddad9423a4; datamodel-code-generator 0.89.0
"""
