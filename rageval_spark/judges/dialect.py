"""The form of requests that a server accepts, found by trying: a refused request is sent in other forms until one is answered."""

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
    """The form in which one server is asked: reply format, parameters left out or renamed, messages, trusted certificates.

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
        """Describe the form in words: its reply format, and how else it differs from the default."""
        parts = [f"reply format {self.reply_format}"]
        if self.reply_format == "json_schema" and self.schema != "strict":
            parts.append("a simpler schema")
        if not self.system:
            parts.append("no system message")
        parts += [f"without {name}" for name in sorted(self.dropped)]
        return ", ".join(parts)


@dataclass(frozen=True)
class Variation:
    """One change to the form of a request.

    `words` match a server's words for the part that changes. `change` returns the changed form, or None if nothing is left to
    change. `chosen`: the user set this part, so that it changes only if the server names it and calls it unsupported.
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
    """Return the changes that may be made to requests to an endpoint, in the order in which they are tried."""
    own = [_drop(name, chosen=True) for name in endpoint.extra_body]
    if not isinstance(endpoint, HttpJudge):
        return [
            Variation(_words("encoding|base64"), lambda form: replace(form, encoding=None) if form.encoding else None),
            _drop("dimensions", words="dimension|matryoshka"),
            *own,
        ]
    schema = r"\benums?\b|schema|additional_?properties|\bstrict\b|invalid json payload"
    reply_format = r"response_?format|json_?schema|json_?object|json mode|structured|grammar|guided"
    return [
        Variation(_words(r"\benums?\b|type.{0,3}string"), lambda form: _simpler_schema(form, "string_enums")),
        Variation(_words(reply_format), lambda form: _format(form, "json_object")),
        Variation(_words(schema), lambda form: _simpler_schema(form, "loose")),
        Variation(_words(reply_format + "|schema"), lambda form: _format(form, "text")),
        Variation(
            _words(r"\bsystem\b|\broles?\b|developer|instruction|alternate"),
            lambda form: replace(form, system=False) if form.system else None,
        ),
        _drop("temperature", chosen=bool(endpoint.temperature)),
        _drop("seed"),
        *budget_variations(),
        *own,
    ]


def budget_variations() -> list[Variation]:
    """Return the changes for a request that is refused with an enlarged output budget: only its name may be the cause."""
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
    """Return whether the same request in another form may be answered."""
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
    """Return whether the server's words are about the form of a request."""
    return ABOUT_THE_FORM.search(_text(refusal)) is not None


def calls_unsupported(refusal: Unanswered) -> bool:
    """Return whether the server calls a part of the form unsupported, rather than its value wrong."""
    return names_a_form(refusal) and UNSUPPORTED.search(_text(refusal)) is not None


def search(
    start: Transport, refusal: Unanswered, choices: Sequence[Variation], sent: Callable[[Transport], Mapping[str, Any]]
) -> Generator[Transport, Unanswered, None]:
    """Yield the forms to try after one was refused, and be sent the refusal of each.

    Parts that the server names are changed first. If a form is refused in other words, the change removed one cause: the search
    goes on from that form. It ends after MOST_FORMS forms, or at a refusal that is not about the form. The last form tried has
    all changes at once, except those to parts that the user chose.

    `sent` returns what a form sends: changes that make no difference to it are left out.
    """
    form, reason = start, refusal
    tried = {start}
    while True:
        for candidate in _candidates(form, reason, choices, sent):
            if candidate in tried:
                continue
            tried.add(candidate)
            answer = yield candidate
            if not may_be_about_the_form(answer) or len(tried) > MOST_FORMS:
                return
            if _wording(answer) != _wording(reason):
                form, reason = candidate, answer
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
    form: Transport, refusal: Unanswered, choices: Sequence[Variation], sent: Callable[[Transport], Mapping[str, Any]]
) -> list[Transport]:
    """Return the forms that one change makes of a form: first those that change a part which the server names."""
    text = _text(refusal)
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
    """Return the words of a refusal, beginning with the parameter that it names."""
    error = refusal.error
    return " ".join(str(error[name]) for name in ("param", "message", "code", "type") if error.get(name)) or refusal.reason


def _wording(refusal: Unanswered) -> str:
    """Return a refusal without its numbers and ids, which differ from request to request."""
    return re.sub(r"\w*\d\w*", "#", f"{refusal.status} {_text(refusal)}")
