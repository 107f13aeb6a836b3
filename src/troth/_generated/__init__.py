"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: d373c87b4309c8041191c8d57ce39f5fd6acb957761067b3681df06362915003; datamodel-code-generator 0.89.0
"""
