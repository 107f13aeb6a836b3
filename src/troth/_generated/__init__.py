"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 26b372d7fd6a1ec80abedaad126604f4fc84ac930b7c6eaa960d49075ac23b4e; datamodel-code-generator 0.89.0
"""
