"""A plan in the words of another server: the body of its chat completions, or of its completions.

Written is what the request, the model's section or the server's section set; whatever nobody set is left to the other
server. `check` refuses, before anything is sent, what that server would drop or read in another way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from troth.domain import Form, Gap, Medium, Plan, RawText, Talk, Thinking, Tool, Turn
from troth.engines.upstream.kinds import Kind
from troth.errors import NotImplementedHere, Unsupported

Body = dict[str, Any]
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
ENGINE = "upstream"
BIAS_MAX = 100.0  # OpenAI's; more is cut over there
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a body is for."""

    kind: Kind
    model: str  # its name over there
    template: str | None = None  # the chat template over there, where it is told


def check(plan: Plan, target: Target) -> None:
    """Nothing of the plan would be dropped. Raises Unsupported naming the field, or NotImplementedHere."""
    kind, ask = target.kind, plan.ask
    if isinstance(ask.source, Gap):
        raise NotImplementedHere(f"The engine {ENGINE} of the model {plan.model.id} fills no gaps.")
    if ask.source.media:
        path = ask.source.media[0].path
        raise Unsupported(
            f"{path}: the model {plan.model.id} is behind another server, and pictures and sounds are not passed on.",
            param=path,
        )
    if isinstance(ask.source, RawText):
        _check_raw(ask.source, plan, kind)
    else:
        _check_talk(ask.source, plan, target)
    if ask.form is not None and ask.form.kind not in kind.forms:
        raise _refused(ask.form.path, f"holds no answer to a form of the kind {ask.form.kind}", plan, kind)
    if not kind.bias_texts:
        for token, bias in ask.logit_bias:
            if isinstance(token, str) or abs(bias) > BIAS_MAX:
                raise _refused(
                    "logit_bias", f"takes ids of tokens, and numbers from -{BIAS_MAX} to {BIAS_MAX}", plan, kind
                )
    for name, origin in plan.origins.items():
        if origin != "default" and name in plan.sampling.__slots__ and name not in kind.sampling:
            raise _refused(name, f"does not take it (it was set by the {origin})", plan, kind)


def _check_raw(raw: RawText, plan: Plan, kind: Kind) -> None:
    if not kind.raw:
        raise NotImplementedHere(
            f"The model {plan.model.id} is behind a server of the kind {kind.name}, which continues no texts as they "
            "stand. Use /v1/chat/completions instead."
        )
    ids = [piece for piece in raw.pieces if not isinstance(piece, str)]
    if ids and not kind.ids:
        raise _refused(raw.path, "takes texts, not token ids", plan, kind)
    if ids and len(raw.pieces) > 1 and kind.name != "llama_server":
        raise _refused(raw.path, "takes a text or a list of token ids, not both in one prompt", plan, kind)
    if ids and "echo" in plan.ask.given:
        raise _refused("echo", "does not tell the text of token ids", plan, kind)


def _check_talk(talk: Talk, plan: Plan, target: Target) -> None:
    kind, thinking = target.kind, talk.thinking
    if not talk.turns or (talk.turns[-1].role == "assistant" and not talk.continues and kind.name == "llama_server"):
        raise _refused("messages", "goes on with a last message of the assistant instead of answering it", plan, kind)
    if talk.continues and "continue_final_message" not in kind.does:
        raise _refused("messages", "cannot go on with a last message of the assistant", plan, kind)
    if thinking.enabled is not None and not kind.switches_thinking and not _is_off_effort(thinking, kind):
        raise _refused(thinking.field, "cannot switch reasoning on or off", plan, kind)
    if thinking.effort is not None and not thinking.effort_is_wish and not kind.efforts:
        raise _refused(thinking.field, "knows no levels of reasoning", plan, kind)
    if thinking.budget_tokens is not None and kind.budgets is None:
        raise _refused(thinking.budget_field, "knows no budget of reasoning", plan, kind)
    if not thinking.separate and kind.name not in ("llama_server", "sglang"):
        raise _refused("reasoning_format", "always tells reasoning apart", plan, kind)
    if target.template is not None:
        _check_variables(talk, plan, target)


def _check_variables(talk: Talk, plan: Plan, target: Target) -> None:
    """Every variable that is handed to the template is read by it; a switch of reasoning may be unknown where there
    is none, or nothing but reasoning."""
    words = _words_of(target.template or "")
    thinking = talk.thinking
    for name, value in _variables(talk, target.kind).items():
        if name in words or (name == "enable_thinking" and (value is False or words & {"think", "thinking"})):
            continue
        field = {"enable_thinking": thinking.field, "preserve_thinking": name}.get(name, f"chat_template_kwargs.{name}")
        raise _refused(field, "has a chat template that does not read it", plan, target.kind)
    if thinking.effort is not None and not thinking.effort_is_wish and "reasoning_effort" not in words:
        raise _refused(thinking.field, "has a chat template without levels of reasoning", plan, target.kind)


