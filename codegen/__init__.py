"""The tools that turn `openapi/` into `src/troth/_generated/`: read, lint, bundle, models, tables."""
