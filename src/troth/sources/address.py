"""The three ways to name a model file, and nothing about how it is fetched."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from troth.sources.faults import SourceFault

ACCEPTED = "pypi:NAME==VERSION/path/in/wheel, hf:ORG/REPO/path/file[@REVISION], or the path of a file"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # at least two letters: C: is a drive
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_HUB_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class PackageAddress:
    """One member of the wheel of one exact version of a package."""

    name: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class HubAddress:
    """One file of one revision of a repository on the hub."""

    repository: str
    path: str
    revision: str


@dataclass(frozen=True, slots=True)
class PathAddress:
    """A file that is here already, as the operator wrote it."""

    path: str


Address = PackageAddress | HubAddress | PathAddress


def parse_address(source: str) -> Address:
    """What `source` names. Raises: SourceFault with the accepted forms."""
    match = _SCHEME.match(source)
    if match is None or source.startswith(("./", "/", "~")):
        if not source.strip():
            raise SourceFault(f"the source is empty; expected {ACCEPTED}")
        return PathAddress(source)
    rest = source[match.end() :]
    scheme = match[1].lower()
    if scheme == "pypi":
        return _package(source, rest)
    if scheme == "hf":
        return _hub(source, rest)
    close = difflib.get_close_matches(scheme, ("pypi", "hf"), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}:? " if close else ""
    raise SourceFault(f'unknown kind of source "{match[0]}"; {hint}Expected {ACCEPTED}')


def _package(source: str, rest: str) -> PackageAddress:
    requirement, _, member = rest.partition("/")
    name, pinned, version = requirement.partition("==")
    if not pinned or not _PACKAGE.fullmatch(name) or not _VERSION.fullmatch(version):
        raise SourceFault(f'expected pypi:NAME==VERSION/path/in/wheel with one exact version, got "{source}"')
    if not _is_inside(member):
        raise SourceFault(f'expected the path of a file in the wheel after "{name}=={version}/", got "{source}"')
    return PackageAddress(name, version, member)


def _hub(source: str, rest: str) -> HubAddress:
    path, _, revision = rest.partition("@")
    parts = path.split("/", 2)
    names_are_good = len(parts) == 3 and all(_HUB_NAME.fullmatch(part) for part in parts[:2])
    if not names_are_good or not _is_inside(parts[2]) or ("@" in rest and not _is_inside(revision)):
        raise SourceFault(f'expected hf:ORG/REPO/path/file[@REVISION], got "{source}"')
    return HubAddress("/".join(parts[:2]), parts[2], revision or "main")


def _is_inside(path: str) -> bool:
    """True for a relative path of plain names: it cannot leave the folder that it is put in."""
    return bool(path) and "\\" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def beside(source: str, name: str) -> str:
    """The source of the file `name` in the folder of the file that `source` names. Raises: SourceFault."""
    address = parse_address(source)
    if isinstance(address, PackageAddress):
        return f"pypi:{address.name}=={address.version}/{_sibling(address.member, name)}"
    if isinstance(address, HubAddress):
        return f"hf:{address.repository}/{_sibling(address.path, name)}@{address.revision}"
    return str(Path(address.path).with_name(name))


def _sibling(path: str, name: str) -> str:
    return "".join([*path.rpartition("/")[:2], name])
