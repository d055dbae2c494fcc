"""Tool calls, compared argument by argument."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from rageval_spark.messages import Call

Match = Literal["exact", "name_only", "arg_credit"]
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
        if not {made.name, made.qualified} & {expected.name, expected.qualified} - {None}:
            return Fraction(0)
        if self.match == "name_only":
            return Fraction(1)
        if made.unreadable is not None or expected.unreadable is not None:
            return Fraction(0)
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
