"""The faults that no single setting shows: names used twice, limits that contradict each other.

The checks look at values as written, so that they speak even when other settings are at fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from troth.config.document import Written, store
from troth.config.faults import KeyPath, dotted, nearest, shown
from troth.config.models import ModelSettings, SamplingSettings
from troth.engines.registry import Isolating
from troth.sources.address import parse_address
from troth.sources.faults import SourceFault

SLOT_WORDS = ("metrics", "capacity")  # paths beside those of the slots
DEFAULT_ENGINE: str = ModelSettings.model_fields["engine"].default
SOURCE_WORDS = ModelSettings.model_fields["source"].description or ""
OF_FILES = ("source", "sha256", "draft_source", "draft_sha256", "chat_template", "call_format")  # settings of a model


@dataclass(frozen=True, slots=True)
class Known:
    """What other rooms know and configuration has to agree with."""

    engine_names: tuple[str, ...]
    guardable: frozenset[str]  # request fields, by wire path
    folders: tuple[Path, ...]  # where relative paths are looked up
    call_formats: tuple[str, ...] = ()
    isolating: Isolating = field(default_factory=dict)  # which engines may live in a process of their own
    engine_kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of model; none: not checked


# Keys of a model's entry that say something about models of some kinds only.
BELONG = {
    ("moderation",): ("guard",),
    ("chat", "decision", "moderation"): ("chat_template", "draft_source", "draft_sha256"),
    ("chat",): ("call_format", "sampling", "decides"),
    ("embedding",): ("prompts",),
}


def check(written: Written, known: Known) -> None:
    """Every cross fault is added to `written.faults`; template paths become absolute."""
    _check_names(written)
    for index, entry in entries(written):
        _check_engine(written, ("models", index, "engine"), entry, known)
        _check_isolation(written, ("models", index, "isolation"), entry, known)
        _check_kind(written, ("models", index, "kind"), entry, known)
        _check_source(written, ("models", index, "source"), entry.get("source"))
        _check_source(written, ("models", index, "draft_source"), entry.get("draft_source"))
        _check_extra(written, ("models", index, "options"), entry)
        _check_source(written, ("models", index, "tokenizer_source"), entry.get("tokenizer_source"))
        _check_draft(written, ("models", index, "draft_source"), entry)
        _check_mmproj(written, ("models", index, "options", "mmproj"), entry)
        _check_call_format(written, ("models", index, "call_format"), entry, known)
        _check_template(written, ("models", index, "chat_template"), entry, known)
    _check_guard(written, known)
    _check_budget(written)


def entries(written: Written) -> Iterator[tuple[int, dict[str, Any]]]:
    """The model entries that are mappings, with their index."""
    models = written.value.get("models")
    if isinstance(models, list):
        yield from ((index, entry) for index, entry in enumerate(models) if isinstance(entry, dict))


def _check_names(written: Written) -> None:
    owners: dict[str, KeyPath] = {}
    for index, entry in entries(written):
        aliases = entry.get("aliases")
        named: list[tuple[KeyPath, Any]] = [(("models", index, "id"), entry.get("id"))]
        named += [(("models", index, "aliases", at), alias) for at, alias in enumerate(_items(aliases))]
        if entry.get("slot") not in (entry.get("id"), *_items(aliases)):  # its own names may be the slot's too
            named.append((("models", index, "slot"), entry.get("slot")))
        for path, name in named:
            if not isinstance(name, str) or path in written.unreadable:
                continue
            is_slot = path[-1] == "slot" or (path[-1] == "id" and entry.get("slot") is None)
            if is_slot and (name in SLOT_WORDS or (path[-1] == "slot" and "/" in name)):
                written.fault(path, f"{shown(name)} is part of a path at /api/slots: choose another name for the slot")
            if name in owners:
                first = owners[name]
                written.fault(path, f"the name {shown(name)} is taken by {dotted(first)} ({written.place(first)})")
            else:
                owners[name] = path


def _check_engine(written: Written, path: KeyPath, entry: Mapping[str, Any], known: Known) -> None:
    engine = entry.get("engine")
    if isinstance(engine, str) and engine not in known.engine_names and path not in written.unreadable:
        written.fault(path, f"unknown engine {shown(engine)}{_meant(engine, known.engine_names)}")


def _check_isolation(written: Written, path: KeyPath, entry: Mapping[str, Any], known: Known) -> None:
    engine, kind = (entry.get(name, ModelSettings.model_fields[name].default) for name in ("engine", "kind"))
    if entry.get("isolation") != "process" or engine not in known.engine_names:
        return
    uncarried = known.isolating.get((engine, kind))
    if uncarried is None:
        what = f"{kind} models of the engine {engine}"
        written.fault(path, f"{what} cannot live in a process of their own; accepted here: thread")
        return
    options = entry.get("options")
    for name, words in uncarried.items():
        if isinstance(options, dict) and options.get(name):
            written.fault(path, f"{words} (options.{name}) cannot cross to another process; accepted here: thread")


def _check_kind(written: Written, path: KeyPath, entry: Mapping[str, Any], known: Known) -> None:
    kind, engine = entry.get("kind", "chat"), entry.get("engine", "llama_cpp")
    if not isinstance(kind, str) or not isinstance(engine, str) or path in written.unreadable:
        return
    kinds = known.engine_kinds.get(engine)
    if kinds is not None and kind not in kinds:
        others = [name for name, served in known.engine_kinds.items() if kind in served]
        cure = f"; {' and '.join(others)} can" if others else ""
        written.fault((*path[:-1], "engine"), f"{engine} cannot serve a model of the kind {shown(kind)}{cure}")
    if kind == "moderation" and engine == "llama_cpp" and entry.get("guard") is None:
        written.fault((*path[:-1], "guard"), "a moderation model needs the family whose verdicts it writes")
    if kind == "moderation" and engine != "llama_cpp" and entry.get("guard") is not None:
        written.fault((*path[:-1], "guard"), f"is of models that write; what {engine} gives is in options.labels")
    for owners, names in BELONG.items():
        for name in names:
            if kind not in owners and entry.get(name) not in (None, {}, [], "", False):
                of = " and ".join(owners)
                written.fault(
                    (*path[:-1], name), f"says something about {of} models only; this one is of the kind {kind}"
                )
    if entry.get("tokenizer_source") is not None and engine != "onnx":
        written.fault((*path[:-1], "tokenizer_source"), f"is for the engine onnx; {engine} finds the tokenizer itself")


def _check_call_format(written: Written, path: KeyPath, entry: Mapping[str, Any], known: Known) -> None:
    name = entry.get("call_format")
    if isinstance(name, str) and name not in known.call_formats and path not in written.unreadable:
        written.fault(path, f"unknown format of calls {shown(name)}{_meant(name, known.call_formats)}")


def _check_source(written: Written, path: KeyPath, source: object) -> None:
    if not isinstance(source, str) or not source.strip() or path in written.unreadable:
        return
    try:
        parse_address(source)
    except SourceFault as fault:
        written.fault(path, fault.message)


def _check_extra(written: Written, path: KeyPath, entry: Mapping[str, Any]) -> None:
    """The adapters and the control vector of an engine's options."""
    options = entry.get("options")
    if not isinstance(options, dict):
        return
    for place, lora in enumerate(_items(options.get("lora"))):
        if isinstance(lora, dict):
            _check_source(written, (*path, "lora", place, "source"), lora.get("source"))
    if isinstance(vector := options.get("control_vector"), dict):
        _check_source(written, (*path, "control_vector", "source"), vector.get("source"))


