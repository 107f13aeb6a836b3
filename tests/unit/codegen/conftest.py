"""A small source that breaks no rule, for tests that break one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.source import Source

FILES = {
    "openapi.yaml": """
openapi: 3.0.3
info: {title: small, version: "1"}
security: [{key: []}]
paths:
  /v1/say: {$ref: 'paths/talk.yaml#/say'}
  /say: {$ref: 'paths/talk.yaml#/say'}
components:
  securitySchemes:
    key: {type: http, scheme: bearer}
""",
    "paths/talk.yaml": """
say:
  post:
    operationId: say
    tags: [talk]
    summary: Something is said.
    x-error-style: openai
    parameters:
      - {$ref: '../parameters/talk.yaml#/Loud'}
    requestBody:
      content:
        application/json:
          schema: {$ref: '../schemas/talk.yaml#/SayRequest'}
    responses:
      "200":
        description: What was said.
        content:
          application/json:
            schema: {$ref: '../schemas/talk.yaml#/Said'}
          text/event-stream:
            schema: {}
            x-event-schema: {$ref: '../schemas/talk.yaml#/Said'}
      "400": {$ref: '../responses/errors.yaml#/Failed'}
      "401": {$ref: '../responses/errors.yaml#/Failed'}
      "413": {$ref: '../responses/errors.yaml#/Failed'}
      "415": {$ref: '../responses/errors.yaml#/Failed'}
      default: {$ref: '../responses/errors.yaml#/Failed'}
""",
    "parameters/talk.yaml": """
Loud:
  name: X-Loud
  in: header
  description: Say it loud.
  schema: {type: boolean, nullable: true}
  x-contract: {class: honoured}
""",
    "responses/errors.yaml": """
Failed:
  description: Nothing was said.
  content:
    application/json:
      schema: {$ref: '../schemas/talk.yaml#/Said'}
""",
    "schemas/talk.yaml": """
SayRequest:
  description: What to say.
  x-contract-prefixes: {'hint.': inert}
  type: object
  required: [turns]
  properties:
    turns:
      description: Who says what.
      type: array
      items: {$ref: '#/Turn'}
      x-contract: {class: honoured}
    stream: {type: boolean, nullable: true, description: Bit by bit., x-contract: {class: honoured, neutral: {enum: [false]}}}
    words: {type: integer, minimum: 1, maximum: 9, nullable: true, description: How many., x-contract: {class: clamped, to: words}}
    count: {type: integer, minimum: 1, maximum: 9, nullable: true, description: The same., x-contract: {class: alias, of: words}}
    accent: {type: string, nullable: true, description: Not done., x-contract: {class: guarded, neutral: {maxLength: 0}}}
    codes:
      description: Not done.
      type: array
      items: {type: integer, minimum: 0, maximum: 9}
      nullable: true
      x-contract: {class: guarded}
    label: {description: The caller's own., x-contract: {class: inert}}
Turn:
  description: One turn.
  oneOf: [{$ref: '#/Sung'}, {$ref: '#/Spoken'}]
  discriminator:
    propertyName: how
    mapping: {song: '#/Sung', talk: '#/Spoken'}
Sung:
  description: A song.
  type: object
  required: [how, tune]
  properties:
    how: {type: string, enum: [song], description: The form., x-contract: {class: honoured}}
    tune: {type: string, description: Not done., x-contract: {class: guarded}}
Spoken:
  description: Plain words.
  type: object
  required: [how]
  properties:
    how: {type: string, enum: [talk], description: The form., x-contract: {class: honoured}}
    text: {type: string, nullable: true, description: The words., x-contract: {class: honoured}}
Said:
  description: What was said.
  type: object
  required: [text]
  properties:
    text: {type: string, description: The words.}
""",
    "examples/say/hello.request.json": '{"turns": [{"how": "talk", "text": "hello"}]}',
    "examples/say/hello.response.json": '{"text": "hello"}',
    "examples/say/hello.stream.txt": 'data: {"text": "hello"}\n\n',
}

Write = Callable[[dict[str, str | None]], Source]
Edit = Callable[[str, str, str], Source]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the small source with some files replaced, or left out where None, and reads it."""

    def written(changes: dict[str, str | None]) -> Source:
        for name, text in (FILES | changes).items():
            if text is not None:
                path = tmp_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
        return Source(tmp_path)

    return written


@pytest.fixture
def edit(write: Write) -> Edit:
    """Reads the small source with one text replaced in one file."""

    def edited(file: str, old: str, new: str) -> Source:
        assert old in FILES[file]
        return write({file: FILES[file].replace(old, new)})

    return edited


@pytest.fixture
def small(write: Write) -> Source:
    """The small source as it is."""
    return write({})
