"""Reading YAML with places, and the traps of YAML 1.1."""

from __future__ import annotations

import pytest

from troth.config.document import Written, put, read_document


def read(text: str | bytes, **variables: str) -> Written:
    return read_document(text, "f.yaml", variables.get)


def faults(text: str | bytes, **variables: str) -> list[str]:
    return [str(fault) for fault in read(text, **variables).faults]


def test_each_value_has_the_line_it_was_written_in() -> None:
    written = read("a:\n  b: 1\nc:\n  - x\n  - y\n")

    assert written.value == {"a": {"b": 1}, "c": ["x", "y"]}
    assert written.places == {
        ("a",): "f.yaml:1",
        ("a", "b"): "f.yaml:2",
        ("c",): "f.yaml:3",
        ("c", 0): "f.yaml:4",
        ("c", 1): "f.yaml:5",
    }


def test_a_key_written_twice_is_a_fault_and_the_first_one_stays() -> None:
    written = read("a: 1\nb: 2\na: 3\n")

    assert [str(fault) for fault in written.faults] == [
        "f.yaml:3: a: the key is written twice; the first is at f.yaml:1"
    ]
    assert written.value["a"] == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-3", -3),
        ("1_000", 1000),
        ("0x10", 16),
        ("1.5", 1.5),
        ("1e-3", 0.001),
        ("1.0e-3", 0.001),
        (".inf", float("inf")),
        ("true", True),
        ("yes", True),
        ("Off", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("2026-01-02", "2026-01-02"),
        ("word", "word"),
    ],
)
def test_a_scalar_has_the_value_that_yaml_gives_it(text: str, value: object) -> None:
    assert read(f"a: {text}").value == {"a": value}


@pytest.mark.parametrize("word", ["0731", "12:30", "1:30.5"])
def test_an_octal_or_base_60_number_is_a_fault(word: str) -> None:
    (fault,) = faults(f"a: {word}")

    assert fault == (
        f'f.yaml:1: a: YAML reads the bare word "{word}" as an octal or base-60 number: '
        "put it in quotes, or write a decimal number"
    )


def test_a_key_that_yaml_reads_as_true_is_the_word_that_was_written() -> None:
    assert read("on: 1\n1: 2\n").value == {"on": 1, "1": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", "f.yaml:1: expected a mapping of sections, got [1, 2]"),
        ("a: [", "f.yaml:1: this is not valid YAML: "),
        ("a:\n\tb: 1", "f.yaml:2: this is not valid YAML: "),
        ("a: 1\n---\nb: 2", "f.yaml:2: this is not valid YAML: "),
        ("a: *b", "f.yaml:1: this is not valid YAML: found undefined alias"),
        ("a: !!python/object:os.system {}", "f.yaml:1: a: the tag python/object:os.system is not used here"),
        ("? [x]\n: 1", "f.yaml:1: a key must be one word"),
        ("b: &b {c: 1}\na:\n  <<: *b", "f.yaml:3: a.<<: merge keys (<<) are not supported; write the keys out"),
        ("a: &a [*a]", "f.yaml:1: a.0: an alias may not hold itself"),
        ("[" * 5000, "f.yaml: this is nested too deeply"),
        (b"a: \xff\xfe", "f.yaml: this is not YAML text: "),
        ("a: \x00", "f.yaml: this is not YAML text: "),
    ],
)
def test_what_is_no_configuration_is_a_fault_with_its_line(text: str | bytes, words: str) -> None:
    (fault,) = faults(text)

    assert fault.startswith(words)


def test_an_alias_stands_for_the_value_it_names() -> None:
    assert read("a: &x {b: 1}\nc: *x").value == {"a": {"b": 1}, "c": {"b": 1}}


def test_a_tab_is_answered_with_the_remedy() -> None:
    assert faults("a:\n\tb: 1")[0].endswith("; indent with spaces")


@pytest.mark.parametrize("text", ["${NAME}", "${env:}", "${env:1A}", "${env:NAME", "${file:x}"])
def test_any_other_use_of_a_dollar_brace_is_a_fault(text: str) -> None:
    (fault,) = faults(f"a: '{text}'", NAME="x")

    assert fault.startswith("f.yaml:1: a: expected ${env:NAME}, got ")


def test_a_doubled_dollar_is_a_literal_one() -> None:
    assert read("a: '$${env:X} $5'").value == {"a": "${env:X} $5"}


def test_two_unset_variables_are_two_faults() -> None:
    assert len(faults("a: '${env:X}'\nb: ['${env:Y}']")) == 2


def test_the_value_of_a_variable_is_not_read_again() -> None:
    assert read("a: '${env:X}'", X="${env:Y}").value == {"a": "${env:Y}"}


def test_a_put_value_forgets_everything_about_the_old_one() -> None:
    written = read("a: {b: 1, c: ['${env:X}']}", X="x")

    put(written, "a.c=[2]", "--set", lambda _: None)

    assert written.value == {"a": {"b": 1, "c": [2]}}
    assert written.place(("a", "c", 0)) == "--set"
    assert written.place(("a", "b")) == "f.yaml:1"
    assert written.from_environment == {}


def test_a_put_value_without_text_is_null() -> None:
    written = Written("")

    put(written, "a=", "--set", lambda _: None)

    assert written.value == {"a": None}
