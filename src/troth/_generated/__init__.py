"""The contract as code. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ba311995a5afb143655ecfc54715bece0794f7b90b6fd40eb074d81dd0cf89ab; datamodel-code-generator 0.89.0
"""
