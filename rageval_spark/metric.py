"""What a metric is, and the loop that drives one."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from rageval_spark.errors import JudgeFault
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Skip, Usage

Layer = Literal["retrieval", "generation", "end_to_end", "agent"]


class Question(Protocol):
    """What play() needs of a prompt: to be divided where it is too long, and its parts' answers joined."""

    def divide(self, token_limit: int) -> Sequence[Question]: ...

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> Any: ...


Flow = Generator[Any, Any, Score]
"""A metric at work: yields a prompt, or a list of prompts to be asked at once; is sent what the judge answered.

For one prompt it is sent the reply's value, or a JudgeFault is raised at the yield. For a list it is sent a list in
the same order, in which a JudgeFault may stand in place of a value.
"""


@dataclass(frozen=True)
class Reply:
    """The judge's answer to one prompt: the accepted value, what it took, who gave it, and flags for the score."""

    value: Any
    usage: Usage = Usage()
    judge: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """Turns one sample into one score, and does no I/O: it yields prompts and is sent the replies.

    A subclass is a frozen dataclass whose fields are its parameters. It gives `name`, the sample fields it `reads`,
    the kinds of prompt it `asks` ("embed" for embeddings; empty: no judge), `layer`, `direction`, and `score`.
    """

    name: ClassVar[str]
    reads: ClassVar[tuple[str, ...]]
    asks: ClassVar[tuple[str, ...]] = ()
    layer: ClassVar[Layer] = "generation"
    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    binary: ClassVar[bool] = False
    """True where every score is 0 or 1: its interval is Wilson's."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Names under which other tools have the same measure; a config may use them."""
    several: ClassVar[tuple[str, ...]] = ()
    """The parameters for which a config may give a list: the metric is then taken once with each."""
    measured: ClassVar[tuple[str, ...]] = ()
    """The names that its scores' `measures` may have."""
    may_read: ClassVar[tuple[str, ...]] = ()
    """The sample fields that it takes where the data has them, and does without where it has not."""

    @property
    def suffix(self) -> str:
        """What tells it from the same metric with other parameters in the tables, such as "@5"."""
        return ""

    def score(self, sample: Sample) -> Flow | Score:
        """The score itself where nothing needs to be asked, or a generator. May raise Skip or JudgeFault."""
        raise NotImplementedError

    def extra(self, measures: Mapping[str, float]) -> Mapping[str, float]:
        """What the sums of `measures` over samples say that an average of scores cannot, for `stats.extra`."""
        return {}


Game = Generator[list[Any], Sequence[Reply | JudgeFault], Score]
"""A metric being played: yields prompts to answer now, is sent a Reply or a JudgeFault for each."""


def play(metric: Metric, sample: Sample, token_limit: int | None = 100_000) -> Game:
    """Drive one metric over one sample; the one place where its errors become a score.

    Prompts over `token_limit` are divided and their answers joined here, so that no metric knows of the limit; None
    divides nothing.
    """
    spent, flags, judges = Usage(), dict[str, None](), dict[str, None]()
    flow: Flow | None = None
    try:
        begun = metric.score(sample)
        flow = _nothing_asked(begun) if isinstance(begun, Score) else begun
        asked = next(flow)
        while True:
            prompts = asked if isinstance(asked, list) else [asked]
            parts = [(prompt,) if token_limit is None else prompt.divide(token_limit) for prompt in prompts]
            replies = iter((yield [part for divided in parts for part in divided]))
            answers = []
            for prompt, divided in zip(prompts, parts, strict=True):
                mine = [next(replies) for _ in divided]
                for reply in mine:
                    spent += reply.usage or Usage()
                    if isinstance(reply, Reply):
                        flags.update(dict.fromkeys(reply.flags))
                        judges.update({reply.judge: None} if reply.judge else {})
                if any(part.context_split for part in divided):
                    flags["CONTEXT_SPLIT"] = None
                answers.append(_joined(prompt, divided, mine))
            if isinstance(asked, list):
                asked = flow.send(answers)
            elif isinstance(answers[0], JudgeFault):
                asked = flow.throw(answers[0])
            else:
                asked = flow.send(answers[0])
    except StopIteration as end:
        score = end.value if isinstance(end.value, Score) else Score.failed("METRIC_ERROR", "the metric gave no score")
    except Skip as skip:
        score = skip.score
    except JudgeFault as fault:
        score = Score.failed(fault.code, fault.reason)
    except Exception as error:
        score = Score.failed("METRIC_ERROR", _where(error))
    finally:
        if flow is not None:
            flow.close()
    return replace(_written(score), flags=tuple(dict.fromkeys((*score.flags, *flags))), usage=spent,
                   judge=", ".join(judges) or None)


def _nothing_asked(score: Score) -> Flow:
    return score
    yield


def played(game: Game, reply: Callable[[Any], Reply | JudgeFault | None]) -> Score | None:
    """The score of a game whose prompts are answered at once; None as soon as one of those asked together is not."""
    try:
        prompts = next(game)
        while True:
            replies = [reply(prompt) for prompt in prompts]
            found = [one for one in replies if one is not None]
            if len(found) < len(replies):
                return None
            prompts = game.send(found)
    except StopIteration as end:
        score: Score = end.value
        return score
    finally:
        game.close()


def _written(score: Score) -> Score:
    """The score, or why its details cannot be written: files hold plain JSON, without NaN."""
    try:
        json.dumps([dict(score.details), dict(score.measures)], allow_nan=False)
    except (TypeError, ValueError) as error:
        return Score.failed("METRIC_ERROR", f"its details or measures are no plain JSON: {error}")
    return score


def _joined(prompt: Question, parts: Sequence[Question], replies: Sequence[Reply | JudgeFault]) -> Any:
    answers = [reply.value if isinstance(reply, Reply) else reply for reply in replies]
    if len(answers) == 1:
        return answers[0]
    try:
        return prompt.join(parts, answers)
    except JudgeFault as fault:
        return fault


def _where(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
