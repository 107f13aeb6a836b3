"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: a35be8cd80c88599d833e131a5d89d01b3645f473283cbc01ac26cd3a1b0369e; datamodel-code-generator 0.89.0
"""
