"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 6bb45d33601d4b2446bdf983eb5fd2a941075081a81b44885bc8b3174593c16f; datamodel-code-generator 0.89.0
"""
