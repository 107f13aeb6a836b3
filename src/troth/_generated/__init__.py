"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: dfd5350ec00ebc60b21448dc102c33a65bcb28b494afc766f12d0199d61e0e78; datamodel-code-generator 0.89.0
"""
