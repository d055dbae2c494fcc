"""What a metric is, and the loop that drives one."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from rageval_spark.errors import JudgeFault, SampleFault
from rageval_spark.sample import Sample
from rageval_spark.score import Score, Skip, Usage
from rageval_spark.votes import elected

Layer = Literal["retrieval", "generation", "end_to_end", "agent"]


class Question(Protocol):
    """What play() needs of a prompt: to be divided where it is too long, its parts' answers joined, for a further
    vote to be asked independently of the first, and to be repeated."""

    def divide(self, token_limit: int) -> Sequence[Question]: ...

    def join(self, parts: Sequence[Any], answers: Sequence[Any]) -> Any: ...

    def for_vote(self, vote: int) -> Question: ...

    def repeated(self, draw: int) -> Question: ...


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
    reads_too: ClassVar[tuple[str, ...]] = ()
    """Fields that it takes where the data has them, and does without."""
    instead: ClassVar[Mapping[str, str]] = {}
    """By a field that it reads, another that does in its place."""
    asks: ClassVar[tuple[str, ...]] = ()
    layer: ClassVar[Layer] = "generation"
    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    binary: ClassVar[bool] = False
    """True where every score is 0 or 1: its interval is Wilson's."""
    default_threshold: ClassVar[float | None] = 0.5
    """The score, in [0, 1], from which on a sample passes (up to which, if lower is better) unless a config gives another; None
    if a score alone says neither good nor bad, as of a metric that a flawless system cannot bring to 1."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Names under which other tools have the same measure; a config may use them."""
    several: ClassVar[tuple[str, ...]] = ()
    """The parameters for which a config may give a list: the metric is then taken once with each."""
    measured: ClassVar[tuple[str, ...]] = ()
    """The names that its scores' `measures` may have."""
    extremes: ClassVar[tuple[str, ...]] = ()
    """Those of `measured` whose least and greatest value `extra` is told too, as "least NAME" and "greatest NAME"."""

    def takes(self) -> tuple[str, ...]:
        """All fields of a sample that it looks at."""
        return (*self.reads, *self.instead.values(), *self.reads_too)

    def lacking(self, fields: Container[str]) -> list[str]:
        """What it reads that is not among these fields, nor is another in its place."""
        return [name for name in self.reads if name not in fields and self.instead.get(name) not in fields]

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


def play(metric: Metric, sample: Sample, token_limit: int | None = 100_000, votes: int = 1, repeat: int = 0) -> Game:
    """Drive one metric over one sample; the one place where its errors become a score.

    Prompts over `token_limit` are divided and their answers joined here, so that no metric knows of the limit; None
    divides nothing. With several `votes` it is played so often with independent replies, all at once, and the score is
    the one that they elect. The first vote asks what a game without votes does. `repeat`, a number, has every prompt that
    decides something asked anew, with a reply that no other number shares.
    """
    games = [_vote(metric, sample, token_limit, number, repeat) for number in range(votes)]
    return games[0] if votes == 1 else _elected(games, metric.binary)


def _elected(games: Sequence[Game], binary: bool) -> Game:
    scores = yield from _in_step(games)
    return elected(scores, binary)


def _in_step(games: Sequence[Game]) -> Generator[list[Any], Sequence[Reply | JudgeFault], list[Score]]:
    """Play games side by side: what all of them ask next is asked together."""
    asked: dict[int, list[Any]] = {}
    scores: dict[int, Score] = {}

    def move(place: int, replies: Sequence[Reply | JudgeFault] | None) -> None:
        try:
            asked[place] = games[place].send(replies) if replies is not None else next(games[place])
        except StopIteration as end:
            asked.pop(place, None)
            scores[place] = end.value

    try:
        for place in range(len(games)):
            move(place, None)
        while asked:
            replies = iter((yield [prompt for prompts in asked.values() for prompt in prompts]))
            for place, mine in [(place, [next(replies) for _ in prompts]) for place, prompts in asked.items()]:
                move(place, mine)
        return [scores[place] for place in range(len(games))]
    finally:
        for game in games:
            game.close()


def _vote(metric: Metric, sample: Sample, token_limit: int | None, number: int, repeat: int) -> Game:
    spent, flags, judges = Usage(), dict[str, None](), dict[str, None]()
    flow: Flow | None = None
    try:
        sample.check(metric.takes())  # before anything is asked and paid for
        begun = metric.score(sample)
        flow = _nothing_asked(begun) if isinstance(begun, Score) else begun
        asked = next(flow)
        while True:
            prompts = asked if isinstance(asked, list) else [asked]
            prompts = [prompt.for_vote(number) for prompt in prompts] if number else prompts
            prompts = [prompt.repeated(repeat) for prompt in prompts] if repeat else prompts
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
    except SampleFault as fault:
        score = Score.failed(fault.code, str(fault))
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
