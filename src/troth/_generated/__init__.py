"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: d516fbb392683cf40b04f1e7cfb12c5c6856474aef8bd6390e77ece2b8885be4; datamodel-code-generator 0.89.0
"""
