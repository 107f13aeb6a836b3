"""The process around the port."""

from __future__ import annotations

import asyncio
import gc

from starlette.applications import Starlette

from troth.listening import PatientServer, listen


async def nothing() -> None:
    return None


def test_what_was_built_at_the_start_is_not_looked_through_for_garbage_again() -> None:
    async def started() -> int:
        server = PatientServer(Starlette(), nothing, 1.0, 1.0)
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        listener = listen("127.0.0.1", 0)
        try:
            await server.startup([listener])
            return gc.get_freeze_count()
        finally:
            await server.shutdown([listener])

    gc.unfreeze()
    try:
        assert asyncio.run(started()) > 0
    finally:
        gc.unfreeze()
