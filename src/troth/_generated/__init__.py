"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ac9ea2b713472c28739b3e0d1098cd887ed4a9eea9037dc1e66c0cac9fc35d05; datamodel-code-generator 0.89.0
"""
