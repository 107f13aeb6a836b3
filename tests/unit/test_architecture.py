"""The corridor's arrows, and the numbers that the tree keeps. Each failure says what to do instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "troth"
GROUND = {"domain", "errors", "envelopes", "contract", "_generated"}

# Which of our own rooms a room may import, besides itself and the ground that everybody stands on.
ARROWS: dict[str, set[str]] = {
    "_generated": set(),
    "domain": set(),
    "errors": set(),
    "envelopes": set(),
    "contract": set(),
    "config": {"sources", "engines"},  # it checks addresses, and lists the options of the engines
    "sources": set(),
    "policy": set(),
    "formats": set(),
    "reply": set(),
    "engines": set(),
    "prompt": {"formats", "engines.base"},
    "scheduler": {"engines.base", "engines.sight"},
    "fleet": {"engines.base"},
    "watch": {"engines.base", "engines.sight"},
    "media": {"engines.sight"},
    "conversation": {"policy", "prompt", "media", "reply", "engines.base"},
    "together": {"conversation", "reply"},
    "scoring": {"conversation", "reply", "engines.base"},
    "deciding": {"conversation", "policy", "reply", "scoring"},
    "moderating": {"conversation", "policy", "reply", "scoring", "vectors"},
    "vectors": {"policy", "reply", "engines.base"},
    "omni": {"conversation", "vectors", "reply"},
    "dialects": {
        "conversation",
        "together",
        "deciding",
        "moderating",
        "omni",
        "vectors",
        "reply",
        "engines.base",
        "engines.sight",
        "fleet",
    },
    "edge": {"watch"},
    "listening": set(),
}
TOP = {"app", "settings", "keeping", "cli", "__main__", "__init__"}

# Libraries that belong to one room, so that replacing one means reading one room.
OWNERS = {
    "connexion": {"edge"},
    "starlette": {"edge", "app", "listening"},
    "sse_starlette": {"edge"},
    "swagger_ui_bundle": {"edge"},
    "uvicorn": {"listening"},
    "llama_cpp": {"engines"},
    "prometheus_client": {"watch"},
    "llguidance": {"engines"},
    "onnxruntime": {"engines"},
    "tokenizers": {"engines"},
    "jinja2": {"prompt"},
    "httpx": {"sources", "engines", "media"},
    "aiohttp": {"engines"},
    "PIL": {"media"},
    "yaml": {"config", "cli"},
    "platformdirs": {"sources"},
}
LINES_MAX = 400
FUNCTION_LINES_MAX = 60
ENVIRONMENT_READERS = {"config", "engines/llama_cpp/library.py"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "_generated" not in path.parts)


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: write the full name of the module"
            if node.module == "troth":
                yield from (f"troth.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_what_is_below_it(path: Path) -> None:
    room = room_of(path)
    if room in TOP:
        return
    allowed = ARROWS[room] | GROUND | {room, "__version__"}
    for name in imports(path):
        if name == "troth" or not name.startswith("troth."):
            continue
        inner = name.removeprefix("troth.")
        is_allowed = any(inner == each or inner.startswith(each + ".") for each in allowed)
        assert is_allowed, f"{room} imports {inner}: take it as an argument, or move the call to conversation or app"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_library_stays_in_its_room(path: Path) -> None:
    for name in imports(path):
        owners = OWNERS.get(name.split(".")[0])
        assert owners is None or room_of(path) in owners, f"{room_of(path)} imports {name}: that belongs to {owners}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= LINES_MAX, "is it one room or two?"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} has {length} lines: branch here, compute in a leaf"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_configuration_reads_the_environment(path: Path) -> None:
    relative = str(path.relative_to(SOURCE))
    if room_of(path) in ENVIRONMENT_READERS or relative in ENVIRONMENT_READERS:
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        is_read = isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb")
        assert not is_read, "make it a setting: the environment is read in config/ alone"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_public_name_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "a module says which question it answers"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} says what is true afterwards"
