"""How a server wants to be asked, determined by trying: what it refuses is asked in another form until it answers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rageval_spark.judges.server_errors import Unanswered
from rageval_spark.judges.server_words import KEY, MODEL, NO_CREDIT
from rageval_spark.judges.settings import Endpoint, HttpJudge, ReplyFormat

log = logging.getLogger(__name__)

FORMATS: tuple[ReplyFormat, ...] = ("json_schema", "json_object", "text")
SchemaForm = Literal["strict", "string_enums", "loose"]
SCHEMA_FORMS: tuple[SchemaForm, ...] = ("strict", "string_enums", "loose")
MOST_FORMS = 10
"""Forms that are tried after the first was refused."""


@dataclass(frozen=True)
class Transport:
    """How one server is asked: the reply format it takes, parameters it refuses or wants under another name.

    `schema` is the form of JSON schemas: as they are, with enums of strings in place of integers, or also without `strict` and
    `additionalProperties`. `system` is false if the server takes no system message. `roots` are the certificates (PEM) of the
    authorities to trust; "" means those of the machine.
    """

    reply_format: ReplyFormat = "json_schema"
    dropped: frozenset[str] = frozenset()
    budget_name: str = "max_tokens"
    encoding: str | None = "base64"
    schema: SchemaForm = "strict"
    system: bool = True
    roots: str = field(default="", repr=False)

    def describe(self) -> str:
        """What differs from the usual form, for people."""
        parts = [f"reply format {self.reply_format}"]
        if self.reply_format == "json_schema" and self.schema != "strict":
            parts.append("a simpler schema")
        if not self.system:
            parts.append("no system message")
        parts += [f"without {name}" for name in sorted(self.dropped)]
        return ", ".join(parts)


@dataclass(frozen=True)
class Variation:
    """One thing that can be asked otherwise.

    `words` are those by which servers name it. `change` returns the other form, or None if there is none. A variation that
    is `chosen` by the user is given up only if the server names it and calls it unsupported.
    """

    words: re.Pattern[str]
    change: Callable[[Transport], Transport | None]
    chosen: bool = False


UNSUPPORTED = re.compile(
    "unsupported|not support|n't support|unrecognized|unrecognised|unknown|extra (inputs|fields)|not permitted"
    "|not allowed|unexpected|not (available|accepted|implemented|enabled)|unavailable|deprecated|only the default"
    "|cannot be (set|used)|no such|remove",
    re.I,
)
ABOUT_THE_FORM = re.compile(
    "response_?format|response_?schema|json_?schema|json_?object|json mode|structured.?output|grammar|guided"
    r"|additional_?properties|\benums?\b|system.?(role|prompt|message|instruction)|role.{0,20}system|roles? must"
    r"|\btemperature\b|\bseed\b|max_(completion_)?tokens|encoding_format|dimensions|requested parameters"
    "|(unsupported|unknown|unrecognized) (value|parameter|field|name|request argument)|extra (inputs|fields)",
    re.I,
)


def variations(endpoint: Endpoint) -> list[Variation]:
    """Return what can be asked otherwise at an endpoint, in the order in which it is tried."""
    own = [_drop(name, chosen=True) for name in endpoint.extra_body]
    if not isinstance(endpoint, HttpJudge):
        return [
            Variation(_words("encoding|base64"), lambda form: replace(form, encoding=None) if form.encoding else None),
            _drop("dimensions", words="dimension|matryoshka"),
            *own,
        ]
    judge = endpoint
    schema = r"\benums?\b|schema|additional_?properties|\bstrict\b|invalid json payload"
    chosen_format = r"response_?format|json_?schema|json_?object|json mode|structured|grammar|guided"
    return [
        Variation(_words(r"\benums?\b|type.{0,3}string"), lambda form: _simpler_schema(form, "string_enums")),
        Variation(_words(chosen_format), lambda form: _format(form, "json_object")),
        Variation(_words(schema), lambda form: _simpler_schema(form, "loose")),
        Variation(_words(chosen_format + "|schema"), lambda form: _format(form, "text")),
        Variation(
            _words(r"\bsystem\b|\broles?\b|developer|instruction|alternate"),
            lambda form: replace(form, system=False) if form.system else None,
        ),
        _drop("temperature", chosen=bool(judge.temperature)),
        _drop("seed"),
        *budget_variations(),
        *own,
    ]


def budget_variations() -> list[Variation]:
    """Return what can be asked otherwise about the output budget: its name."""
    return [Variation(_words("max_?(completion_?)?tokens"), _other_budget)]


def report_ignored(endpoint: Endpoint, form: Transport) -> None:
    """Log what the user set and a form leaves out."""
    chosen = {*endpoint.extra_body, "seed", "dimensions"}
    if isinstance(endpoint, HttpJudge):
        chosen |= {"temperature"} if endpoint.temperature else set()
        chosen |= {form.budget_name} if endpoint.max_output_tokens else set()
    if ignored := sorted(form.dropped & chosen):
        log.warning("%s at %s does not take %s; it is asked without", endpoint.model, endpoint.base_url, ", ".join(ignored))


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)


def _drop(name: str, *, words: str | None = None, chosen: bool = False) -> Variation:
    pattern = _words(words) if words else _words(rf"(?<![\w.])(?:body\.)?{re.escape(name)}(?!\w)")

    def change(form: Transport) -> Transport | None:
        return None if name in form.dropped else replace(form, dropped=form.dropped | {name})

    return Variation(pattern, change, chosen)


def _format(form: Transport, wanted: ReplyFormat) -> Transport | None:
    if FORMATS.index(wanted) <= FORMATS.index(form.reply_format):
        return None
    return replace(form, reply_format=wanted)


def _simpler_schema(form: Transport, wanted: SchemaForm) -> Transport | None:
    if form.reply_format != "json_schema" or SCHEMA_FORMS.index(wanted) <= SCHEMA_FORMS.index(form.schema):
        return None
    return replace(form, schema=wanted)


def _other_budget(form: Transport) -> Transport | None:
    if form.budget_name == "max_tokens":
        return replace(form, budget_name="max_completion_tokens")
    return None if form.budget_name in form.dropped else replace(form, dropped=form.dropped | {form.budget_name})


def may_be_about_the_form(refusal: Unanswered) -> bool:
    """Whether another form of the same request may be answered."""
    if refusal.code != "JUDGE_HTTP" or refusal.budget_too_large:
        return False
    text = _text(refusal)
    if NO_CREDIT.search(text) or refusal.error.get("param") == "model":
        return False
    if KEY.search(text) and not names_a_form(refusal):
        return False
    if MODEL.search(text) and (refusal.status == 404 or not names_a_form(refusal)):
        return False
    if refusal.status in (400, 415, 422, 501):
        return True
    return refusal.status in (200, 403, 404, 405, 500) and names_a_form(refusal)


def names_a_form(refusal: Unanswered) -> bool:
    """Whether the server's words are about the form of a request."""
    return ABOUT_THE_FORM.search(_text(refusal)) is not None


