"""Messages in parts: texts, and pictures and sound in their places between them. Pure."""

from __future__ import annotations

import binascii
from dataclasses import dataclass, field
from typing import Any

from troth.dialects.fields import needed
from troth.domain import Medium, MediumKind, Pieces, Placed
from troth.errors import BadRequest

MARKER = "<__media__>"  # where llama-server's `multimodal_data` stands in a `prompt_string`
HEAD_LENGTH = 24  # letters of base64 that tell sound from pictures


@dataclass(slots=True)
class Parts:
    """The parts of one message as one text. Neighbouring texts stand on lines of their own, as at llama-server."""

    text: str = ""
    media: list[Placed] = field(default_factory=list)
    count: int = 0  # of the parts so far
    _follows_text: bool = False

    def say(self, text: str) -> None:
        """A text follows."""
        self.text += f"\n{text}" if self._follows_text else text
        self._follows_text = True
        self.count += 1

    def show(self, medium: Medium) -> None:
        """A picture or a sound follows."""
        self.media.append(Placed(len(self.text), medium))
        self._follows_text = False
        self.count += 1

    def said(self) -> dict[str, Any]:
        """The fields of a turn."""
        return {"text": self.text, "media": tuple(self.media)}


def image_at(value: Any, path: str) -> Medium:
    """The picture behind OpenAI's `image_url`, a text or an object with a `url`. Raises BadRequest without one."""
    if value is not None and not isinstance(value, str):
        value, path = value.url, f"{path}.url"
    return Medium(kind="image", source=needed(value, path), path=path)


def anthropic_image(source: Any, path: str) -> Medium:  # the generated model of a source, or None
    """The picture of a block in Anthropic's words. Raises BadRequest where something is missing."""
    source = needed(source, f"{path}.source")
    if source.type == "url":
        return Medium(kind="image", source=needed(source.url, f"{path}.source.url"), path=f"{path}.source.url")
    data = needed(source.data, f"{path}.source.data")
    return Medium(kind="image", source=data, path=f"{path}.source.data", is_base64=True)


def refused_picture(path: str, role: str) -> BadRequest:
    """What is raised for a picture in words that are not the user's and not a function's."""
    return BadRequest(
        f"{path}: a picture is the user's, or the result of a call; the {role}'s words are text.", param=path
    )


def pieces_with_media(text: str, data: list[str], path: str) -> Pieces:
    """A text with llama-server's markers, and what stands there, base64 each. Raises BadRequest for other counts."""
    texts = text.split(MARKER) if data else [text]
    if len(texts) != len(data) + 1:
        raise BadRequest(
            f"{path}.multimodal_data has {len(data)} entries, and {path}.prompt_string has {len(texts) - 1} places for "
            f"them: write {MARKER} where each of them stands.",
            param=f"{path}.multimodal_data",
        )
    pieces: list[str | tuple[int, ...] | Medium] = [texts[0]] if texts[0] else []
    for number, (entry, following) in enumerate(zip(data, texts[1:], strict=True)):
        at = f"{path}.multimodal_data.{number}"
        pieces.append(Medium(kind=_kind(entry), source=entry, path=at, is_base64=not entry.startswith("data:")))
        pieces += [following] if following else []
    return tuple(pieces)


def _kind(entry: str) -> MediumKind:
    """What the first bytes look like; whatever is no sound is judged as a picture."""
    if entry.startswith("data:audio/"):
        return "audio"
    try:
        head = binascii.a2b_base64(entry[:HEAD_LENGTH])
    except (binascii.Error, ValueError):
        return "image"
    is_wav = head[:4] == b"RIFF" and head[8:12] == b"WAVE"
    return "audio" if is_wav or head[:3] == b"ID3" or head[:4] == b"fLaC" else "image"
