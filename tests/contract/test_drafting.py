"""A smaller model that drafts changes how fast an answer comes, and nothing of what it says."""

from __future__ import annotations

import re
from typing import Any

import httpx

from tests.contract.conftest import Connect, ServeWith
from tests.support.live import config, embedded
from tests.support.wire import CHAT, chat_body
from troth.config.models import DEFAULT_SOURCE

TEXT = "Describe a lighthouse, a harbour and the sea around them."


def ask(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.post(CHAT, json=chat_body(TEXT, max_tokens=96, **fields)).json()
    return answer


def test_a_drafting_model_leaves_every_answer_as_it_was(serve_with: ServeWith, connect: Connect) -> None:
    # With itself for a smaller model every sure guess is right, so drafts are certain to be tried and taken.
    plain = connect(serve_with(config([embedded(slots=1, draft_tokens_max=0)])))
    drafted = connect(serve_with(config([embedded(slots=1) | {"draft_source": DEFAULT_SOURCE}])))
    for fields in ({"temperature": 0}, {"temperature": 0.8, "seed": 7}):
        expected, answer = ask(plain, **fields), ask(drafted, **fields)
        assert answer["choices"] == expected["choices"]
        assert "draft_n" not in expected["timings"]
    scrape = drafted.get("/metrics").text
    drafts, accepted = (
        float(found.group(1))
        for name in ("num_draft", "num_accepted")
        if (found := re.search(rf"^llamacpp:spec_decode_{name}_tokens_total (\S+)", scrape, re.M))
    )
    assert 0 < accepted <= drafts


def test_health_names_the_drafting_model(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(config([embedded(slots=1) | {"draft_source": DEFAULT_SOURCE}])))

    speculation = client.get("/health").json()["speculation"]

    assert speculation["kind"] == "draft_model"
    assert speculation["draft_model"] == DEFAULT_SOURCE.rpartition("/")[2]
