"""Three servers with one and the same refusal: `python -m bench.peers NAME PORT`.

`troth` is the real app with its default configuration and no model. `fastapi` and `starlette` validate the
same generated class, know without looking which field is at fault, and answer the same 400 with bytes that
are all but ready. All run under the same uvicorn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp

from troth._generated.models import ChatCompletionRequest

PATH = "/v1/chat/completions"
REFUSAL = b'{"error":{"message":"%s is not supported here: %s.","type":"invalid_request_error","param":"%s",'
REFUSAL += b'"code":"unsupported_value"}}'


def refusal_of(request: ChatCompletionRequest) -> bytes:
    """The body of the 400, in Troth's words: the one field of the request that a peer would look at, or, known
    without looking, the one of its last message."""
    if request.best_of is not None and request.best_of > 1:
        return REFUSAL % (b"best_of", b"leave it out or send at most 1", b"best_of")
    path = b"messages.%d.prefix" % (len(request.messages) - 1)
    return REFUSAL % (path, b"leave it out or send false", path)


def _nothing_to_pull(model: object, report: object) -> NoReturn:
    raise AssertionError("no model is configured")


def troth() -> ASGIApp:
    """Troth as `troth serve` starts it, its log included, without a model."""
    from troth.app import build
    from troth.config.schema import Config
    from troth.watch import log

    config = Config.model_construct(**{**Config().__dict__, "models": ()})
    log.configure(config.log.level)
    return build(config, {}, _nothing_to_pull).asgi(lambda: None)


def fastapi() -> ASGIApp:
    """FastAPI as its manual writes it: the class as a parameter."""
    from fastapi import FastAPI, Response

    app = FastAPI()

    @app.post(PATH)
    async def create_chat_completion(request: ChatCompletionRequest) -> Response:
        return Response(refusal_of(request), 400, media_type="application/json")

    @app.get("/ping")
    async def ping() -> dict[str, str]:
        return {"status": "ok"}

    return app


def starlette() -> ASGIApp:
    """Starlette and the class, and nothing between them."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def create_chat_completion(request: Request) -> Response:
        refusal = refusal_of(ChatCompletionRequest.model_validate_json(await request.body()))
        return Response(refusal, 400, media_type="application/json")

    async def ping(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(routes=[Route(PATH, create_chat_completion, methods=["POST"]), Route("/ping", ping)])


APPS: Mapping[str, Callable[[], ASGIApp]] = {"troth": troth, "fastapi": fastapi, "starlette": starlette}


def main(name: str, port: str) -> None:
    """The server has run until a signal ended it."""
    uvicorn.run(
        APPS[name](),
        port=int(port),
        loop="uvloop",
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
