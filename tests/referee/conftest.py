"""The JSON Schema Test Suite, out of the source of a package that carries it; fetched once, never kept here."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import httpx
import platformdirs
import pytest

INDEX = "https://pypi.org/simple/jsonschema/"
ARCHIVE = "jsonschema-4.9.1.tar.gz"
SHA256 = "408c4c8ed0dede3b268f7a441784f74206380b04f93eb2d537c7befb3df3099f"
MEDIA_TYPE = "application/vnd.pypi.simple.v1+json"
FOLDER = "json/tests/draft2020-12/"
Case = dict[str, Any]


def archive() -> Path:
    """The archive, in the user's cache."""
    kept = Path(platformdirs.user_cache_dir("troth")) / "referee" / ARCHIVE
    if not kept.exists() or hashlib.sha256(kept.read_bytes()).hexdigest() != SHA256:
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            listed = client.get(INDEX, headers={"Accept": MEDIA_TYPE}).raise_for_status()
            (url,) = [each["url"] for each in listed.json()["files"] if each["filename"] == ARCHIVE]
            data = client.get(str(listed.url.join(url))).raise_for_status().content
        assert hashlib.sha256(data).hexdigest() == SHA256, "the archive is not the one that is known"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
    return kept


@pytest.fixture(scope="session")
def suite() -> dict[str, list[Case]]:
    """The cases of draft 2020-12, and those of its formats, by file."""
    found: dict[str, list[Case]] = {}
    with tarfile.open(archive()) as source:
        for member in source.getmembers():
            _, _, inner = member.name.partition("/")
            name = inner.removeprefix(FOLDER)
            if (
                inner.startswith(FOLDER)
                and name.endswith(".json")
                and (("/" not in name) or "optional/format/" in name)
            ):
                opened = source.extractfile(member)
                assert opened is not None
                found[name] = json.loads(opened.read())
    assert len(found) > 50, "the suite is there"
    return found
