"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 673edba46dcec33d914f0b058e48ea8f149ef217d41ae131ad1531c818cdf111; datamodel-code-generator 0.89.0
"""
