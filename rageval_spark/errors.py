"""Everything that can go wrong, as one tree.

RagevalError                      shown to the user without a traceback
├── ConfigError                   the config, the command line or an argument is wrong        exit 2
├── InputError                    the dataset cannot be read or lacks a column                exit 2
├── JudgeRefused                  key, model, URL or format is wrong: no prompt can succeed   exit 2
├── StoreError                    the replies store cannot be used                            exit 2
├── ScoringFailed                 the scoring pass broke off; every reply is kept             exit 3
├── PublishingFailed              the run is complete, but a table of the catalog was not written   exit 3
├── Pending                       replies are waited for; the same command goes on   exit 3, with --no-wait 0
└── Interrupted                   stopped by the user; every reply is kept                    exit 130
SampleFault                       one sample cannot be read: a code such as INVALID_INPUT, a row like any other
JudgeFault                        one prompt was not answered usably: a code, never a number
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval_spark.score import Usage


class RagevalError(Exception):
    """A mistake or condition that the user can mend; its text says what was found and what is possible."""

    exit_code = 2


class ConfigError(RagevalError):
    """The config, the command line or an argument is wrong."""


class InputError(RagevalError):
    """The dataset cannot be read, or lacks what the metrics need."""


class JudgeRefused(RagevalError):
    """The judge refuses every prompt alike: wrong key, model, URL or reply format."""


class StoreError(RagevalError):
    """The replies store cannot be read or written."""


class ScoringFailed(RagevalError):
    """The scoring pass broke off; every reply that had come is stored."""

    exit_code = 3


class PublishingFailed(RagevalError):
    """A run is complete, but could not be written to where else it was wanted; the same command does that."""

    exit_code = 3


class Pending(RagevalError):
    """Replies are still to come; the same command goes on.

    The exit code is that of a run that did not come to its end, so that no scheduler takes it for gates that are met;
    `rageval run --no-wait` asks for 0.
    """

    exit_code = 3


class Interrupted(RagevalError):
    """The run was stopped on request; every reply that had come is stored."""

    exit_code = 130


class SampleFault(Exception):
    """One sample is malformed; the text names the field, what was found and what is expected.

    `code` is INVALID_INPUT, INVALID_ID or INVALID_SCORE.
    """

    def __init__(self, reason: str, code: str = "INVALID_INPUT"):
        super().__init__(reason)
        self.code = code


class JudgeFault(Exception):
    """One prompt got no usable reply.

    `code` is one of `score.FAILED`; `partial` holds the accepted items by id where only some are missing;
    `usage` is what the attempts cost all the same.
    """

    def __init__(self, code: str, reason: str, *, partial: Mapping[int, Any] | None = None, usage: Usage | None = None):
        super().__init__(code, reason)
        self.code = code
        self.reason = reason
        self.partial = dict(partial or {})
        self.usage = usage

    def __reduce__(self) -> tuple[Any, ...]:
        return _judge_fault, (self.code, self.reason, self.partial, self.usage)


def _judge_fault(code: str, reason: str, partial: dict[int, Any], usage: Usage | None) -> JudgeFault:
    return JudgeFault(code, reason, partial=partial, usage=usage)
