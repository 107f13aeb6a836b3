"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 834c8462248bfefa9edb2b3d7f8eecf0d1d06dc7eae10077f9c54e6cd9ef7028; datamodel-code-generator 0.89.0
"""
