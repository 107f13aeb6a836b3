"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 73dfee3409fe3d3fe9d7f38104090cc4f5c36da659ad25a910e376eadc1c4190; datamodel-code-generator 0.89.0
"""
