"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 43e06e7c5f01a99bda985fec96d5dd4504e77990fa6472d2af6954a7e805e58a; datamodel-code-generator 0.89.0
"""
