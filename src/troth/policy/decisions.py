"""What a model is asked so that one of a few words answers it, and the bounds of such requests."""

from __future__ import annotations

from dataclasses import dataclass

from troth.domain import Talk, Thinking, Turn
from troth.domain.deciding import DecideAsk, Question
from troth.errors import Unprocessable

ENDINGS = {
    "choice": "Answer with the name of one option, and nothing else.",
    "score": "Answer with the number of the level that fits best, and nothing else.",
    "noul": "Answer yes or no, and nothing else.",
}
HEADINGS = {"choice": "Options:", "score": "Levels:", "noul": "Answers:"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLimits:
    """The knobs of decisions; names are those of the config file, sections left out."""

    questions_max: int = 64
    options_max: int = 255
    option_bytes_max: int = 256  # of one option's name, in UTF-8
    choice_temperature: float = 1.0
    score_temperature: float = 1.0
    noul_temperature: float = 1.0

    def temperature(self, question: Question) -> float:
        """How flat the probabilities of this question's options are made."""
        flatness: float = getattr(self, f"{question.kind}_temperature")
        return flatness


def bound(ask: DecideAsk, limits: DecisionLimits) -> None:
    """Nothing happens within the limits. Raises Unprocessable naming question, number and limit."""
    if len(ask.questions) > limits.questions_max:
        raise Unprocessable(
            f"questions: there are {len(ask.questions)}; at most {limits.questions_max} are answered "
            "(decisions.questions_max).",
            param="questions",
            details={"limit": limits.questions_max},
        )
    for question in ask.questions:
        if len(question.options) > limits.options_max:
            raise Unprocessable(
                f"{question.path}: there are {len(question.options)} options; at most {limits.options_max} "
                "are told apart (decisions.options_max).",
                param=question.path,
                details={"limit": limits.options_max},
            )
        for option in question.options:
            if len(option.key.encode("utf-8", "surrogatepass")) > limits.option_bytes_max:
                raise Unprocessable(
                    f"{question.path}: an option's name has more than {limits.option_bytes_max} bytes "
                    "(decisions.option_bytes_max); its description may be longer.",
                    param=question.path,
                    details={"limit": limits.option_bytes_max},
                )


def talk_of(state: str, question: Question) -> Talk:
    """The conversation whose answer is the name of an option.

    The state comes first: what several questions about it have in common is read once.
    """
    options = [
        f"- {option.key}: {option.description}" if option.description else f"- {option.key}"
        for option in question.options
    ]
    text = "\n".join(
        [state, "", f"Question: {question.instructions}", HEADINGS[question.kind], *options, ENDINGS[question.kind]]
    )
    return Talk((Turn(role="user", text=text),), thinking=Thinking(enabled=False))
