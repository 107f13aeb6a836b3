"""Three servers with one and the same refusal: `python -m bench.peers NAME PORT`.

`troth` is the real app with its default configuration and no model. `fastapi` and `starlette` validate the
same generated class, look for the same field by hand and answer the same 400. All run under the same uvicorn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from troth._generated.models import ChatCompletionRequest

PATH = "/v1/chat/completions"
REFUSAL = {
    "error": {
        "message": "messages.{index}.prefix is not supported here: leave it out or send false.",
        "type": "invalid_request_error",
        "param": "messages.{index}.prefix",
        "code": "unsupported_value",
    }
}


def refusal_of(request: ChatCompletionRequest) -> dict[str, Any]:
    """The body of the 400, in Troth's words, for the message that carries the guarded field."""
    for index, message in enumerate(request.messages):
        if getattr(message, "prefix", None):
            error = REFUSAL["error"]
            return {"error": {key: text.replace("{index}", str(index)) for key, text in error.items()}}
    raise AssertionError("every body of this benchmark is refused")


def troth() -> ASGIApp:
    """Troth as `troth serve` starts it, its log included, without a model."""
    from troth.app import build
    from troth.config.schema import Config
    from troth.watch import log

    config = Config.model_construct(**{**Config().__dict__, "models": ()})
    log.configure(config.log.level)
    return build(config, {}).asgi(lambda: None)


def fastapi() -> ASGIApp:
    """FastAPI as its manual writes it: the class as a parameter."""
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse

    app = FastAPI()

    @app.post(PATH)
    async def create_chat_completion(request: ChatCompletionRequest) -> JSONResponse:
        return JSONResponse(refusal_of(request), 400)

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
        return JSONResponse(refusal_of(ChatCompletionRequest.model_validate_json(await request.body())), 400)

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
