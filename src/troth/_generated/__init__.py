"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: e01cf936a97af75f5652257dc97740e2e435edd7fdee1e83e88d2e8ad1c5a5ef; datamodel-code-generator 0.89.0
"""
