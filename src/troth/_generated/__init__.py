"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 4e6b3eb3adb548024420e020b42ca9dac0a324bc2fd512f4d889f0e63a808e55; datamodel-code-generator 0.89.0
"""
