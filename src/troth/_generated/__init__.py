"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 15df9e90687b7e16bc5908720a0a5beb5e27c8e062c26627f311319b299d0d9c; datamodel-code-generator 0.89.0
"""
