"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 8041ac52a366fe9c631d888f7143c69e84fac4b263dbd9f663b796472d534cbe; datamodel-code-generator 0.89.0
"""
