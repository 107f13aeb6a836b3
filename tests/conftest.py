"""Fixtures that all tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

from troth.config.models import DEFAULT_SOURCE
from troth.sources.hub import HubSettings
from troth.sources.progress import progress_on
from troth.sources.store import Store, default_folder

settings.register_profile("any_machine", deadline=None)  # a busy machine is slow, and that is no fault
settings.load_profile("any_machine")


def fetch_embedded_model() -> Path:
    """The embedded default's file, fetched once into the user's cache as `troth serve` would."""
    store = Store(default_folder(), progress_on(sys.stderr), HubSettings(), ())
    return store.resolve(DEFAULT_SOURCE)


@pytest.fixture(scope="session")
def embedded_model() -> Path:
    """The embedded default's file."""
    return fetch_embedded_model()
