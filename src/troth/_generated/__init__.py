"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: f5e1916858c50724f29d3d25540133eaa698ff88b723ebc575777f6aeb7e1990; datamodel-code-generator 0.89.0
"""
