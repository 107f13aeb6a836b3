"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: a26867a217e80cece7dac96aa8c395e7007e25a2d8cc028bdc15e6328dcd813a; datamodel-code-generator 0.89.0
"""
