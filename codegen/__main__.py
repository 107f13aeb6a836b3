"""`python -m codegen` writes `src/troth/_generated/` and two pages of `docs/`; `--check` only says whether
they would change.

`--lint` only checks the rules of the document.

`python -m codegen --strict-view FILE` writes the document in which a guarded field has only its
neutral values: what a client may send and be served.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from importlib.metadata import version
from pathlib import Path

from codegen.bundle import Document, bundle
from codegen.demonstrations import demonstrations
from codegen.fieldbook import write_field_page, write_route_page
from codegen.lint import lint
from codegen.models import reply_components, request_components, with_parameters, write_models
from codegen.routebook import write_route_map
from codegen.source import Source, SourceError
from codegen.strict_view import strict_view
from codegen.tables import write_fields, write_operations

ROOT = Path(__file__).resolve().parent.parent
OPENAPI = ROOT / "openapi"
GENERATED = ROOT / "src" / "troth" / "_generated"
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when all is well, 1 for findings, drift or files that cannot be joined."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description="Generate troth._generated from openapi/.")
    parser.add_argument("--check", action="store_true", help="exit 1 with a diff when the files would change")
    parser.add_argument("--lint", action="store_true", help="only check the rules, with their findings")
    parser.add_argument("--strict-view", metavar="FILE", type=Path, help="write the strict view of the document")
    options = parser.parse_args(arguments)
    try:
        source = Source(OPENAPI)
        findings = lint(source)
        for finding in findings:
            print(finding, file=sys.stderr)
        if findings:
            return 1
        if options.lint:
            return 0
        document = bundle(source)
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    if options.strict_view is not None:
        options.strict_view.write_text(as_json(strict_view(document)), "utf-8")
        return 0
    act = check if options.check else write
    code = act(generate(document, source.sha256()), GENERATED)
    return max(code, act(generate_pages(document, source), DOCS))


def generate(document: Document, sha256: str) -> dict[str, str]:
    """Name and text of every generated file, stamped with the source's sha256 and the generator's version."""
    generator = _generator()
    stamp = f"sha256 of openapi/: {sha256}; {generator}"

    def header(what: str) -> str:
        return f'"""{what} Generated from openapi/ by `python -m codegen`; do not edit.\n\n{stamp}\n"""\n'

    full = with_parameters(document)
    stamped = {**document, "x-generated": {"sha256": sha256, "generator": generator}}
    return {
        "__init__.py": header("The contract as code."),
        "openapi.json": as_json(stamped),
        "models.py": write_models(full, request_components(document), header("What requests are read into.")),
        "replies.py": write_models(full, reply_components(document), header("What answers look like.")),
        "operations.py": write_operations(document, header("The operations of the document.")),
        "fields.py": write_fields(document, header("The contract class of every request field.")),
    }


def generate_pages(document: Document, source: Source) -> dict[str, str]:
    """Name and text of every generated page of the documentation, stamped like the code."""
    stamp = (
        "<!-- Generated from openapi/ by `python -m codegen`; do not edit.\n"
        f"     sha256 of openapi/: {source.sha256()}; {_generator()} -->\n"
    )
    asked = demonstrations(TESTS, document["paths"])
    return {
        "fields.md": write_field_page(document, stamp),
        "routes.md": write_route_page(document, stamp) + "\n" + write_route_map(document, asked, source),
    }


def _generator() -> str:
    return f"datamodel-code-generator {version('datamodel-code-generator')}"


def as_json(document: Document) -> str:
    """The document as text, the same for the same document."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def write(files: dict[str, str], folder: Path) -> int:
    """The folder holds these files; returns 0."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        folder.joinpath(name).write_text(text, "utf-8")
    return 0


def check(files: dict[str, str], folder: Path) -> int:
    """0 when the folder holds these texts; otherwise prints the difference and returns 1."""
    drifted = 0
    for name, text in files.items():
        path = folder / name
        old = path.read_text("utf-8") if path.exists() else ""
        if old != text:
            drifted = 1
            lines = difflib.unified_diff(old.splitlines(True), text.splitlines(True), str(path), f"{name} (generated)")
            sys.stdout.writelines(lines)
    return drifted


if __name__ == "__main__":
    sys.exit(main())
