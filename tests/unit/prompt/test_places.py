"""Where media stand in a prompt: behind the words that they were sent behind, and nowhere by a client's word."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.scripted import CHATML, CONTROLS, ScriptedVocabulary
from troth.domain import Medium, Placed, RawText, Role, Segment, Talk, ToolCall, Turn, View
from troth.errors import BadRequest
from troth.prompt.places import PLACE, SHOWN, pieces, with_places
from troth.prompt.quotation import NONCHARACTERS
from troth.prompt.raw import raw_text
from troth.prompt.script import Script, make_script
from troth.prompt.talk import WrittenTalk, write_talk
from troth.prompt.template import Template, TemplateLimits

PARTS = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}"
)


def medium(number: int) -> Medium:
    return Medium(kind="image", source=f"data:,{number}", path=f"messages.0.content.{number}.image_url")


def view(number: int) -> View:
    """Two ids below zero that tell the number."""
    ids = np.array([-100 - number, -200 - number], np.int32)
    return View(bytes([number]), (Segment(ids, is_seen=True),))


def turn(*parts: str | int, role: Role = "user") -> Turn:
    """A turn of texts and pictures."""
    text, placed = "", list[Placed]()
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            placed.append(Placed(len(text), medium(part)))
    return Turn(role=role, text=text, media=tuple(placed))


def script(template: str = CHATML, vocabulary: ScriptedVocabulary | None = None) -> Script:
    return make_script(Template(template, TemplateLimits()), vocabulary or ScriptedVocabulary())


def written(*turns: Turn, template: str = CHATML, bos: bool = False) -> WrittenTalk:
    vocabulary = ScriptedVocabulary(adds_bos=bos)
    views = {placed.medium: view(int(placed.medium.source[6:])) for each in turns for placed in each.media}
    return write_talk(Talk(turns), script(template, vocabulary), vocabulary, "hoist", views)


def told(found: WrittenTalk) -> str:
    """The prompt as text, `[n]` where picture n stands."""
    vocabulary, text, data = ScriptedVocabulary(), "", b""
    for token in found.tokens.tolist():
        if token >= 0:
            data += vocabulary.piece(token)
        elif token > -200:
            text += data.decode() + f"[{-100 - token}]"
            data = b""
    return text + data.decode()


def test_pictures_stand_between_the_words_that_they_were_sent_between() -> None:
    found = written(turn("one ", 0, " two ", 1, 2, " three"), turn("four ", 3))

    assert told(found) == (
        "<|im_start|>user\none [0] two [1][2] three<|im_end|>\n<|im_start|>user\nfour [3]<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert found.text.count(SHOWN) == 4
    assert [found.tokens[start : start + 2].tolist() for start, _ in found.views] == [
        [-100 - n, -200 - n] for n in range(4)
    ]


def test_words_around_a_picture_stay_data() -> None:
    found = written(turn("<|im_", 0, "end|> <|im_end|>"))
    controls = ScriptedVocabulary().control_ids
    assert sum(token in controls for token in found.tokens.tolist()) == 3  # what the template itself writes


@pytest.mark.parametrize("text", [SHOWN, "<image>", "".join(NONCHARACTERS), "\ufdd0" * 16, "0"])
def test_no_text_is_a_place(text: str) -> None:
    assert not any(isinstance(piece, int) for piece in pieces(text))
    assert (written(turn(text)).tokens >= 0).all()
    assert (written(turn(text, 0, text)).tokens < 0).sum() == 2


def test_a_tool_s_picture_stands_in_its_result() -> None:
    call = Turn(role="assistant", text="", calls=(ToolCall("c", "look", "{}"),))
    result = Turn(role="tool", text="Here: .", call_id="c", media=(Placed(6, medium(0)),))
    found = told(written(turn("Look."), call, result))
    assert "Here: [0]." in found


def test_results_in_a_row_keep_their_pictures_in_order() -> None:
    calls = (ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}"))
    results = [
        Turn(role="tool", text="x", call_id=name, media=(Placed(1, medium(number)),))
        for number, name in enumerate("ab")
    ]
    found = told(written(turn("Look."), Turn(role="assistant", text="", calls=calls), *results))
    assert found.index("x[0]") < found.index("x[1]")


def test_instructions_that_are_moved_move_no_picture() -> None:
    found = told(written(turn("a", 0), Turn(role="system", text="rules"), turn("b", 1)))
    assert found.index("rules") < found.index("a[0]") < found.index("b[1]")


def test_a_template_that_wants_parts_is_given_parts() -> None:
    assert script(PARTS).takes_parts
    assert not script().takes_parts
    assert "one [0] two<|im_end|>" in told(written(turn("one ", 0, " two"), template=PARTS))


@pytest.mark.parametrize(
    "template",
    [
        "{% for message in messages %}{{ message.role }}{% endfor %}",
        "{% for message in messages %}{{ message.content }}{{ message.content }}{% endfor %}",
        "{% for message in messages | reverse %}{{ message.content }}{% endfor %}",
        "{% for message in messages %}{{ message.content | length }}{% endfor %}",
    ],
)
def test_a_template_that_loses_a_place_is_told_by_the_part_s_path(template: str) -> None:
    with pytest.raises(BadRequest, match="does not show it where it stands") as refused:
        written(turn("a", 0), turn("b", 1), template=template)
    assert refused.value.param in (medium(0).path, medium(1).path)


def test_a_prompt_that_begins_with_a_picture_has_its_bos() -> None:
    found = written(turn(0, "a"), template="{% for message in messages %}{{ message.content }}{% endfor %}", bos=True)
    vocabulary = ScriptedVocabulary(adds_bos=True)
    assert found.tokens.tolist()[:2] == [vocabulary.control_id("<s>"), -100]
    assert found.views[0][0] == 1


def test_a_raw_text_has_pictures_between_its_pieces() -> None:
    vocabulary = ScriptedVocabulary(CONTROLS, adds_bos=True)
    first, second = medium(0), medium(1)
    raw = RawText((first, "a", second, (5, 6)))
    found = raw_text(raw, vocabulary, {first: view(0), second: view(1)})

    bos = vocabulary.control_id("<s>")
    assert found.tokens.tolist() == [bos, -100, -200, ord("a"), -101, -201, 5, 6]
    assert [start for start, _ in found.views] == [1, 4]
    assert found.text == f"{SHOWN}a{SHOWN}" + "\x05\x06"


def test_marks_are_counted_over_all_turns() -> None:
    marked = with_places([turn("a", 0), turn("b"), turn(1, 2)])
    assert [int(mark) for each in marked for mark in PLACE.findall(each.text)] == [0, 1, 2]
    assert all(each.media == () for each in marked)
