"""A sample: one question with its contexts, answer, reference …, read from whatever form the dataset has."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rageval_spark.errors import SampleFault
from rageval_spark.fields import read_field
from rageval_spark.messages import read_messages
from rageval_spark.values import is_missing, plain

ALIASES: Mapping[str, tuple[str, ...]] = {
    "sample_id": ("id", "data_id"),
    "user_input": ("question", "prompt", "query"),
    "response": ("answer", "content", "output"),
    "retrieved_contexts": ("contexts", "context", "retrieved_chunks"),
    "reference": ("ground_truth", "ground_truths", "expected_output", "expected_response"),
    "retrieved_ids": ("retrieved_context_ids",),
    "relevant_ids": ("reference_context_ids", "relevant_chunk_ids"),
}
"""Other names of the sample fields, taken in this order when a config maps nothing."""


@dataclass(frozen=True)
class Sample:
    """One sample. A field is None if the data has no value; a blank text is a value (the system produced nothing).

    These are no value: None, NaN, NaT, pandas.NA, numpy's masked values, and the texts "NaN", "nan", "NaT" and "<NA>" that tools
    leave in their place; in a field of one text also an empty list or object; in fields of lists, numbers and flags also a
    blank cell. "None", "null" and "N/A" are texts. An empty list of contexts, references or calls says that there are none.

    A list may stand in a cell as text, in JSON or as Python or numpy print it. In a field that takes prose as well, a text is
    read as a list if it looks like one (cells.looks_like_list); if it cannot be read as one, the field is faulty.

    `retrieved_contexts` keeps blank and missing chunks as "" so that ranks hold. `reference` holds one text or several.
    `history` is a tuple of (role, text), oldest first. `relevance` has the grade of each id (relevant above 0); data that
    has grades under `relevant_ids` is read so too. `messages` and calls are kept as the data has them (messages.read_messages).
    """

    sample_id: str = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: tuple[str, ...] | None = None
    reference: tuple[str, ...] | None = None
    history: tuple[tuple[str, str], ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    retrieved_scores: tuple[float, ...] | None = None
    relevant_ids: tuple[str, ...] | None = None
    relevance: Mapping[str, float] | None = None
    should_refuse: bool | None = None
    messages: Sequence[Any] | None = None
    tools: Sequence[Any] | None = None
    tool_calls: Sequence[Any] | None = None
    reference_tool_calls: Sequence[Any] | None = None
    reference_goal: str | None = None
    reference_turns: int | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any], strict: bool = True, columns: Mapping[str, str] | None = None) -> Sample:
        """Return a sample from values under field names or aliases; other names are ignored.

        Values may be those of numpy, pandas, Spark or pydantic. Raises SampleFault naming the field for a value that cannot be
        read as the field's type, and for different values under two aliases of one field. If not `strict`, the fault is raised
        when the field is used, so that it costs only the metrics that use it. `columns` has the name of each field in the data;
        faults name it too.
        """
        read: dict[str, Any] = {}
        faults: dict[str, SampleFault] = {}
        for field in fields_found(values):
            try:
                read[field] = read_field(field, _value_of(field, values))
            except SampleFault as fault:
                faults[field] = _name_column(fault, field, (columns or {}).get(field, field))
                if strict or field == "sample_id":
                    raise faults[field] from None
        read = {field: value for field, value in read.items() if value is not None}
        if isinstance(grades := read.get("relevant_ids"), Mapping):
            read.setdefault("relevance", grades)
            read["relevant_ids"] = tuple(id for id, grade in grades.items() if grade > 0)
        return cls(**read) if not faults else _PartlyRead(faults, **read)

    @property
    def faults(self) -> Mapping[str, SampleFault]:
        """The fields that could not be read, with why."""
        return {}

    def check(self, names: Iterable[str]) -> None:
        """Raise the SampleFault of the first of these fields that could not be read."""
        for name in names:
            if name in self.faults:
                raise self.faults[name]

    @property
    def reference_text(self) -> str:
        """All reference texts, one under the other; blank where there is none."""
        return "\n".join(text for text in self.reference or () if text.strip())

    @property
    def spoken(self) -> tuple[str | None, ...]:
        """Texts that show in which language to ask, the most reliable first."""
        return self.user_input, self.response, next(filter(None, map(_text_of_message, self.messages or ())), None)

    @property
    def has_question(self) -> bool:
        return not blank(self.user_input)

    @property
    def has_context(self) -> bool:
        return any(not blank(text) for text in self.retrieved_contexts or ())


def fields_found(names: Mapping[str, Any] | Sequence[str]) -> dict[str, str]:
    """Sample field → the name it goes by among `names`: its own name first, then its aliases in order."""
    sources = {}
    for field in FIELDS:
        source = next((name for name in (field, *ALIASES.get(field, ())) if name in names), None)
        if source is not None:
            sources[field] = source
    return sources


class _PartlyRead(Sample):
    """A sample with fields that could not be read. Using such a field raises its fault."""

    def __init__(self, faults: Mapping[str, SampleFault], **read: Any):
        super().__init__(**read)
        object.__setattr__(self, "_faults", faults)

    def __getattribute__(self, name: str) -> Any:
        faults = object.__getattribute__(self, "__dict__").get("_faults", {})
        if name in faults:
            raise faults[name]
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sample_id={self.sample_id!r}, faults={self.faults!r})"

    @property
    def faults(self) -> Mapping[str, SampleFault]:
        faults: Mapping[str, SampleFault] = self.__dict__["_faults"]
        return faults

    @property
    def spoken(self) -> tuple[str | None, ...]:
        known = ("user_input", "response", "messages")
        return Sample(**{name: self.__dict__[name] for name in known if name not in self.faults}).spoken


def ambiguous_names(names: Container[str]) -> dict[str, list[str]]:
    """Sample field → the aliases among `names`, if several stand for it and its own name is not there."""
    present = {field: [name for name in ALIASES.get(field, ()) if name in names] for field in FIELDS if field not in names}
    return {field: aliases for field, aliases in present.items() if len(aliases) > 1}


def known_names() -> list[str]:
    """Every name that a sample's field may go by."""
    return [name for field in FIELDS for name in (field, *ALIASES.get(field, ()))]


def blank(text: str | None) -> bool:
    return text is None or not text.strip()


def _text_of_message(item: Any) -> str | None:
    try:
        return next((message.text for message in read_messages("messages", [item]) if not blank(message.text)), None)
    except SampleFault:  # raised again by the metric that needs the messages
        return None


def _name_column(fault: SampleFault, field: str, column: str) -> SampleFault:
    name, _, rest = str(fault).partition(":")
    return fault if column == name else SampleFault(f"{field} (column {column}):{rest}", fault.code)


def _value_of(field: str, values: Mapping[str, Any]) -> Any:
    """The plain value of a field under its own name, or else under an alias. Raises SampleFault if aliases differ."""
    names = [field] if field in values else [name for name in ALIASES.get(field, ()) if name in values]
    try:
        given = {name: plain(values[name]) for name in names}
    except RecursionError:
        raise SampleFault(f"{field}: cannot be read: it is nested too deeply") from None
    present = {name: value for name, value in given.items() if not is_missing(value)}
    value = next(iter(present.values()), None)
    if any(other != value for other in present.values()):
        raise SampleFault(f"{field}: expected one value, found {' and '.join(present)} with different ones; "
                          f"name the right one {field}, or leave the others out")
    return value


FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Sample))
"""The sample fields in the order in which a field group's key names their columns."""