def _check_draft(written: Written, path: KeyPath, entry: Mapping[str, Any]) -> None:
    options = entry.get("options")
    is_off = isinstance(options, dict) and options.get("draft_tokens_max") == 0
    if is_off and isinstance(entry.get("draft_source"), str):
        written.fault(path, "a draft model needs options.draft_tokens_max above 0")
    if isinstance(entry.get("draft_sha256"), str) and entry.get("draft_source") is None:
        written.fault((*path[:-1], "draft_sha256"), "there is no draft_source that this could be the hash of")


def _check_mmproj(written: Written, path: KeyPath, entry: Mapping[str, Any]) -> None:
    options = entry.get("options")
    if not isinstance(options, dict):
        return
    _check_source(written, path, options.get("mmproj"))
    if isinstance(options.get("mmproj_sha256"), str) and options.get("mmproj") is None:
        written.fault((*path[:-1], "mmproj_sha256"), "there is no mmproj that this could be the hash of")


def _check_template(written: Written, path: KeyPath, entry: Mapping[str, Any], known: Known) -> None:
    template = entry.get("chat_template")
    if not isinstance(template, str) or not template or path in written.unreadable:
        return
    candidates = [(folder / Path(template).expanduser()).resolve() for folder in known.folders]
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        written.fault(path, f"there is no file {', nor '.join(dict.fromkeys(map(str, candidates)))}")
    else:
        store(written, path, str(found))