@lru_cache(maxsize=64)
def _words_of(template: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", template))


def _is_off_effort(thinking: Thinking, kind: Kind) -> bool:
    """Reasoning that is off is a level of Ollama's."""
    return kind.name == "ollama" and thinking.enabled is False


def _refused(path: str, words: str, plan: Plan, kind: Kind) -> Unsupported:
    return Unsupported(
        f"`{path}` cannot be honoured by the engine {ENGINE} of the model {plan.model.id}: its server, of the kind "
        f"{kind.name}, {words}. Leave it out.",
        param=path,
        details={"fields": [path], "engine": ENGINE},
    )


# ---- bodies -----------------------------------------------------------------------------------------


def body_of(plan: Plan, target: Target, *, choice: int, answer_tokens: int) -> tuple[str, Body]:
    """Where choice number `choice` of the plan is asked for, and how. `answer_tokens` -1: without a limit.

    Of no token at all one is asked for: some servers refuse a 0, and others give one all the same.
    """
    kind, ask = target.kind, plan.ask
    is_chat = isinstance(ask.source, Talk)
    body: Body = {"model": target.model, "stream": True, "stream_options": {"include_usage": True}}
    if isinstance(ask.source, Talk):
        body |= talk_body(ask.source, target)
    elif isinstance(ask.source, RawText):
        body["prompt"] = _prompt(ask.source)
    body |= _sampled(plan, kind, choice)
    if answer_tokens >= 0:
        body["max_tokens"] = max(answer_tokens, 1)
    if ask.stop:
        body["stop"] = list(ask.stop)
    if ask.form is not None:
        body |= _form(ask.form, kind, is_chat=is_chat)
    if ask.logprobs is not None:
        body |= _logprobs(ask.logprobs, kind, is_chat=is_chat)
    body |= _extras(plan, kind)
    return (CHAT if is_chat else COMPLETIONS), body


def _extras(plan: Plan, kind: Kind) -> Body:
    """What one kind of server alone can do."""
    ask, body = plan.ask, Body()
    if ask.ignore_eos:
        body["ignore_eos"] = True
    if kind.name == "llama_server":
        told = {
            "post_sampling_probs": ask.as_drawn,
            "timings_per_token": ask.token_timings,
            "return_progress": ask.progress,
            "n_indent": ask.text_limits.indent,
            "t_max_predict_ms": ask.text_limits.milliseconds,
            "preserved_tokens": list(ask.shown_tokens),
            "verbose": bool(ask.stop),  # it tells which one was met, and nowhere else
        }
        return body | {name: value for name, value in told.items() if value}
    if kind.name == "vllm":
        if ask.priority:
            body["priority"] = ask.priority
        if ask.tag.owner or ask.tag.salt:
            body["cache_salt"] = f"{ask.tag.owner}-{ask.tag.salt}"
    return body


def _sampled(plan: Plan, kind: Kind, choice: int) -> Body:
    body: Body = {}
    for name in sorted(kind.sampling):
        if plan.origins.get(name, "default") != "default":
            value = getattr(plan.sampling, name)
            body[kind.renamed.get(name, name)] = list(value) if isinstance(value, tuple) else value
    if kind.name in ("vllm", "sglang") and body.get("top_k", 1) <= 0:
        body["top_k"] = -1
    if "seed" in kind.does and (plan.origins.get("seed") != "default" or kind.name == "llama_server"):
        body["seed"] = (plan.seed + choice) % (2**32 - 1)
    if plan.ask.logit_bias:
        body["logit_bias"] = _bias(plan, kind)
    return body


def _bias(plan: Plan, kind: Kind) -> Any:  # pairs, or an object by id
    if kind.bias_texts:
        return [[token, False if bias == -math.inf else bias] for token, bias in plan.ask.logit_bias]
    return {str(token): bias for token, bias in plan.ask.logit_bias}


def _logprobs(alternatives: int, kind: Kind, *, is_chat: bool) -> Body:
    """A llama-server that is asked for none tells twenty."""
    wanted = max(alternatives, 1) if kind.name == "llama_server" else alternatives
    return {"logprobs": True, "top_logprobs": wanted} if is_chat else {"logprobs": wanted}


def _prompt(raw: RawText) -> Any:  # a text, ids, or a mixture
    if len(raw.pieces) == 1:
        (piece,) = raw.pieces
        assert not isinstance(piece, Medium), "media were refused"
        return piece if isinstance(piece, str) else list(piece)
    if all(isinstance(piece, str) for piece in raw.pieces):
        return "".join(str(piece) for piece in raw.pieces)
    mixed: list[str | int] = []
    for piece in raw.pieces:
        assert not isinstance(piece, Medium), "media were refused"
        mixed += [piece] if isinstance(piece, str) else piece
    return mixed


def _form(form: Form, kind: Kind, *, is_chat: bool) -> Body:
    match form.kind:
        case "json_object" | "json_schema":
            schema = form.body if form.kind == "json_schema" else None
            if kind.name == "llama_server" and not is_chat:  # its completions read no response_format
                return {"json_schema": ANY_OBJECT if schema is None else schema}
            if schema is None:
                return {"response_format": {"type": "json_object"}}
            held = {"name": "answer", "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": held}}
        case "grammar":
            return {"grammar": form.body}
        case "regex":
            return {"structured_outputs": {"regex": form.body}} if kind.name == "vllm" else {"regex": form.body}
        case "choice":
            if kind.name == "vllm":
                return {"structured_outputs": {"choice": list(form.body)}}
            return {"grammar": "root ::= " + " | ".join(_literal(text) for text in form.body)}


