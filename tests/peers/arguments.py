"""llama-server's command line as a configuration of Troth.

Every option that the tests give is in one of two tables: what it becomes, or why it may be left out. An option in
neither ends the start by name, so that no test passes with a server that was not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from troth.config.models import DEFAULT_SOURCE

Values = Mapping[str, str]

TEMPLATES = Path(__file__).parent / "templates"
SLOTS_DEFAULT = 4
STOP_SECONDS = 1.0  # the tests kill a server five seconds after they told it to end
BATCH_TOKENS_MIN = 32  # this server's least; no answer depends on it

# What stands behind each option, and whether a value follows it.
DONE: Mapping[str, bool] = {
    "--host": True,
    "--port": True,
    "--alias": True,
    "--ctx-size": True,
    "--parallel": True,
    "--kv-unified": False,
    "--batch-size": True,
    "--ubatch-size": True,
    "--threads": True,
    "--temp": True,
    "--seed": True,
    "--n-predict": True,
    "--api-key": True,
    "--chat-template": True,
    "--chat-template-file": True,
}
# None of these can change an answer of the tests that are run.
LEFT_OUT: Mapping[str, tuple[bool, str]] = {
    "--hf-repo": (True, "the embedded model stands in for every other"),
    "--hf-file": (True, "the embedded model stands in for every other"),
    "--model": (True, "the embedded model stands in for every other"),
    "--verbose": (False, "the plugin asks for `__verbose` in each request"),
    "--reasoning": (True, "the plugin asks for it in each request"),
    "--backend_sampling": (False, "where a token is drawn changes nothing"),
    "--offline": (False, "the model is there already"),
    "--cont-batching": (False, "batching is always continuous"),
    "--jinja": (False, "chat templates are always Jinja"),
    "--no-jinja": (False, "chat templates are always Jinja"),
    "--metrics": (False, "there are always metrics"),
    "--slots": (False, "the slots are always told of"),
    "--no-slots": (False, "the slots are always told of; the one test of their absence is left out"),
}


class Unknown(Exception):
    """An option that has no counterpart; the message names it."""


def parse(argv: Sequence[str]) -> Values:
    """The options that count, each with its value. Raises Unknown."""
    values: dict[str, str] = {}
    rest = list(argv)
    while rest:
        name = rest.pop(0)
        if name not in DONE and name not in LEFT_OUT:
            raise Unknown(f"llama-server's option {name} has no counterpart here")
        has_value = DONE[name] if name in DONE else LEFT_OUT[name][0]
        value = rest.pop(0) if has_value else ""
        if name in DONE:
            values[name] = value
    return values


def configuration(argv: Sequence[str], folder: Path) -> dict[str, Any]:
    """The configuration for llama-server's arguments; what it names as files is written into `folder`."""
    values = parse(argv)
    names = sorted(values.get("--alias", "model").split(","))  # llama-server keeps them in an ordered set
    server = _only(values, {"host": ("--host", str), "port": ("--port", int)}) | {"stop_seconds": STOP_SECONDS}
    sampling = _only(values, {"temperature": ("--temp", float), "seed": ("--seed", int)})
    budget = _only(values, {"default_tokens": ("--n-predict", int)})
    if budget.get("default_tokens", 0) < 0:
        budget = {}
    model: dict[str, Any] = {"id": names[0], "aliases": names[1:], "source": DEFAULT_SOURCE}
    if template := _template(values, folder):
        model["chat_template"] = str(template)
    settings = {
        "server": server,
        "models": [model | {"options": _options(values)}],
        "sampling": sampling,
        "budget": budget,
    }
    if "--api-key" in values:
        settings["auth"] = {"api_keys": [values["--api-key"]]}
    return settings


def _only(values: Values, wanted: Mapping[str, tuple[str, Callable[[str], Any]]]) -> dict[str, Any]:
    return {key: read(values[option]) for key, (option, read) in wanted.items() if option in values}


def _options(values: Values) -> dict[str, Any]:
    """llama-server's context is that of all slots together, unless they share it."""
    slots = int(values.get("--parallel", SLOTS_DEFAULT))
    is_shared = "--kv-unified" in values or "--parallel" not in values
    options: dict[str, Any] = {"slots": slots, "determinism": "fast"}
    if "--ctx-size" in values:
        tokens = int(values["--ctx-size"])
        options["context_tokens"] = tokens if is_shared else tokens // slots
    if "--threads" in values:
        options["threads"] = int(values["--threads"])
    batches = {"batch_tokens": "--batch-size", "micro_batch_tokens": "--ubatch-size"}
    for key, option in batches.items():
        if option in values:
            options[key] = max(int(values[option]), BATCH_TOKENS_MIN)
    return options


def _template(values: Values, folder: Path) -> Path | None:
    """The file of the chat template: of a path, of a name that llama.cpp knows, or of a text."""
    if "--chat-template-file" in values:
        return Path(values["--chat-template-file"]).absolute()
    given = values.get("--chat-template")
    if given is None:
        return None
    known = TEMPLATES / f"{given}.jinja"
    if known.is_file():
        return known
    path = folder / "template.jinja"
    path.write_text(given, "utf-8")
    return path
