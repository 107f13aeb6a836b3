"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: b7ad0ab3d660a928e3c6e509684ad38e992539f96a171172c7eecf901a8b8dbe; datamodel-code-generator 0.89.0
"""
