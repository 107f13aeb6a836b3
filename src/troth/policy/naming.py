"""Which model answers: a name, an alias, or the default of the kind that the route needs."""

from __future__ import annotations

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


def choose(name: str | None, kind: str, terms: Terms) -> tuple[ServedModel, str]:
    """The model that answers, and whether the request or the default chose it.

    Raises: NotImplementedHere when no model of the kind is served, BadRequest when the name is a model of
    another kind, NotFound when the name is unknown and the operator refuses unknown names.
    """
    of_kind = [model for model in terms.catalogue if model.kind == kind]
    if not of_kind:
        raise NotImplementedHere(f"No {kind} model is configured on this server.", param="model")
    if not name:
        return of_kind[0], "default"

    named = _find(name, of_kind)
    if named is not None:
        return named, "request"
    other = _find(name, terms.catalogue)
    if other is not None:
        raise BadRequest(_wrong_route(name, other.kind, kind), param="model", code="wrong_model_kind")
    if terms.settings.unknown_model == "serve_default":
        return of_kind[0], "default"
    known = ", ".join(text for model in of_kind for text in (model.id, *model.aliases))
    raise NotFound(f"The model {name!r} is not served. Served here: {known}.", param="model", code="model_not_found")


def _find(name: str, models: list[ServedModel] | tuple[ServedModel, ...]) -> ServedModel | None:
    return next((model for model in models if name == model.id or name in model.aliases), None)


def _wrong_route(name: str, actual: str, needed: str) -> str:
    article = "an" if needed[0] in "aeiou" else "a"
    problem = f"The model {name!r} is of kind {actual}; this route needs {article} {needed} model."
    route = ROUTES.get(actual)
    return f"{problem} Send it to {route}." if route else problem
