"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: db3b062877121dc656db22a0f9d5f648ae8eceb265fd70d309c7f237aace5533; datamodel-code-generator 0.89.0
"""
