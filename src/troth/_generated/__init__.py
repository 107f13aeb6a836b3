"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: f1c02eb905901cd5bc1ee6cfcd048a21d0d6131b1e9d0ccbfdde102486a77d10; datamodel-code-generator 0.89.0
"""