def _literal(text: str) -> str:
    """The text as a literal of GBNF."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


# ---- conversations ----------------------------------------------------------------------------------


def talk_body(talk: Talk, target: Target) -> Body:
    """The conversation, its functions and its reasoning."""
    kind = target.kind
    body: Body = {"messages": [_message(turn, kind) for turn in talk.turns]}
    body |= _tools(talk, kind)
    variables = _variables(talk, kind)
    if variables:
        body["chat_template_kwargs"] = variables
    if talk.continues:
        body |= {"continue_final_message": True}
    if (talk.continues or not talk.add_generation_prompt) and "add_generation_prompt" in kind.does:
        body["add_generation_prompt"] = False
    thinking = talk.thinking
    if thinking.effort is not None and kind.efforts:
        body["reasoning_effort"] = thinking.effort
    elif _is_off_effort(thinking, kind):
        body["reasoning_effort"] = "none"
    if thinking.budget_tokens is not None and kind.budgets is not None:
        body[kind.budgets] = thinking.budget_tokens
    if not thinking.separate:
        body |= {"reasoning_format": "none"} if kind.name == "llama_server" else {"separate_reasoning": False}
    return body


def _variables(talk: Talk, kind: Kind) -> Body:
    """What the chat template over there is told besides the conversation."""
    variables = {name: value for name, value in talk.template_kwargs.items() if value is not None}
    thinking = talk.thinking
    if thinking.enabled is not None and kind.switches_thinking:
        variables["enable_thinking"] = thinking.enabled
    if thinking.keeps and kind.name == "llama_server":
        variables["preserve_thinking"] = True
    return variables


def _message(turn: Turn, kind: Kind) -> Body:
    message: Body = {"role": turn.role, "content": turn.text}
    if turn.name is not None:
        message["name"] = turn.name
    if turn.reasoning is not None and kind.keeps_thoughts:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["content"] = turn.text or None
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
    if turn.call_id is not None:
        message["tool_call_id"] = turn.call_id
    return message


def _tools(talk: Talk, kind: Kind) -> Body:
    rules = talk.tools
    if not rules.tools:
        return {}
    if "tool_choice" not in kind.does:  # then `auto` and `none` are all that policy lets through
        return {"tools": [_tool(tool) for tool in rules.callable]} if rules.callable else {}
    if rules.only is not None and not kind.names_choice:  # the one function that there is must be called
        body: Body = {"tools": [_tool(tool) for tool in rules.callable], "tool_choice": "required"}
    else:
        body = {"tools": [_tool(tool) for tool in rules.tools], "tool_choice": _choice(rules.mode, rules.only)}
    if "parallel_tool_calls" in kind.does:
        body["parallel_tool_calls"] = rules.parallel
    if not rules.reads_calls:
        body["parse_tool_calls"] = False
    return body


def _choice(mode: str, only: str | None) -> Any:  # a word, or the function that is named
    return mode if only is None else {"type": "function", "function": {"name": only}}


def _tool(tool: Tool) -> Body:
    parameters = dict(tool.parameters) if tool.parameters else {"type": "object", "properties": {}}
    function: Body = {"name": tool.name, "description": tool.description, "parameters": parameters}
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def encoded(body: Body) -> bytes:
    """The body as JSON. A half of a character stays one, as an escape."""
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode("ascii")
