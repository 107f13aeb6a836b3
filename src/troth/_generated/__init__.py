"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 0fe4c9359228be64451b4523ca5d9da1ff80b954b7341f77c29722c259f58c3f; datamodel-code-generator 0.89.0
"""
