"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: be4a3d9a5638ca611d98ce471c9fa269c53cb82cc25188744a0e50ced248399a; datamodel-code-generator 0.89.0
"""
