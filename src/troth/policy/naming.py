"""Which model answers: the rules of hal0's dispatcher, in their order. The first that says something wins.

1. `slot`: a model in memory has this id, alias or slot name.
2. `registry`: a configured model has it, in memory or not.
3. `virtual` (chat): `hal0/NAME` is the slot NAME, or the next of its line; `agent-hermes` is `agent`.
4. `flm` (chat): `TAG-SIZE-FLM` is the model `TAG:SIZE`.
5. `passthrough`: an upstream has the id in its list of models.
6. `capability`: the name hints at the kind that the route serves anyway (`embed`, `rerank`, `sdxl` …).
7. `default`: no name was sent, or it is unknown and the operator serves the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from troth.domain import ServedModel
from troth.errors import BadRequest, NotFound, NotImplementedHere
from troth.policy.terms import Terms

ROUTES = {
    "chat": "/v1/chat/completions",
    "embedding": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "moderation": "/v1/moderations",
    "decision": "/v1/systemone",
    "transcription": "/v1/audio/transcriptions",
    "speech": "/v1/audio/speech",
    "image": "/v1/images/generations",
    "video": "/v1/videos",
}
VIRTUAL = "hal0/"
LINES = {"utility": ("utility", "agent"), "npu": ("npu", "utility", "agent")}  # who stands in for whom
OLD_NAMES = {"agent-hermes": "agent"}
FLM = "-FLM"
HINTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # kind → parts of a name, beginnings of a name
    "embedding": (("embed",), ()),
    "rerank": (("rerank",), ()),
    "image": ((), ("sdxl", "sd-1.5", "sd15", "flux")),
}


def choose(name: str | None, kind: str, terms: Terms) -> tuple[ServedModel, str]:
    """The model that answers, and the rule that chose it.

    Raises: NotImplementedHere when no model of the kind is served, BadRequest when the name is a model of
    another kind, NotFound when the name is unknown and the operator refuses unknown names.
    """
    of_kind = [model for model in terms.catalogue if model.serves(kind)]
    if not of_kind:
        raise NotImplementedHere(f"No {kind} model is configured on this server.", param="model")
    if not name:
        return of_kind[0], "default"
    found = _named(name, of_kind, terms) or _by_rule(name, kind, of_kind, terms)
    if found is not None:
        return found
    other = _find(name, terms.catalogue)
    if other is not None:
        raise BadRequest(_wrong_route(name, other.kind, kind), param="model", code="wrong_model_kind")
    if _hints_at(name, kind):
        return of_kind[0], "capability"
    if terms.settings.unknown_model == "serve_default":
        return of_kind[0], "default"
    known = ", ".join(text for model in of_kind for text in (model.id, *model.aliases))
    raise NotFound(f"The model {name!r} is not served. Served here: {known}.", param="model", code="model_not_found")


def _named(name: str, models: Sequence[ServedModel], terms: Terms) -> tuple[ServedModel, str] | None:
    model = _find(name, models)
    if model is None:
        return None
    return model, "slot" if terms.directory.is_loaded(model.id) else "registry"


def _by_rule(name: str, kind: str, models: Sequence[ServedModel], terms: Terms) -> tuple[ServedModel, str] | None:
    if kind == "chat":
        for rule, candidates in (("virtual", _virtual(name)), ("flm", _native_tags(name))):
            for candidate in candidates:
                model = _find(candidate, models)
                if model is not None:
                    return model, rule
    upstream = terms.directory.lister(name)
    model = None if upstream is None else next((each for each in models if each.id == upstream), None)
    return None if model is None else (model, "passthrough")


def _virtual(name: str) -> Iterable[str]:
    """The slots that a virtual name stands for, the first that exists first."""
    if name.startswith(VIRTUAL):
        slot = name.removeprefix(VIRTUAL)
        return LINES.get(slot, (slot, "agent"))
    return (OLD_NAMES[name],) if name in OLD_NAMES else ()


def _native_tags(name: str) -> Iterable[str]:
    """`gemma4-it-e2b-FLM` → `gemma4-it:e2b`."""
    tag, mark, size = name.removesuffix(FLM).rpartition("-")
    return (f"{tag}:{size}",) if name.endswith(FLM) and mark and tag and size else ()


def _hints_at(name: str, kind: str) -> bool:
    parts, beginnings = HINTS.get(kind, ((), ()))
    lowered = name.lower()
    return any(part in lowered for part in parts) or lowered.startswith(beginnings)


def _find(name: str, models: Sequence[ServedModel]) -> ServedModel | None:
    return next((model for model in models if name in (model.id, model.slot) or name in model.aliases), None)


def _wrong_route(name: str, actual: str, needed: str) -> str:
    article = "an" if needed[0] in "aeiou" else "a"
    problem = f"The model {name!r} is of kind {actual}; this route needs {article} {needed} model."
    route = ROUTES.get(actual)
    return f"{problem} Send it to {route}." if route else problem
