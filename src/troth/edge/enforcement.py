"""The contract, enforced: one walk over a validated model, the same for every route.

null is absent; a guarded field is refused unless it asks for nothing; aliases fold into their field and
may not contradict it; unknown fields are ignored or refused as the operator chose. Clamped fields pass:
their limits are known further down the corridor.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from troth.contract import Alias, Guarded, Honoured, Inert, Neutral
from troth.errors import BadRequest, Unsupported

logger = logging.getLogger(__name__)

UNKNOWN_NAMES_MAX = 8
NAME_LENGTH_MAX = 64

Kind = Literal["honoured", "inert", "guarded", "alias"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What one field of one class asks for. `name` is Python's, `wire` the client's."""

    name: str
    wire: str
    kind: Kind
    neutral: Neutral | None  # None: every value asks for something
    of: str  # of an alias: the Python name of its field
    nested: bool  # objects below it have marks of their own
    required: bool
    default: Any
    switched_off: bool = False  # guarded by the operator, not by the document
    advice: str = ""  # of a guarded field: what is accepted
    words: frozenset[str] = frozenset()  # of a guarded field whose neutral values are texts: these


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one class, computed once."""

    fields: Mapping[str, Rule]
    quiet: frozenset[str]  # fields for which there is nothing to do, sent as null or not, but for these two kinds:
    texts: tuple[tuple[str, str], ...]  # Python's and the client's name of a text or objects that have marks below
    guards: tuple[tuple[str, frozenset[str]], ...]  # the name of a text that must be one of these words
    inert_prefixes: tuple[str, ...]
    wires: tuple[str, ...]


@dataclass(slots=True)
class Contract:
    """The enforcement step of one server."""

    unknown_fields: Literal["ignore", "refuse"] = "ignore"
    guard: frozenset[str] = frozenset()
    prefixes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _top: dict[type[BaseModel], Rules] = field(default_factory=dict)
    _below: dict[type[BaseModel], Rules] = field(default_factory=dict)

    def enforce(self, model: BaseModel) -> frozenset[str]:
        """The model, with nulls gone and aliases folded; returns the honoured fields that ask for something.

        The names are those of the wire, at the top level, aliases under the name of their field.
        Raises: Unsupported for a guarded field, BadRequest for contradicting or unknown fields.
        """
        rules = self._top.get(type(model)) or self.prepare(type(model))
        self._visit(model, rules, "")
        values = model.__dict__
        given = []
        for name in model.model_fields_set:
            rule = rules.fields.get(name)
            if rule is None or rule.kind != "honoured":
                continue
            if rule.neutral is None or not rule.neutral.accepts(values[name]):
                given.append(rule.wire)
        return frozenset(given)

    def prepare(self, model: type[BaseModel], *, top: bool = True) -> Rules:
        """The rules of a class and of every class below it are computed. Raises ValueError for bad marks."""
        table = self._top if top else self._below
        known = table.get(model)
        if known is not None:
            return known
        by_name = {
            name: self._rule(info, name, model, guard=self.guard if top else frozenset())
            for name, info in model.model_fields.items()
        }
        rules = Rules(
            fields=by_name,
            quiet=frozenset(name for name, rule in by_name.items() if _is_quiet(rule)),
            texts=tuple((name, rule.wire) for name, rule in by_name.items() if _is_quiet(rule) and rule.nested),
            guards=tuple((name, rule.words) for name, rule in by_name.items() if _is_quiet(rule) and rule.words),
            inert_prefixes=tuple(self.prefixes.get(model.__name__, {})),
            wires=tuple(rule.wire for rule in by_name.values()),
        )
        table[model] = rules
        for info in model.model_fields.values():
            for below in _models_in(info.annotation):
                self.prepare(below, top=False)
        return rules

    def _rule(self, info: FieldInfo, name: str, model: type[BaseModel], guard: frozenset[str]) -> Rule:
        wire = info.alias or name
        kind: Kind = "honoured"
        neutral: Neutral | None = None
        of = instead = ""
        for mark in info.metadata:
            match mark:
                case Guarded():
                    kind, neutral, instead = "guarded", Neutral.of(mark.neutral), mark.instead
                case Inert():
                    kind = "inert"
                case Honoured():
                    neutral = Neutral.of(mark.neutral)
                case Alias():
                    kind, of = "alias", _python_name(model, mark.of)
        switched_off = kind == "honoured" and wire in guard
        if switched_off:
            kind, neutral = "guarded", neutral or Neutral()
        nested = kind == "honoured" and any(self._acts(below) for below in _models_in(info.annotation))
        default = info.get_default(call_default_factory=False)
        advice = (neutral or Neutral()).words
        if info.is_required() and (neutral is None or neutral.keyword is None):
            advice = "leave out the object that it belongs to"  # without this field there is no such object
        advice += f"; {instead}" if instead else ""
        words: frozenset[str] = frozenset()
        if kind == "guarded" and neutral is not None and neutral.keyword == "enum":
            words = frozenset(value for value in neutral.bound if isinstance(value, str))
        return Rule(name, wire, kind, neutral, of, nested, info.is_required(), default, switched_off, advice, words)

    def _acts(self, model: type[BaseModel]) -> bool:
        """True when visiting an object of this class, or one below it, can change or refuse anything."""
        if self.unknown_fields == "refuse":
            return True
        marks = (mark for below in _reachable(model) for info in below.model_fields.values() for mark in info.metadata)
        return any(isinstance(mark, Guarded | Alias) for mark in marks)

    def _visit(self, model: BaseModel, rules: Rules, at: str) -> None:
        fields, values = rules.fields, model.__dict__
        aliases: list[Rule] = []
        nulls: list[Rule] = []
        nested: list[Rule] = []
        for name in model.model_fields_set:
            rule = fields.get(name)
            if rule is None:
                continue
            if values[name] is None:
                nulls.append(rule)
            elif rule.kind == "alias":
                aliases.append(rule)
            elif rule.kind == "guarded":
                _check_guarded(rule, values[name], at + rule.wire)
            elif rule.nested:
                nested.append(rule)
        for rule in nulls:
            _forget(model, rule)
        if aliases:
            self._fold(model, fields, aliases, at)
        if model.model_extra:
            self._unknown(model.model_extra, rules, at)
        for rule in nested:
            self._descend(values[rule.name], at + rule.wire)

    def _descend(self, value: Any, path: str) -> None:
        # By type first: a class check of a model goes through pydantic's metaclass and costs ten times as much.
        if isinstance(value, list):
            self._descend_list(value, path)
        elif (rules := self._below.get(type(value))) is not None:
            self._visit(value, rules, path + ".")
        elif isinstance(value, dict):
            for key, item in value.items():
                self._descend(item, f"{path}.{key}")

    def _descend_list(self, items: list[Any], path: str) -> None:
        """Nearly every item is a message or a part where a visit would change and refuse nothing, but for what is below
        it. Those are passed over in this very loop, since it runs for every message of every request."""
        below = self._below.get
        for index, item in enumerate(items):
            rules = below(type(item))
            if rules is None:
                if type(item) is not str:
                    self._descend(item, f"{path}.{index}")
                continue
            if item.__pydantic_fields_set__ <= rules.quiet and not item.__pydantic_extra__:
                values = item.__dict__
                for name, words in rules.guards:
                    value = values[name]
                    if value is not None and not (type(value) is str and value in words):
                        break
                else:
                    for name, wire in rules.texts:
                        value = values[name]
                        if type(value) is not str and value is not None:
                            self._descend(value, f"{path}.{index}.{wire}")
                    continue
            self._visit(item, rules, f"{path}.{index}.")

    def _fold(self, model: BaseModel, fields: Mapping[str, Rule], aliases: list[Rule], at: str) -> None:
        values, sent = model.__dict__, model.model_fields_set
        spelled: dict[str, Rule] = {}
        for alias in sorted(aliases, key=lambda rule: rule.wire):
            target = fields[alias.of]
            said_as = spelled.get(alias.of) or (target if alias.of in sent else None)
            value = values[alias.name]
            if said_as is None:
                if target.kind == "guarded":
                    _check_guarded(target, value, at + alias.wire)
                values[alias.of] = value
                spelled[alias.of] = alias
            elif values[alias.of] != value:
                raise BadRequest(
                    f"{at}{said_as.wire} and {at}{alias.wire} are two names of one setting and have two different "
                    "values: send one of them.",
                    param=at + alias.wire,
                    code="conflicting_values",
                )
        sent.update(spelled)

    def _unknown(self, extra: Mapping[str, Any], rules: Rules, at: str) -> None:
        names = [n for n, value in extra.items() if value is not None and not n.startswith(rules.inert_prefixes)]
        if not names:
            return
        shown = [name[:NAME_LENGTH_MAX] for name in names[:UNKNOWN_NAMES_MAX]]
        if self.unknown_fields == "ignore":
            logger.debug("unknown_fields ignored=%d names=%r", len(names), [at + name for name in shown])
            return
        near = {name: difflib.get_close_matches(name, rules.wires, n=1) for name in shown}
        words = [f"{at}{name}" + (f" (did you mean {near[name][0]}?)" if near[name] else "") for name in shown]
        raise BadRequest(
            f"Unknown fields are refused by this server: {', '.join(words)}.", param=at + shown[0], code="unknown_field"
        )


def check_guard(guard: Iterable[str], models: Iterable[type[BaseModel]]) -> None:
    """Every name in `contract.guard` is a field that some route honours. Raises ValueError naming the others."""
    canonical: set[str] = set()
    aliases: dict[str, str] = {}
    for model in models:
        for name, info in model.model_fields.items():
            wire = info.alias or name
            of = next((mark.of for mark in info.metadata if isinstance(mark, Alias)), None)
            if of is None:
                canonical.add(wire)
            else:
                aliases[wire] = of
    for name in guard:
        if name in canonical:
            continue
        if name in aliases:
            raise ValueError(f"contract.guard: {name} is another name of {aliases[name]}; guard {aliases[name]}")
        near = difflib.get_close_matches(name, sorted(canonical), n=1)
        raise ValueError(
            f"contract.guard: no route has a field {name}" + (f"; did you mean {near[0]}?" if near else "")
        )


def _is_quiet(rule: Rule) -> bool:
    return (rule.kind in ("honoured", "inert") or bool(rule.words)) and (rule.required or rule.default is None)


def _python_name(model: type[BaseModel], wire: str) -> str:
    for name, info in model.model_fields.items():
        if (info.alias or name) == wire:
            return name
    raise ValueError(f"{model.__name__}: a field is marked as another name of {wire}, which is no field of it")


def _check_guarded(rule: Rule, value: Any, path: str) -> None:
    neutral = rule.neutral or Neutral()
    plain = value.model_dump(mode="json", exclude_unset=True) if isinstance(value, BaseModel) else value
    if not neutral.accepts(plain):
        why = "switched off on this server" if rule.switched_off else "not supported here"
        raise Unsupported(f"{path} is {why}: {rule.advice}.", param=path)


def _forget(model: BaseModel, rule: Rule) -> None:
    """A field sent as null is as if it had not been sent. A required one can only stay null."""
    if not rule.required:
        model.__dict__[rule.name] = rule.default
        model.model_fields_set.discard(rule.name)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The model classes that a type is made of, not looking inside them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _reachable(model: type[BaseModel]) -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    waiting = [model]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            for info in here.model_fields.values():
                waiting.extend(_models_in(info.annotation))
    return found
