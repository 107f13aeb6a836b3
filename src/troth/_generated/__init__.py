"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: aee9dd4760908e8a19ebbe0f62480747a89cbe965c042dac7ea5221d46257031; datamodel-code-generator 0.89.0
"""
