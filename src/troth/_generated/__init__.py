"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ed544caef79e03b3812176d4547aa934fda2ec12ad70a1420d80e39d5d6f9389; datamodel-code-generator 0.89.0
"""
