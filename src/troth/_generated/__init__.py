"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 80709f1840ea67e7b4ffa34561375ef8c2ef36e70afb44b731719f98040752ea; datamodel-code-generator 0.89.0
"""
