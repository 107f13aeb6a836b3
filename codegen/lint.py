"""House rules (stub)."""
from codegen.source import Source


def lint(source: Source) -> list[str]:
    return []
