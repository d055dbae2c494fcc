"""Tool calls, read from whatever form a dataset has, and compared argument by argument."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from rageval_spark.errors import JudgeFault
from rageval_spark.sample import well_formed

Match = Literal["exact", "name_only", "arg_credit"]
ARGUMENTS = ("args", "arguments", "parameters", "input", "input_parameters")
"""The names under which tools keep a call's arguments."""


@dataclass(frozen=True)
class Call:
    """A call of a tool. `args` are plain JSON; an argument that is null is left out, as if it were not given."""

    name: str
    args: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        return {"name": self.name, "args": dict(self.args)}

    def __str__(self) -> str:
        return f"{self.name}({json.dumps(self.args, ensure_ascii=False)})"


def calls_of(field: str, listed: Iterable[Any], named_by_key: bool = False) -> tuple[Call, ...]:
    """The calls of a list: objects with name and arguments (an object or its JSON text), alone or under `function`.

    Where `named_by_key`, also {name: arguments}. Raises JudgeFault(INVALID_INPUT) naming the field and what was found.
    """
    return tuple(_call(field, item, named_by_key) for item in listed)


def _call(field: str, item: Any, named_by_key: bool) -> Call:
    found = _json(field, item, item)
    found = {key: value for key, value in found.items() if value is not None} if isinstance(found, Mapping) else {}
    if isinstance(found.get("function"), Mapping):
        found = found["function"]
    name: Any
    given: Any
    [(name, given), *others] = found.items() or [("", None)]
    if not (named_by_key and isinstance(given, Mapping) and not others):
        name = found.get("name", found.get("function"))
        given = next((found[key] for key in ARGUMENTS if found.get(key) is not None), None)
    if not isinstance(name, str):
        raise _fault(field, "calls with a name and arguments", item)
    args = {} if given in (None, "") else _json(field, given, item)
    if not isinstance(args, Mapping):
        raise _fault(field, "arguments as an object, or as its JSON text", item)
    return Call(well_formed(name), {key: value for key, value in args.items() if value is not None})


def _json(field: str, value: Any, item: Any) -> Any:
    """Plain JSON of a value, or of a text that holds it."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
        return json.loads(well_formed(text), parse_constant=_no_number)
    except (TypeError, ValueError, RecursionError):
        raise _fault(field, "calls as JSON", item) from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _fault(field: str, expected: str, item: Any) -> JudgeFault:
    shown = well_formed(item if isinstance(item, str) else repr(item))
    return JudgeFault("INVALID_INPUT", f"{field}: expected {expected}, found {shown[:80]}{'...' if shown[80:] else ''}")


@dataclass(frozen=True)
class Comparison:
    """How far a call that was made is the one that was expected.

    Numbers are equal by value (1 and 1.0), but never to a boolean or a text; `lenient` compares texts, numbers and
    booleans as trimmed texts. Where `accepted_values`, each expected argument lists the values that will do; "" among
    them says that it may be left out.
    """

    match: Match = "exact"
    lenient: bool = False
    accepted_values: bool = False

    def credit(self, made: Call, expected: Call) -> Fraction:
        """From 0 to 1; between them only for `arg_credit`: the share of equal arguments among those of both calls."""
        if self.plain(made.name) != self.plain(expected.name):
            return Fraction(0)
        if self.match == "name_only":
            return Fraction(1)
        omitted = {key for key, value in expected.args.items() if key not in made.args and self._may_be_omitted(value)}
        keys = (made.args.keys() | expected.args.keys()) - omitted
        equal = sum(key in made.args and key in expected.args and self.equal(made.args[key], expected.args[key]) for key in keys)
        if self.match == "exact":
            return Fraction(equal == len(keys))
        return Fraction(equal, len(keys)) if keys else Fraction(1)

    def equal(self, made: Any, expected: Any) -> bool:
        if not self.accepted_values:
            return bool(self.plain(made) == self.plain(expected))
        return any(self._accepts(one, made) for one in (expected if isinstance(expected, list) else [expected]))

    def plain(self, value: Any) -> Any:
        """A form in which two values are equal exactly when they are the same JSON value: objects by their keys."""
        if isinstance(value, Mapping):
            return "object", frozenset((key, self.plain(one)) for key, one in value.items() if one is not None)
        if isinstance(value, (list, tuple)):
            return "list", tuple(map(self.plain, value))
        if self.lenient and value is not None:
            return "text", (value if isinstance(value, str) else _written(value)).strip()
        return type(value) if value is None or isinstance(value, bool) else "", value

    def _accepts(self, accepted: Any, made: Any) -> bool:
        """Whether a value is an accepted one, in which an object lists accepted values again, key by key."""
        if self.plain(accepted) == self.plain(made):
            return True
        if isinstance(accepted, Mapping) and isinstance(made, Mapping):
            return self._object_accepts(accepted, made)
        return (isinstance(accepted, list) and isinstance(made, list) and len(accepted) == len(made)
                and all(map(self._accepts, accepted, made)))

    def _object_accepts(self, accepted: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
        given = {key: value for key, value in made.items() if value is not None}
        return given.keys() <= accepted.keys() and all(
            self.equal(given[key], value) if key in given else value is None or self._may_be_omitted(value)
            for key, value in accepted.items())

    def _may_be_omitted(self, expected: Any) -> bool:
        return self.accepted_values and isinstance(expected, list) and any(one is None or one == "" for one in expected)


def _written(value: Any) -> str:
    """A number or boolean as JSON writes it, a whole number without its fraction."""
    whole = isinstance(value, float) and math.isfinite(value) and value.is_integer()
    return json.dumps(int(value) if whole else value)
