"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 05be4c569df5d32644a8ab20b5b9ab0367b92a9694993b21004b8411f836e6d7; datamodel-code-generator 0.89.0
"""
