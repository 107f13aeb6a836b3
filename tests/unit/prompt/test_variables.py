"""The client's template variables: read, reserved, or without effect."""

from __future__ import annotations

from typing import Any

import pytest

from troth.errors import BadRequest
from troth.prompt.template import Template, TemplateLimits
from troth.prompt.variables import client_variables

THINKING = Template("{% if enable_thinking %}{{ style }}{% endif %}{{ messages }}{{ tools }}", TemplateLimits())
PLAIN = Template("{{ messages }}", TemplateLimits())


def refused(kwargs: dict[str, Any], template: Template = THINKING) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        client_variables(kwargs, template)
    return caught.value


def test_variables_that_the_template_reads_are_passed() -> None:
    kwargs = {"enable_thinking": True, "style": {"tone": ["dry"]}}

    assert client_variables(kwargs, THINKING) == kwargs


def test_null_is_absent() -> None:
    assert client_variables({"style": None, "unread": None, "messages": None}, THINKING) == {}


RESERVED = ("messages", "tools", "documents", "bos_token", "eos_token", "add_generation_prompt", "troth_tick")
FUNCTIONS = ("raise_exception", "strftime_now", "range", "namespace")


@pytest.mark.parametrize("name", RESERVED + FUNCTIONS)
def test_reserved_names_are_refused(name: str) -> None:
    refusal = refused({name: "x"})

    assert refusal.param == f"chat_template_kwargs.{name}"
    assert "reserved" in refusal.message


def test_a_variable_that_the_template_does_not_read_is_refused_with_those_it_reads() -> None:
    refusal = refused({"stile": "dry"})

    assert refusal.param == "chat_template_kwargs.stile"
    assert "enable_thinking, style" in refusal.message
    assert "messages" not in refusal.message


def test_a_template_without_variables_says_so() -> None:
    assert "reads none" in refused({"style": "dry"}, PLAIN).message


def test_thinking_can_be_switched_off_where_there_is_none() -> None:
    assert client_variables({"enable_thinking": False}, PLAIN) == {}
    assert "enable_thinking" in refused({"enable_thinking": True}, PLAIN).message


@pytest.mark.parametrize("value", ["true", 1, 0, "", []])
def test_thinking_is_true_or_false(value: Any) -> None:
    refused({"enable_thinking": value})
    refused({"enable_thinking": value}, PLAIN)
