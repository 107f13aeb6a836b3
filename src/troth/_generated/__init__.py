"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 2798e095bf48857281cdc54b8809a3499a6086aef8231c3e450924f423953734; datamodel-code-generator 0.89.0
"""
