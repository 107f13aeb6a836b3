"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 9c43f287b097e03c6eb5b5cf9cd741a9622e0d28a6331428f16df47a66f2d9b3; datamodel-code-generator 0.89.0
"""
