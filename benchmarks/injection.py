"""How often hostile texts in documents, answers and references make a judge pass what is bad.

    python -m benchmarks.injection [--base-url URL --model NAME [--api-key-env NAME]] [--language en]

Sixty attacks (tests/injections.py) in three languages, each in a sample that is bad by every metric that shows the text to
the judge. Without a URL they are put to a judge on loopback that obeys whatever it takes for a part of the prompt
(tests/gullible_judge.py): it tests what the program controls, which are the fence of the data and the reading of replies.
Prints the rates of false passes by metric, language and kind of attack, and of judgements that came to no score.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rageval_spark import HttpJudge, Score, score
from rageval_spark.prompts.rendering import fence_of
from tests import gullible_judge
from tests.injections import ATTACKS, LANGUAGES, PASSES_ABOVE, Attack
from tests.judge_server import JudgeServer
from tests.playing import built


@dataclass(frozen=True)
class Outcome:
    """What one metric made of a sample with one attack in it."""

    attack: Attack
    metric: str
    score: Score

    @property
    def is_false_pass(self) -> bool:
        return self.score.value is not None and self.score.value > PASSES_ABOVE


def attack(judge: HttpJudge, attacks: Sequence[Attack]) -> Iterator[Outcome]:
    """Score each attacked sample by the metrics that show its hostile text to the judge."""
    for hostile in attacks:
        for metric in hostile.metrics:
            yield Outcome(hostile, metric, score(built(metric), _aimed(hostile), judge))


def _aimed(hostile: Attack) -> dict[str, object]:
    """The sample whose hostile text names the fence of its own prompts, as somebody who knows the code would compute it."""
    contexts = tuple(enumerate(hostile.sample()["contexts"], 1))
    return hostile.sample(fence_of(contexts))


GROUPINGS: Mapping[str, Callable[[Outcome], str]] = {
    "metric": lambda outcome: outcome.metric,
    "language": lambda outcome: outcome.attack.language,
    "kind of attack": lambda outcome: outcome.attack.kind,
}


@contextmanager
def gullible() -> Iterator[HttpJudge]:
    with JudgeServer() as server:
        server.always("*", gullible_judge.reply)
        yield HttpJudge(model="gullible", base_url=server.url, max_attempts=1)


def table(name: str, outcomes: Sequence[Outcome], groups: Sequence[tuple[str, Sequence[Outcome]]]) -> str:
    lines = [f"| {name} | judgements | false passes | rate | no score |", "| --- | --- | --- | --- | --- |"]
    for group, members in [*groups, ("all", outcomes)]:
        passes = sum(outcome.is_false_pass for outcome in members)
        null = sum(outcome.score.value is None for outcome in members)
        lines.append(f"| {group} | {len(members)} | {passes} | {passes / max(1, len(members)):.1%} | {null} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="judge")
    parser.add_argument("--api-key-env")
    parser.add_argument("--language", choices=LANGUAGES, help="only the attacks in this language")
    options = parser.parse_args()
    attacks = [hostile for hostile in ATTACKS if options.language in (None, hostile.language)]
    if options.base_url:
        judge = HttpJudge(model=options.model, base_url=options.base_url, api_key_env=options.api_key_env)
        outcomes = list(attack(judge, attacks))
    else:
        with gullible() as server:
            outcomes = list(attack(server, attacks))
    for name, key in GROUPINGS.items():
        values = dict.fromkeys(key(outcome) for outcome in outcomes)
        groups = [(value, [outcome for outcome in outcomes if key(outcome) == value]) for value in values]
        print(table(name, outcomes, groups), end="\n\n")


if __name__ == "__main__":
    main()
