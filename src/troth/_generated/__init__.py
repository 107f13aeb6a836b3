"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ea643c243ca01c7617f431dae785536b6dbd543ebc50340177d87591cf0589a0; datamodel-code-generator 0.89.0
"""
