"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 3f1cd2ee6d28fcda51feac59bb785c802a8a91a60203c271fd7c59b0eb711ffa; datamodel-code-generator 0.89.0
"""
