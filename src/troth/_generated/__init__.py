"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 7cfb46d2db526cddae98f22c213c3e45b332ad839ca14974858e6922237a836e; datamodel-code-generator 0.89.0
"""
