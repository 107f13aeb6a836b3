"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 04d0b02de60be6eb3e7a6e845d95dae6e5386f1948942d8c9774755f8134d493; datamodel-code-generator 0.89.0
"""