def calls_unsupported(refusal: Unanswered) -> bool:
    """Whether the server calls a part of the form unsupported, rather than its value wrong."""
    return names_a_form(refusal) and UNSUPPORTED.search(_text(refusal)) is not None


def search(
    start: Transport, refusal: Unanswered, choices: Sequence[Variation], sent: Callable[[Transport], Mapping[str, Any]]
) -> Generator[Transport, Unanswered, None]:
    """Yield the forms to try after one was refused, and be sent the refusal of each.

    What the server names is tried first. Another refusal than before means that an obstacle is gone: that form is kept, and the
    search goes on from it. Ends without an answer after MOST_FORMS forms, or if a refusal is about something else.
    `sent` returns the parameters that a form sends: what is not sent cannot be left out.
    """
    form, complaint = start, refusal
    tried = {start}
    while True:
        for candidate in _candidates(form, complaint, choices, sent):
            if candidate in tried:
                continue
            tried.add(candidate)
            answer = yield candidate
            if not may_be_about_the_form(answer) or len(tried) > MOST_FORMS:
                return
            if _wording(answer) != _wording(complaint):
                form, complaint = candidate, answer
                break
        else:
            break
    plainest = form
    for choice in choices:
        changed = None if choice.chosen else choice.change(plainest)
        if changed is not None and sent(changed) != sent(plainest):
            plainest = changed
    if plainest not in tried:
        yield plainest


def _candidates(
    form: Transport, complaint: Unanswered, choices: Sequence[Variation], sent: Callable[[Transport], Mapping[str, Any]]
) -> list[Transport]:
    text = _text(complaint)
    unsupported = UNSUPPORTED.search(text) is not None
    named: list[Transport] = []
    others: list[Transport] = []
    for choice in choices:
        candidate = choice.change(form)
        if candidate is None or sent(candidate) == sent(form):
            continue
        if choice.words.search(text) and (unsupported or not choice.chosen):
            named.append(candidate)
        elif not choice.chosen:
            others.append(candidate)
    return named + others


def _text(refusal: Unanswered) -> str:
    """The words of a refusal, the parameter that it names first."""
    error = refusal.error
    return " ".join(str(error[name]) for name in ("param", "message", "code", "type") if error.get(name)) or refusal.reason


def _wording(refusal: Unanswered) -> str:
    """The refusal without what differs from request to request: numbers and ids."""
    return re.sub(r"\w*\d\w*", "#", f"{refusal.status} {_text(refusal)}")
