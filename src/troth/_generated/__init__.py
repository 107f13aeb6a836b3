"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 02f78c68d5119efed0f5492d1e3bddf99d76c6e9822858850604ccb9c58b371b; datamodel-code-generator 0.89.0
"""
