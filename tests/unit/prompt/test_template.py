"""Chat templates: the dialect of Jinja that they are written in, and the walls around them."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import pytest

from troth.errors import BadRequest, NotImplementedHere
from troth.prompt.template import Template, TemplateLimits


def render(source: str, limits: TemplateLimits | None = None, **variables: Any) -> str:
    return Template(source, limits or TemplateLimits()).render(variables)


def test_blocks_leave_no_white_space_behind() -> None:
    assert render("a\n  {% if true %}\nb\n  {% endif %}\nc\n") == "a\nb\nc"


def test_loops_can_break_and_continue() -> None:
    source = "{% for x in xs %}{% if x == 2 %}{% continue %}{% elif x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}"

    assert render(source, xs=[1, 2, 3, 4, 5]) == "13"


def test_generation_tags_are_read_through() -> None:
    assert render("a{% generation %}{{ b }}{% endgeneration %}c", b="b") == "abc"


def test_tojson_writes_plain_json() -> None:
    assert render("{{ v | tojson }}", v={"b": "<é>", "a": 1}) == '{"b": "<é>", "a": 1}'
    assert render("{{ v | tojson(indent=1, sort_keys=true) }}", v={"b": 1, "a": 2}) == '{\n "a": 2,\n "b": 1\n}'
    assert render("{{ v | tojson(ensure_ascii=true, separators=(',', ':')) }}", v=["é", 1]) == '["\\u00e9",1]'


def test_lists_can_be_appended_to() -> None:
    assert render("{% set x = [] %}{% set _ = x.append('a') %}{{ x[0] }}") == "a"


def test_the_date_is_the_clocks() -> None:
    template = Template("{{ strftime_now('%d %b %Y') }}", TemplateLimits(), now=lambda: datetime(2031, 5, 4))

    assert template.render({}) == "04 May 2031"


def test_a_template_that_reads_the_date_from_a_variable_is_told_it() -> None:
    source = "{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}{{ date_string }}"
    template = Template(source, TemplateLimits(), now=lambda: datetime(2031, 5, 4))

    assert template.render({}) == "04 May 2031"
    assert template.render({"date_string": "today"}) == "today"


def test_a_template_knows_its_digest_and_its_variables() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{{ range(3) }}{% if enable_thinking %}{% endif %}"

    template = Template(source, TemplateLimits())

    assert template.sha256 == hashlib.sha256(source.encode()).hexdigest()
    assert template.variables == {"messages", "enable_thinking"}


def test_what_a_template_raises_is_told_to_the_client() -> None:
    with pytest.raises(BadRequest, match="roles must alternate") as caught:
        render("{{ raise_exception('roles must alternate') }}")

    assert caught.value.param == "messages"


@pytest.mark.parametrize(
    "source",
    ["{{ messages[0].content }}", "{{ none + 1 }}", "{{ {}['a'].b }}", "{{ 1 / 0 }}", "{{ x.y.z }}", "{{ 'a' + 1 }}"],
)
def test_a_template_that_fails_is_a_bad_request(source: str) -> None:
    with pytest.raises(BadRequest, match="chat template"):
        render(source, messages=[])


def test_endless_recursion_is_a_bad_request() -> None:
    with pytest.raises(BadRequest):
        render("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}")


@pytest.mark.parametrize(
    "source", ["{% if %}", "{{ x | nosuchfilter }}", "{% for x in y %}", "{% include 'x' %}{% endif %}"]
)
def test_a_template_that_does_not_compile_is_not_implemented(source: str) -> None:
    with pytest.raises(NotImplementedHere, match="/v1/completions"):
        Template(source, TemplateLimits())


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.__init__.__globals__ }}",
        "{{ messages.clear() }}",
        "{{ messages.pop() }}",
        "{{ kwargs.update({'a': 1}) }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ raise_exception.__globals__.json }}",
        "{{ strftime_now.__closure__[0] }}",
        "{{ '{0.__class__.__name__}'.format(1) }}",
        "{% include '/etc/passwd' %}",
    ],
)
def test_templates_cannot_reach_out_of_the_sandbox(source: str) -> None:
    with pytest.raises(BadRequest):
        render(source, messages=[{}], kwargs={})


@pytest.mark.parametrize(
    "loop",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% set x %}{% for a in range(99999) %}{% for b in range(99999) %}a{% endfor %}{% endfor %}{% endset %}",
    ],
)
def test_a_template_that_does_not_end_is_stopped(loop: str) -> None:
    with pytest.raises(BadRequest, match=r"longer than 0\.05 s"):
        render(loop, TemplateLimits(seconds_max=0.05))


def test_a_template_writes_up_to_its_limit() -> None:
    assert render("{{ x }}", TemplateLimits(output_bytes_max=4), x="éé") == "éé"

    with pytest.raises(BadRequest, match="more than 4 bytes"):
        render("{{ x }}", TemplateLimits(output_bytes_max=4), x="ééa")


@pytest.mark.parametrize(
    "source", ["{{ 'a' * 9999999999 }}", "{{ 9999999999 * [1] }}", "{{ (9 ** 99) ** 99 }}", "{{ 2 ** -9999 }}"]
)
def test_values_cannot_be_blown_up(source: str) -> None:
    with pytest.raises(BadRequest, match="stopped"):
        render(source)


def test_ordinary_products_and_powers_are_computed() -> None:
    assert render("{{ 'ab' * 3 }} {{ 2 ** 10 }} {{ 6 * 7 }} {{ '=' * 0 }}") == "ababab 1024 42 "


def test_half_a_surrogate_pair_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="surrogate"):
        render("{{ x }}", x="\ud800")
