"""The end of a JSON value is found, whatever stands in its strings."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from troth.formats.base import CallArguments, CallName, Words
from troth.formats.json_scan import value
from troth.formats.tape import ScriptReader, Steps, Tape

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def script(tape: Tape) -> Steps[None]:
    yield from value(tape, tape.arguments)
    yield from tape.until(("\0",), tape.words)


@settings(deadline=None)
@given(written=VALUES, is_ascii=st.booleans(), size=st.integers(1, 5))
def test_a_value_ends_where_it_ends(written: Any, is_ascii: bool, size: int) -> None:
    text = json.dumps(written, ensure_ascii=is_ascii) + ",]} rest"
    reader = ScriptReader(script)
    parts = [part for at in range(0, len(text), size) for part in reader.feed(text[at : at + size])]
    parts += reader.end()
    assert not any(isinstance(part, CallName) for part in parts)
    read = "".join(part.text for part in parts if isinstance(part, CallArguments))
    assert json.loads(read) == written
    assert "".join(part.text for part in parts if isinstance(part, Words)) == ",]} rest"
