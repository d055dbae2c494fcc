"""Flows run side by side: their next prompts are asked together, so that batch mode needs no more rounds than the longest."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rageval_spark.errors import JudgeFault
from rageval_spark.score import Skip


def ask_together(*flows: Generator[Any, Any, Any]) -> Generator[list[Any], list[Any], list[Any]]:
    """Run flows side by side, and return their results in order. Each flow is sent the same answers as alone.

    Raises the JudgeFault or Skip of the first flow, in the order given, that ends with one: the outcome is the same as if the
    flows ran one after the other, even if a later one fails earlier.
    """
    outcomes: dict[int, Any] = {}
    open_prompts: dict[int, Any] = {}

    def advance(index: int, answer: Any) -> None:
        flow = flows[index]
        try:
            open_prompts[index] = flow.throw(answer) if isinstance(answer, JudgeFault) else flow.send(answer)
        except StopIteration as end:
            outcomes[index] = end.value
        except (JudgeFault, Skip) as error:
            outcomes[index] = error

    try:
        for index in range(len(flows)):
            advance(index, None)
        while True:
            for index in range(len(flows)):
                if index in open_prompts:
                    break  # still running: its outcome counts before those of the flows behind it
                if isinstance(outcomes[index], (JudgeFault, Skip)):
                    raise outcomes[index]
            if not open_prompts:
                return [outcomes[index] for index in range(len(flows))]
            asked, open_prompts = open_prompts, {}
            sizes = {index: len(prompts) if isinstance(prompts, list) else None for index, prompts in asked.items()}
            flat = [prompt for prompts in asked.values() for prompt in (prompts if isinstance(prompts, list) else [prompts])]
            answers = iter((yield flat))
            for index, size in sizes.items():
                advance(index, next(answers) if size is None else [next(answers) for _ in range(size)])
    finally:
        for flow in flows:
            flow.close()


def ask(prompts: list[Any]) -> Generator[list[Any], list[Any], list[Any]]:
    """A flow of one step: ask these prompts, and return the answers and faults."""
    return (yield prompts)
