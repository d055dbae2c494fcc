"""Tool calls, read from whatever form a dataset has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rageval_spark.errors import SampleFault
from rageval_spark.messages.names import (
    ARGUMENT_KEYS,
    ID_KEYS,
    MOST_NESTED,
    NAME_KEYS,
    PARALLEL,
    WRAPPER_KEYS,
    body_of,
    form_fault,
    parse_text,
    snake_case,
)
from rageval_spark.values import plain, well_formed


@dataclass(frozen=True)
class Call:
    """A call of a tool. `args` are plain JSON; an argument that is null is left out, as if it were not given.

    `unreadable` is the text of arguments that cannot be read: such a call was made, and is wrong whatever was expected.
    `id` only says which mentions of a call are the same; `qualified` is its name with that of its plugin.
    """

    name: str
    args: Mapping[str, Any]
    unreadable: str | None = None
    qualified: str | None = None
    id: str | None = field(default=None, compare=False, repr=False)

    def shown(self) -> dict[str, Any]:
        unreadable = {} if self.unreadable is None else {"unreadable": self.unreadable[:200]}
        return {"name": self.name, "args": dict(self.args), **unreadable}

    def __str__(self) -> str:
        arguments = json.dumps(self.args, ensure_ascii=False) if self.unreadable is None else self.unreadable
        return f"{self.name}({arguments})"


def read_calls(name: str, items: Iterable[Any], *, named_by_key: bool = False, made: bool = True) -> tuple[Call, ...]:
    """Return the calls of a list: objects with name and arguments (an object or its text), however wrapped, or their JSON texts.

    With `named_by_key`, also {name: arguments}. Where the arguments of a call that was `made` cannot be read, the call is
    `unreadable`; otherwise, and for what is no call, SampleFault is raised, naming the field `name` and what was found.
    """
    calls: list[Call] = []
    for number, item in enumerate(items, 1):
        try:
            calls += _read_call(f"{name}: item {number}", plain(item), named_by_key=named_by_key, made=made)
        except RecursionError:
            raise SampleFault(f"{name}: item {number}: it is nested too deeply") from None
    return tuple(calls)


def read_invalid_call(item: Any) -> Call:
    """A call whose arguments the framework could not read itself, as LangChain keeps it."""
    body = body_of(item) if isinstance(item, Mapping) else {}
    name, id = body.get("name"), body.get("id")
    text = body.get("args", body.get("error", ""))
    return Call(well_formed(str(name or "")), {}, well_formed(text if isinstance(text, str) else repr(text)),
                id=str(id) if id else None)


def drop_repeats(sources: Iterable[Iterable[Call]]) -> tuple[Call, ...]:
    """The calls of all sources, each once: the same id, or without ids the same call in another source, is a repeat."""
    kept: list[Call] = []
    for source in sources:
        unmatched = list(kept)
        for call in source:
            same = next((other for other in unmatched if (
                call.id == other.id if call.id and other.id else (call.name, call.shown()) == (other.name, other.shown()))), None)
            if same is None:
                kept.append(call)
            else:
                unmatched.remove(same)
    return tuple(kept)


def _read_call(place: str, item: Any, *, named_by_key: bool, made: bool, depth: int = 0) -> tuple[Call, ...]:
    value = parse_text(item) if isinstance(item, str) else item
    body = body_of(value) if isinstance(value, Mapping) else {}
    if named_by_key and len(body) == 1 and isinstance(value, Mapping):
        [(key, given)] = value.items()
        if isinstance(given, Mapping) and snake_case(str(key)) not in WRAPPER_KEYS:
            return (_call(place, str(key), given, item, made),)
    id = next((str(body[key]) for key in ID_KEYS if isinstance(body.get(key), (str, int))), None)
    if body.get("method") == "tools/call" and isinstance(body.get("params"), Mapping):
        body = body_of(body["params"])
    for _ in range(MOST_NESTED):
        key = next((key for key in (*WRAPPER_KEYS, "data", "kwargs") if isinstance(body.get(key), Mapping)), None)
        if key is None or any(isinstance(body.get(name), str) for name in NAME_KEYS):
            break
        body = body_of(body[key])
        id = id or next((str(body[name]) for name in ID_KEYS if isinstance(body.get(name), (str, int))), None)
    name = next((body[key] for key in NAME_KEYS if isinstance(body.get(key), str)), None)
    if name is None:
        raise form_fault(place, "calls with a name and arguments", item)
    given = next((body[key] for key in ARGUMENT_KEYS if key in body), None)
    if PARALLEL.fullmatch(name) and depth < MOST_NESTED and (wrapped := _wrapped_calls(given)):
        nested = [_read_call(place, call, named_by_key=named_by_key, made=made, depth=depth + 1) for call in wrapped]
        return tuple(call for calls in nested for call in calls)
    call = _call(place, name, given, item, made)
    whole = body.get("name") if "function_name" in body else None
    plugin = body.get("plugin_name")
    qualified = whole if isinstance(whole, str) else f"{plugin}-{name}" if isinstance(plugin, str) else None
    return (replace(call, id=id, qualified=qualified),)


def _wrapped_calls(given: Any) -> list[Any] | None:
    """The calls within multi_tool_use.parallel, or None where they cannot be read."""
    given = parse_text(given) if isinstance(given, str) else given
    body = body_of(given) if isinstance(given, Mapping) else {}
    listed = next((body[key] for key in ("tool_uses", "tool_calls", "calls") if key in body), given)
    listed = parse_text(listed) if isinstance(listed, str) else listed
    readable = isinstance(listed, list) and all(isinstance(call, Mapping) and {*body_of(call)} & {*NAME_KEYS} for call in listed)
    return listed if readable else None


def _call(place: str, name: str, given: Any, item: Any, made: bool) -> Call:
    name = well_formed(name.removeprefix("functions."))
    args: Any = {} if given in (None, "") else given
    for _ in range(2):  # a text of a text: arguments that were written as JSON twice
        args = parse_text(args) if isinstance(args, str) else args
    try:
        if not isinstance(args, Mapping):
            raise ValueError
        args = json.loads(well_formed(json.dumps(plain(args), ensure_ascii=False, allow_nan=False)))
    except (TypeError, ValueError):
        if not made:
            raise form_fault(place, "arguments as an object, or as its JSON text", item) from None
        return Call(name, {}, well_formed(given if isinstance(given, str) else repr(given)))
    return Call(name, {key: value for key, value in args.items() if value is not None})
