"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: f106d560394769f77c493ef73fe20a7b1c2fa7235bf6b72c1f3d57dba6351239; datamodel-code-generator 0.89.0
"""
