"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: fccb6d4ffe4a5e848897696a499c5e4de8163571f573ffecf58a701696a8820f; datamodel-code-generator 0.89.0
"""
