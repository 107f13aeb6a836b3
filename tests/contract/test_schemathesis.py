"""Schemathesis searches the live server for requests whose answers break the document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen.strict_view import strict_view
from tests.contract import servers
from tests.contract.conftest import ServeWith
from tests.support.judge import Document
from tests.support.live import config

ROOT = Path(__file__).parents[2]
SECONDS = 900  # far more than it takes: a machine may be busy

# ast.parse is not safe in several threads before Python 3.11.8 (python/cpython#106905), and hypothesis calls it.
WORKERS = "1"
# Said by our own check instead, which knows the rules between fields.
LEFT_OUT = "positive_data_acceptance,ignored_auth"
COUNTED = "|^apply_template$|^count_"  # their bodies are those of the routes that answer, and are searched there
MOVES = "|^(un)?load_model_slot$|^restart_model_slot$|^stream_model_slot_state$"  # models would go, or a stream stay
NOT_HERE = "__alias|^infill$" + MOVES  # the embedded model has no tokens for gaps: a 501


def fuzzed() -> dict[str, Any]:
    """A model of every kind, answers of one token, and no limit below what the document says."""
    judges, vectors = servers.of_judges()["models"], servers.of_vectors()["models"]
    return config(
        [servers.quick(context_tokens=512) | {"decides": True}, *judges[1:], *vectors],
        budget={"cap_tokens": 1},
        limits={"choices_max": 128, "stop_strings_max": 10**6, "stop_bytes_max": 10**6, "logit_bias_max": 10**6},
    )


@pytest.mark.parametrize(("phase", "examples"), [("coverage", 1), ("fuzzing", 15)])
def test_no_request_is_answered_against_the_document(
    phase: str, examples: int, serve_with: ServeWith, document: Document, tmp_path: Path
) -> None:
    server = serve_with(fuzzed())
    view = tmp_path / "strict.json"
    view.write_text(json.dumps(strict_view(document)), "utf-8")
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(view), "--url", server.url, "--no-color"),
        *("--phases", phase, "--max-examples", str(examples), "--continue-on-failure"),
        *("--seed", "1", "--workers", WORKERS),
        *("--exclude-checks", LEFT_OUT, "--warnings", "off"),
        *("--exclude-operation-id-regex", NOT_HERE + (COUNTED if phase == "coverage" else "")),
    ]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": "tests.support.schemathesis_checks", "PYTHONPATH": python_path()}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    assert "Tested: " in run.stdout
    assert server.process.poll() is None
    assert "level=error" not in server.log()


def python_path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
