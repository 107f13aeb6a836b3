"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 935b872cb1e669e1e3f8a0fc068358af34b9add6389c0458a3629d5c12d167ff; datamodel-code-generator 0.89.0
"""
