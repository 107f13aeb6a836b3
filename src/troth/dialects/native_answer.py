"""Answers as llama-server's own routes write them (README, /completion), whole or piece by piece.

Divergences from llama-server:
1. `id_slot` is always -1: the scheduler may move a sequence between two steps.
2. A fault after the first byte is one frame with an `error` object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from troth.conversation import Prepared
from troth.dialects.completion_answer import progress_of
from troth.dialects.logprobs import logprobs_of
from troth.dialects.sse import data_frame
from troth.dialects.timings import timings_of
from troth.domain import (
    Began,
    CallBegan,
    CallSaid,
    Choice,
    Ended,
    Event,
    Finished,
    Piece,
    Progress,
    Reply,
    Said,
    Thought,
    Timings,
)

NO_SLOT = -1
ADAPTIVE_OFF, ADAPTIVE_DECAY = -1.0, 0.9  # llama-server's adaptive-p sampler, which is not among this server's


@dataclass(slots=True)
class Written:
    """What one answer has said so far."""

    text: str = ""
    tokens: int = 0


class NativeAnswers:
    """The answers of one request. `prepared` are its prompts, `choices` answers to each."""

    def __init__(self, prepared: Sequence[Prepared], *, tokens: bool, fields: Sequence[str]) -> None:
        """`tokens`: report ids. `fields`: only these of the final objects; all when there are none."""
        self._prepared = prepared
        self._choices = prepared[0].plan.ask.choices
        self._tokens = tokens
        self._fields = fields
        self._logprobs = prepared[0].plan.ask.logprobs is not None

    def whole(self, reply: Reply) -> Any:
        """One object for one answer, a list for several."""
        answers = [
            self._selected(self.final(index, choice, choice.text, choice.pieces, reply.timings))
            for index, choice in enumerate(reply.choices)
        ]
        return answers[0] if len(answers) == 1 else answers

    def final(
        self, index: int, choice: Choice, content: str, pieces: Sequence[Piece], timings: Timings
    ) -> dict[str, Any]:
        """The last object of an answer. `content` is empty at the end of a stream."""
        prepared = self._prepared[index // self._choices]
        prompt, plan = prepared.prompt, prepared.plan
        several = len(self._prepared) * self._choices > 1
        said = choice.tokens
        read = timings.cache_n + timings.prompt_n if prompt.is_relayed else len(prompt.tokens)
        answer: dict[str, Any] = {
            "index": index,
            "content": content,
            "tokens": [piece.token_id for piece in pieces] if self._tokens else [],
            "id_slot": NO_SLOT,
            "stop": True,
            "model": plan.model.id,
            "tokens_predicted": said if several else timings.predicted_n,
            "tokens_evaluated": read,
            "tokens_cached": read + max(0, said - 1),
            "generation_settings": settings_of(prepared),
            "prompt": prompt.text,
            "has_new_line": "\n" in choice.text,
            "truncated": choice.finish == "length" and read + said >= prompt.context_tokens,
            "stop_type": _stop_type(choice),
            "stopping_word": choice.stop_text or "",
            "timings": timings_of(timings),
        }
        if self._logprobs and content:
            answer["completion_probabilities"] = logprobs_of(pieces)["content"]
        return answer

    def _selected(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The fields that were asked for, each under the name that it was asked by."""
        if not self._fields:
            return answer
        chosen: dict[str, Any] = {}
        for path in self._fields:
            here: Any = answer
            for step in path.split("/"):
                here = here.get(step, _MISSING) if isinstance(here, Mapping) else _MISSING
            if here is not _MISSING:
                chosen[path] = here
        return chosen

    # ---- streams --------------------------------------------------------------------------------

    def chunks(self) -> NativeChunks:
        """What writes the events of a stream."""
        return NativeChunks(self, self._prepared, self._choices, logprobs=self._logprobs)

    def last(self, index: int, choice: Choice, timings: Timings) -> bytes:
        """The final frame of an answer."""
        return data_frame(self._selected(self.final(index, choice, "", (), timings)) | {"stop": True, "content": ""})


_MISSING: Any = object()


class NativeChunks:
    """Writes the events of a request as llama-server's frames. Holds the answers' state."""

    def __init__(self, answers: NativeAnswers, prepared: Sequence[Prepared], choices: int, *, logprobs: bool) -> None:
        self._answers = answers
        self._prepared = prepared
        self._choices = choices
        self._logprobs = logprobs
        self._said: dict[int, Choice] = {}

    def open_all(self) -> bytes:
        """Nothing: there is no role to open with."""
        return b""

    def end(self) -> bytes:
        """Nothing: the last frame says that it is the last."""
        return b""

    def write(self, event: Event) -> bytes:
        """The frames that `event` causes, none to several."""
        match event:
            case Began():
                return b""
            case Said():
                return self._piece(event)
            case Progress():
                return self._progress(event)
            case Ended():
                choice = self._said.setdefault(event.choice, Choice())
                choice.finish, choice.stop_text, choice.tokens = event.finish, event.stop_text, event.tokens
                return b""
            case Finished():
                return b"".join(
                    self._answers.last(index, self._said[index], event.timings) for index in sorted(self._said)
                )
            case Thought() | CallBegan() | CallSaid():
                return b""  # a text that is continued has no such parts

    def _piece(self, said: Said) -> bytes:
        choice = self._said.setdefault(said.choice, Choice())
        choice.text += said.text if "\n" in said.text else ""  # only whether there is a line break is asked for
        choice.tokens += len(said.pieces)  # the ask keeps every token, so that they can be counted
        frame = self._frame(said.choice, said.text) | {"tokens_predicted": choice.tokens}
        frame["tokens"] = [piece.token_id for piece in said.pieces]
        if self._logprobs:
            frame["completion_probabilities"] = logprobs_of(said.pieces)["content"]
        if said.timings is not None:
            frame["timings"] = timings_of(said.timings)
        return data_frame(frame)

    def _progress(self, progress: Progress) -> bytes:
        frame = self._frame(0, "") | {"prompt_progress": progress_of(progress)}
        if progress.timings is not None:
            frame["timings"] = timings_of(progress.timings)
        return data_frame(frame)

    def _frame(self, index: int, content: str) -> dict[str, Any]:
        return {
            "index": index,
            "content": content,
            "tokens": [],
            "stop": False,
            "id_slot": NO_SLOT,
            "tokens_predicted": 0,
            "tokens_evaluated": len(self._prepared[index // self._choices].prompt.tokens),
        }


def settings_of(prepared: Prepared) -> dict[str, Any]:
    """`generation_settings`: what was in force, by llama-server's names."""
    plan, prompt = prepared.plan, prepared.prompt
    ask = plan.ask
    banned = sorted(prepared.end_ids) if ask.ignore_eos else []
    return asdict(plan.sampling) | {
        "adaptive_target": ADAPTIVE_OFF,
        "adaptive_decay": ADAPTIVE_DECAY,
        "seed": plan.seed,
        "stop": list(ask.stop),
        "n_predict": prompt.answer_tokens,
        "max_tokens": prompt.answer_tokens,
        "ignore_eos": ask.ignore_eos,
        "n_probs": ask.logprobs or 0,
        "post_sampling_probs": ask.as_drawn,
        "logit_bias": [
            {"token": token, "bias": None if bias == -_ENDLESS else bias}
            for token, bias in (*prompt.logit_bias, *((token, -_ENDLESS) for token in banned))
        ],
    }


_ENDLESS = float("inf")


def _stop_type(choice: Choice) -> str:
    if choice.stop_text is not None:
        return "word"
    return "limit" if choice.finish == "length" else "eos"
