"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ca891d4da96cbfecf83fae0a69fc66af254292e8a73fa5ef59d77262fd3e4e07; datamodel-code-generator 0.89.0
"""
