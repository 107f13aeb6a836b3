"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ecf85f476f016594ce537717d1af4859cb5e8fe4d2a065826940f177401d3a6f; datamodel-code-generator 0.89.0
"""
