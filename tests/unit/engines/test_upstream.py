"""Another server as an engine: what goes there, what comes back, and what becomes of its faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.upstream_server import (
    DONE,
    Play,
    UpstreamServer,
    broken_off,
    delta,
    serving,
    silence,
    spoken,
    stream,
    usage,
    whole,
)
from troth.domain import (
    Ask,
    Began,
    Budget,
    CallBegan,
    CallSaid,
    Ended,
    Event,
    Finished,
    Plan,
    RawText,
    Said,
    Sampling,
    ServedModel,
    Talk,
    Thought,
    Turn,
    Usage,
)
from troth.engines.upstream import Upstream, UpstreamOptions
from troth.errors import (
    NotImplementedHere,
    OverContext,
    Refusal,
    Unavailable,
    UpstreamFault,
    UpstreamRefusal,
    UpstreamStalled,
)
from troth.prompt.relayed import relayed

HELLO = Talk((Turn(role="user", text="Hello"),))
SHORT_SECONDS = 0.15


def plan_of(source: Any = HELLO, *, sampling: dict[str, Any] | None = None, seed: int = 7, **asked: Any) -> Plan:
    chosen = sampling or {}
    origins = {"seed": "request", **dict.fromkeys(chosen, "request")}
    budget = Budget(asked.get("budget_tokens"), None, None)
    ask = Ask(source=source, **asked)
    return Plan(ask, ServedModel("near", "chat", "upstream"), Sampling(**chosen), seed, budget, origins)


def options(*servers: UpstreamServer, server: str = "vllm", **settings: Any) -> UpstreamOptions:
    urls = tuple(each.url + "/v1" for each in servers)
    return UpstreamOptions(server=server, urls=urls, **settings)  # type: ignore[arg-type]


async def heard(engine: Upstream, plan: Plan) -> list[Event]:
    ticket = engine.relay(plan, relayed(plan, 0))
    try:
        return [event async for event in ticket.events()]
    finally:
        ticket.cancel()


def asking(
    plays: Sequence[Play], plan: Plan, *, models: Any = ({"id": "far"},), **settings: Any
) -> tuple[list[Event], UpstreamServer]:
    """The events of the plan from a server with these plays and models, and the server."""

    async def run() -> tuple[list[Event], UpstreamServer]:
        async with serving(*plays, models=models) as server:
            engine = Upstream("near", options(server, **settings))
            await engine.start(lambda fraction: None)
            try:
                return await heard(engine, plan), server
            finally:
                await engine.stop()

    return asyncio.run(asyncio.wait_for(run(), 20))


def refused(*plays: Play, plan: Plan | None = None, **settings: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        asking(plays, plan or plan_of(), **settings)
    return caught.value


def with_two(
    test: Callable[[UpstreamServer, UpstreamServer, Upstream], Awaitable[None]], *plays: Sequence[Play]
) -> None:
    """The test with two replicas, each with its plays, and an engine that has been started."""

    async def run() -> None:
        async with serving(*plays[0]) as first, serving(*plays[1]) as second:
            engine = Upstream("near", options(first, second, health_seconds=60.0))
            await engine.start(lambda fraction: None)
            try:
                await test(first, second, engine)
            finally:
                await engine.stop()

    asyncio.run(asyncio.wait_for(run(), 20))


# ---- answers ----------------------------------------------------------------------------------------


def test_an_answer_is_told_in_events() -> None:
    events, _ = asking([spoken("Hel", "lo")], plan_of())

    assert events[:-1] == [Began(0), Said("Hel"), Said("lo"), Ended(0, "stop", tokens=2)]
    (finished,) = [event for event in events if isinstance(event, Finished)]
    assert finished.usage == Usage(7, 2, 3)
    assert (finished.timings.prompt_n, finished.timings.cache_n, finished.timings.predicted_n) == (4, 3, 2)


def test_reasoning_and_calls_are_told_apart() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": '{"a":1}'}}
    play = stream(
        delta(reasoning="Hm."), delta(content="So"), delta(tool_calls=[call]), delta(tool_calls=[more]),
        delta(finish="tool_calls"), usage(1, 9), DONE,
    )  # fmt: skip

    events, _ = asking([play], plan_of())

    assert events[1:-1] == [
        Thought("Hm."), Said("So"), CallBegan(0, "c1", "add"), CallSaid(0, '{"a":1}'),
        Ended(0, "tool_calls", tokens=9),
    ]  # fmt: skip


def test_every_choice_is_a_request_of_its_own_with_its_own_seed() -> None:
    events, server = asking([spoken("a")], plan_of(choices=3))

    assert sorted(body["seed"] for body in server.bodies("/v1/chat/completions")) == [7, 8, 9]
    assert sorted(event.choice for event in events if isinstance(event, Ended)) == [0, 1, 2]
    (finished,) = events[-1:]
    assert isinstance(finished, Finished)
    assert finished.usage == Usage(7, 3, 3)


def test_an_answer_of_no_token_is_empty_whatever_the_server_gives() -> None:
    events, server = asking([spoken("a", finish="length")], plan_of(budget_tokens=0))

    assert server.bodies("/v1/chat/completions")[0]["max_tokens"] == 1
    assert events[:-1] == [Began(0), Ended(0, "length")]
    (finished,) = events[-1:]
    assert isinstance(finished, Finished)
    assert finished.usage == Usage(7, 0, 3)


def test_a_connection_is_used_again() -> None:
    async def run() -> None:
        async with serving(spoken("a")) as server:
            engine = Upstream("near", options(server))
            await engine.start(lambda fraction: None)
            for _ in range(3):
                await heard(engine, plan_of())
                while engine.report().running:
                    await asyncio.sleep(0)
            assert len({id(each.writer) for each in server.asked}) == 1
            await engine.stop()

    asyncio.run(run())


def test_what_nobody_set_is_left_to_the_other_server() -> None:
    _, server = asking([spoken("a")], plan_of(sampling={"temperature": 0.5}))

    (body,) = server.bodies("/v1/chat/completions")
    assert body == {
        "model": "far",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.5,
        "seed": 7,
    }


def test_a_text_goes_to_the_completions() -> None:
    play = stream({"choices": [{"index": 0, "text": "b", "finish_reason": "length"}]}, usage(1, 1), DONE)

    events, server = asking([play], plan_of(RawText(("a",)), budget_tokens=1))

    assert server.bodies("/v1/completions")[0]["prompt"] == "a"
    assert events[1:-1] == [Said("b"), Ended(0, "length", tokens=1)]


def test_a_stop_text_that_was_met_is_told() -> None:
    play = stream(delta({"stop_reason": "END"}, content="a", finish="stop"), usage(1, 1), DONE)

    events, server = asking([play], plan_of(stop=("END",)))

    assert server.bodies("/v1/chat/completions")[0]["stop"] == ["END"]
    assert Ended(0, "stop", "END", tokens=1) in events


def test_the_key_is_sent_and_not_told() -> None:
    async def run() -> None:
        async with serving(spoken("a")) as server:
            engine = Upstream("near", options(server, api_key="top-secret"))
            await engine.start(lambda fraction: None)
            await heard(engine, plan_of())
            assert server.asked[0].headers["authorization"] == "Bearer top-secret"
            assert "top-secret" not in repr(engine.report()) + repr(engine.options)
            assert server.url not in repr(engine.report())
            await engine.stop()

    asyncio.run(run())


def test_pieces_of_any_size_give_the_same_answer() -> None:
    frames = b"".join(
        (b": ping\n\n", b'event: x\r\ndata: {"choices":[{"index":0,"delta":{"content":"\xc3\xa4"}}]}\r\n\r\n',
         b'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', DONE)
    )  # fmt: skip
    one_by_one = stream(*(frames[at : at + 1] for at in range(len(frames))))

    events, _ = asking([one_by_one], plan_of())

    assert Said("ä") in events


# ---- faults -----------------------------------------------------------------------------------------


def test_a_silence_in_an_answer_is_a_stall() -> None:
    refusal = refused(stream(delta(content="a"), then="hang"), idle_seconds=SHORT_SECONDS)

    assert isinstance(refusal, UpstreamStalled)
    assert (refusal.details["reason"], refusal.details["upstream"]) == ("idle", "near/0")
    assert refusal.details["elapsed_s"] >= SHORT_SECONDS


def test_a_silence_before_an_answer_is_a_stall() -> None:
    refusal = refused(silence, idle_seconds=SHORT_SECONDS)

    assert isinstance(refusal, UpstreamStalled)
    assert refusal.details["reason"] == "read"


def test_an_answer_that_takes_too_long_is_cut() -> None:
    refusal = refused(stream(delta(content="a"), then="hang"), total_seconds=SHORT_SECONDS)

    assert isinstance(refusal, UpstreamStalled)
    assert refusal.details["reason"] == "total"


def test_what_was_said_before_a_fault_is_told() -> None:
    async def run() -> list[Event]:
        async with serving(stream(delta(content="a"), then="cut")) as server:
            engine = Upstream("near", options(server))
            await engine.start(lambda fraction: None)
            plan = plan_of()
            events = engine.relay(plan, relayed(plan, 0)).events()
            got = [await anext(events), await anext(events)]
            with pytest.raises(UpstreamFault):
                await anext(events)
            await engine.stop()
            return got

    assert asyncio.run(run()) == [Began(0), Said("a")]


@pytest.mark.parametrize(
    "play",
    [
        stream(b"data: {nonsense\n\n", DONE),
        stream(b"data: [1]\n\n", DONE),
        stream({"choices": [7]}, DONE),
        stream({"choices": [{"delta": {"content": 7}}]}, DONE),
        stream({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {}}]}}]}, DONE),
        stream(delta(content="a"), DONE),
        stream(delta(content="a")),
        stream(delta(content="a", finish="content_filter"), DONE),
        stream(delta(content="a"), content_type="text/html"),
        stream({"error": {"message": "out of memory"}}, DONE),
        stream(b"data: " + b"x" * (9 << 20), then="hang"),
    ],
    ids=["no JSON", "no object", "no choice", "no text", "no name", "no finish", "no end", "filtered", "no stream",
         "error", "huge"],
)  # fmt: skip
def test_what_is_no_answer_is_told_as_the_upstreams_fault(play: Play) -> None:
    refusal = refused(play)

    assert (refusal.code, refusal.status) == ("upstream_broken", 502)


def test_the_words_of_an_error_in_a_stream_are_told() -> None:
    assert "out of memory" in refused(stream({"error": {"message": "out of memory"}})).message


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_refusal_keeps_its_status_and_its_words(status: int) -> None:
    refusal = refused(whole({"error": {"message": "no such thing"}}, status))

    assert isinstance(refusal, UpstreamRefusal)
    assert (refusal.status, refusal.details) == (status, {"upstream_status": status})
    assert "no such thing" in refusal.message


def test_a_refusal_keeps_its_retry_after() -> None:
    refusal = refused(whole({"error": "busy"}, 429, **{"Retry-After": "7"}))

    assert (refusal.status, refusal.headers) == (429, {"Retry-After": "7"})


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_the_operators_affair(status: int) -> None:
    refusal = refused(whole({"error": {"message": "bad key sk-abc"}}, status))

    assert refusal.status == 502
    assert "sk-abc" not in refusal.message


def test_a_prompt_that_is_too_long_is_refused_with_counts() -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "message": "x", "n_prompt_tokens": 90, "n_ctx": 64}

    refusal = refused(whole({"error": error}, 400))

    assert isinstance(refusal, OverContext)
    assert refusal.details["n_surplus_tokens"] == 27


def test_an_answer_that_is_no_json_is_a_refusal_with_its_status() -> None:
    assert refused(whole(b"<html>", 500)).status == 500


def test_nobody_there_is_502() -> None:
    async def run() -> None:
        async with serving(spoken("a")) as server:
            gone = server.url
        engine = Upstream("near", UpstreamOptions(server="openai", urls=(gone,), model="far"))
        await engine.start(lambda fraction: None)
        assert engine.report().status == "unreached"
        with pytest.raises(UpstreamFault) as caught:
            await heard(engine, plan_of())
        assert caught.value.code == "upstream_unavailable"
        await engine.stop()

    asyncio.run(run())


def test_whoever_stops_listening_closes_the_connection_at_once() -> None:
    async def run() -> None:
        async with serving(stream(delta(content="a"), then="hang")) as server:
            engine = Upstream("near", options(server))
            await engine.start(lambda fraction: None)
            plan = plan_of()
            ticket = engine.relay(plan, relayed(plan, 0))
            events = ticket.events()
            assert await anext(events) == Began(0)
            ticket.cancel()
            await server.hung_up.wait()
            while engine.report().running:
                await asyncio.sleep(0)
            await engine.stop()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_stopping_ends_what_is_under_way_in_words() -> None:
    async def run() -> None:
        async with serving(stream(delta(content="a"), then="hang")) as server:
            engine = Upstream("near", options(server))
            await engine.start(lambda fraction: None)
            plan = plan_of()
            events = engine.relay(plan, relayed(plan, 0)).events()
            assert await anext(events) == Began(0)
            await engine.stop()
            assert await anext(events) == Said("a")
            with pytest.raises(Unavailable) as caught:
                await anext(events)
            assert caught.value.code == "stopping"

    asyncio.run(asyncio.wait_for(run(), 20))


def test_more_requests_than_connections_are_told_to_come_back() -> None:
    async def run() -> None:
        async with serving(stream(delta(content="a"), then="hang")) as server:
            engine = Upstream("near", options(server, connections_max=1, pool_seconds=SHORT_SECONDS))
            await engine.start(lambda fraction: None)
            plan = plan_of()
            first = engine.relay(plan, relayed(plan, 0))
            assert await first.wait_started(5)
            with pytest.raises(Unavailable) as caught:
                await heard(engine, plan)
            assert (caught.value.code, caught.value.headers) == ("upstream_busy", {"Retry-After": "1"})
            await engine.stop()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_more_choices_than_connections_are_answered_one_after_the_other() -> None:
    async def run() -> None:
        async with serving(spoken("a")) as server:
            engine = Upstream("near", options(server, connections_max=2, pool_seconds=5.0))
            await engine.start(lambda fraction: None)
            events = await heard(engine, plan_of(choices=5))
            assert sum(isinstance(event, Ended) for event in events) == 5
            await engine.stop()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_server_whose_connections_are_all_in_use_is_well() -> None:
    async def run() -> None:
        async with serving(stream(delta(content="a"), then="hang")) as server:
            engine = Upstream("near", options(server, connections_max=1, pool_seconds=60.0))
            await engine.start(lambda fraction: None)
            plan = plan_of()
            ticket = engine.relay(plan, relayed(plan, 0))
            assert await ticket.wait_started(5)
            await asyncio.wait_for(engine.refresh(), 5)
            assert engine.report().status == "ready"
            await engine.stop()

    asyncio.run(asyncio.wait_for(run(), 20))


# ---- replicas ---------------------------------------------------------------------------------------


def test_a_replica_that_is_gone_is_passed_over_unseen() -> None:
    async def test(first: UpstreamServer, second: UpstreamServer, engine: Upstream) -> None:
        await first.stop()
        for _ in range(2):
            assert Said("b") in await heard(engine, plan_of())
        assert len(second.asked) == 2
        assert [each["up"] for each in engine.report().details["replicas"]] == [False, True]
        assert engine.report().status == "ready"

    with_two(test, [spoken("a")], [spoken("b")])


@pytest.mark.parametrize("play", [broken_off, whole({}, 502), whole({}, 503), whole({}, 504)])
def test_before_the_first_byte_another_replica_answers(play: Play) -> None:
    async def test(first: UpstreamServer, second: UpstreamServer, engine: Upstream) -> None:
        assert Said("b") in await heard(engine, plan_of())
        assert (len(first.asked) > 0, len(second.asked)) == (True, 1)

    with_two(test, [play], [spoken("b")])


def test_after_the_first_byte_no_other_replica_is_asked() -> None:
    async def test(first: UpstreamServer, second: UpstreamServer, engine: Upstream) -> None:
        with pytest.raises(UpstreamFault):
            await heard(engine, plan_of())
        assert not second.asked

    with_two(test, [stream(delta(content="a"), then="cut")], [spoken("b")])


def test_the_least_busy_replica_is_asked() -> None:
    async def test(first: UpstreamServer, second: UpstreamServer, engine: Upstream) -> None:
        plan = plan_of()
        tickets = [engine.relay(plan, relayed(plan, 0)) for _ in range(4)]
        for ticket in tickets:
            assert await ticket.wait_started(5)
        assert (len(first.asked), len(second.asked)) == (2, 2)

    hangs = stream(delta(content="a"), then="hang")
    with_two(test, [hangs], [hangs])


def test_a_replica_that_is_back_is_asked_again() -> None:
    async def test(first: UpstreamServer, second: UpstreamServer, engine: Upstream) -> None:
        first.is_well = False
        await engine.refresh()
        assert Said("b") in await heard(engine, plan_of())
        first.is_well = True
        await engine.refresh()
        assert Said("a") in await heard(engine, plan_of())

    with_two(test, [spoken("a")], [spoken("b")])


# ---- what it tells ----------------------------------------------------------------------------------


def test_the_list_of_models_is_known() -> None:
    async def run() -> None:
        models = ({"id": "far", "max_model_len": 4096, "aliases": ["nick"]},)
        async with serving(spoken("a"), models=models) as server:
            engine = Upstream("near", options(server))
            assert not engine.lists("far")
            await engine.start(lambda fraction: None)
            assert engine.lists("far")
            assert engine.lists("nick")
            assert not engine.lists("near")
            assert (engine.report().context_tokens, engine.report().details["model"]) == (4096, "far")
            await engine.stop()

    asyncio.run(run())


@pytest.mark.parametrize("told", [{"total_slots": "many"}, {"default_generation_settings": 5}, {"chat_template": 1}])
def test_a_server_that_tells_nonsense_of_itself_is_asked_all_the_same(told: dict[str, Any]) -> None:
    async def run() -> None:
        models = ({"id": 7}, {"id": "far", "aliases": "x", "meta": 1, "max_model_len": "long"}, 3)
        async with serving(spoken("a"), models=models, props=told) as server:
            engine = Upstream("near", options(server, server="llama_server"))
            await engine.start(lambda fraction: None)
            assert (engine.report().slots, engine.report().context_tokens) == (0, 0)
            assert Said("a") in await heard(engine, plan_of())
            await engine.stop()

    asyncio.run(run())


def test_a_model_that_was_found_by_its_name_over_there_is_asked_by_it() -> None:
    plan = replace(plan_of(model="other"), origins={"seed": "request", "model": "passthrough"})

    _, server = asking([spoken("a")], plan, model="far", models=({"id": "far"}, {"id": "other"}))

    assert [body["model"] for body in server.bodies("/v1/chat/completions")] == ["other"]


def test_of_several_models_one_must_be_named() -> None:
    async def run() -> None:
        async with serving(spoken("a"), models=({"id": "one"}, {"id": "two"})) as server:
            engine = Upstream("near", options(server))
            await engine.start(lambda fraction: None)
            report = engine.report()
            assert report.status == "unreached"
            assert report.fault == "replica 0: it lists 2 models: name one of them in options.model"
            with pytest.raises(UpstreamFault):
                await heard(engine, plan_of())
            await engine.stop()

    asyncio.run(run())


def test_tokens_are_told_by_servers_that_tell_them() -> None:
    async def run() -> None:
        plays = (whole({"prompt": "<user>Hello"}), whole({"tokens": [1, 2, 3]}))
        async with serving(*plays) as server:
            engine = Upstream("near", options(server, server="llama_server"))
            await engine.start(lambda fraction: None)
            tokens, text = await engine.read(plan_of())
            assert (tokens.tolist(), text) == ([1, 2, 3], "<user>Hello")
            assert server.bodies("/tokenize") == [{"content": "<user>Hello", "add_special": True}]
            await engine.stop()

    asyncio.run(run())


@pytest.mark.parametrize("server", ["openai", "sglang", "ollama"])
def test_tokens_are_not_guessed(server: str) -> None:
    engine = Upstream("near", UpstreamOptions(server=server, urls=("http://127.0.0.1:9",)))  # type: ignore[arg-type]

    with pytest.raises(NotImplementedHere, match=server):
        asyncio.run(engine.read(plan_of()))


def test_before_its_start_it_says_that_it_loads() -> None:
    engine = Upstream("near", UpstreamOptions(server="openai", urls=("http://127.0.0.1:9",)))

    with pytest.raises(Unavailable) as caught:
        engine.relay(plan_of(), relayed(plan_of(), 0))
    assert caught.value.code == "model_loading"


@pytest.mark.parametrize("status", [204, 302, 999])
def test_a_status_that_is_no_error_is_not_passed_on_as_one(status: int) -> None:
    assert UpstreamRefusal("odd", status=status).status == 502
