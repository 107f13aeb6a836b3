"""The pages about clients: what a test runs is what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "clients"
SHOWN_URL = "http://127.0.0.1:8731"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page: str, language: str, url: str) -> list[str]:
    """The blocks of one language on `docs/clients/PAGE.md`, for the server at `url` instead of the shown one."""
    text = (FOLDER / f"{page}.md").read_text("utf-8")
    found = [body for kind, body in FENCE.findall(text) if kind == language]
    assert found, f"{page}.md shows no {language}"
    assert any(SHOWN_URL in body for body in found), f"no {language} on {page}.md names {SHOWN_URL}"
    return [body.replace(SHOWN_URL, url) for body in found]


def exports(page: str, url: str) -> dict[str, str]:
    """The variables that the shell blocks of the page export."""
    lines = [line for body in snippets(page, "sh", url) for line in body.splitlines()]
    pairs = [line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export ")]
    return {name: value.split(" #")[0].strip().strip('"') for name, value in pairs}