def check_files(written: Written, remote_engines: frozenset[str]) -> None:
    """A model of another server has nothing that is about a file; every other one has a source."""
    for index, entry in entries(written):
        engine = entry.get("engine", DEFAULT_ENGINE)
        if engine not in remote_engines:
            if entry.get("source") is None:
                path = ("models", index, "source")
                written.fault(path, f"is required: {SOURCE_WORDS[:1].lower()}{SOURCE_WORDS[1:]}")
            continue
        for key in OF_FILES:
            if entry.get(key) is not None:
                words = f"goes with a file, and the engine {engine} has none: leave it out"
                written.fault(("models", index, key), words)


def check_sampling(written: Written, index: int, entry: Mapping[str, Any], takes: frozenset[str] | None) -> None:
    """Defaults that the model's engine would not draw with are faults, in the model's section and in the server's."""
    if takes is None:
        return
    for path, section in (
        (("models", index, "sampling"), entry.get("sampling")),
        (("sampling",), written.value.get("sampling")),
    ):
        for name, value in section.items() if isinstance(section, dict) else ():
            if name in SamplingSettings.model_fields and name not in takes and value is not None:
                written.fault(
                    (*path, name),
                    f"the server behind the model {shown(entry.get('id'))} does not take it; it takes "
                    f"{', '.join(sorted(takes))}",
                )


def _check_guard(written: Written, known: Known) -> None:
    contract = written.value.get("contract")
    guard = contract.get("guard") if isinstance(contract, dict) else None
    for index, name in enumerate(_items(guard)):
        path = ("contract", "guard", index)
        if isinstance(name, str) and name.strip() and name not in known.guardable and path not in written.unreadable:
            close = nearest(name, known.guardable)
            hint = f"; did you mean {close}?" if close else ""
            written.fault(path, f"no request has a field {shown(name)}{hint}")


def _check_budget(written: Written) -> None:
    budget = written.value.get("budget")
    if not isinstance(budget, dict):
        return
    default, cap = budget.get("default_tokens"), budget.get("cap_tokens")
    if type(default) is int and type(cap) is int and default > cap >= 1:
        written.fault(
            ("budget", "default_tokens"), f"expected at most budget.cap_tokens, which is {cap}, got {default}"
        )


def _items(value: Any) -> list[Any]:  # any JSON value
    return value if isinstance(value, list) else []


def _meant(name: str, names: Iterable[str]) -> str:
    known = tuple(names)
    close = nearest(name, known)
    return (f"; did you mean {close}?" if close else "") + f" Registered: {', '.join(known)}"
