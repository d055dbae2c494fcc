"""The marks that models put around their thinking, and those with which their answer begins."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Marks:
    """How one family of models marks its thinking, as regular expressions.

    `answers` begins the answer and ends all thinking before it. With `often_unopened`, servers or templates swallow the
    opening mark, so that a closing one alone makes thinking of all that is before it.
    """

    opens: str
    closes: str
    answers: str = ""
    often_unopened: bool = True


_THOUGHT = "(?:think(?:ing)?|thoughts?|reasoning)(?:_?(?:process|steps|content|trace))?"
_TAGS = (
    rf"(?:\w{{1,20}}:)?(?:{_THOUGHT}|ant_?thinking|reflection|scratch_?pad|analysis|rationale|draft|deliberation|cot"
    "|chain_?of_?thoughts?|(?:inner|internal)_?(?:monologue|thoughts?))"
)
FAMILIES = (
    # DeepSeek, Qwen, GLM, Phi, EXAONE, Seed-OSS, MiniMax, and prompts that ask for such tags
    Marks(rf"(?i:<{_TAGS}(?:\s[^<>]{{0,200}})?>)", rf"(?i:</{_TAGS}\s*>)"),
    # the same names in tokens
    Marks(rf"(?i:<\|{_TAGS}\|>)", rf"(?i:<\|/{_TAGS}\|>)"),
    # Mistral's Magistral
    Marks(rf"(?i:\[{_THOUGHT}\])", rf"(?i:\[/{_THOUGHT}\])"),
    # Open WebUI, and prompts that ask for such blocks
    Marks(r"""<details\s[^<>]{0,200}\btype=["']reasoning["'][^<>]{0,200}>""", "</details>", often_unopened=False),
    Marks(rf"(?i:```{_THOUGHT}\b)", "```", often_unopened=False),
    # gpt-oss in OpenAI's Harmony format. Its closing tokens end answers as well
    Marks(
        r"<\|channel\|>\s*(?:analysis|commentary)\b",
        r"<\|(?:end|start|call)\|>|(?=<\|channel\|>)",
        r"<\|channel\|>\s*final\b",
        often_unopened=False,
    ),
    # gpt-oss behind servers that drop the tokens and keep the names of roles and channels
    Marks(
        r"""\A\s*(?:assistant)?(?:analysis|commentary)(?=[\sA-Z"({\[])|assistant(?:analysis|commentary)(?=[\sA-Z"({\[])""",
        r"(?=assistantfinal)",
        r"""assistantfinal|\A\s*final(?=\s*[{`])""",
        often_unopened=False,
    ),
    # Google's Gemma 4
    Marks(r"<\|channel>\s*thought\b", r"<channel\|>"),
    # Cohere's Command A Reasoning
    Marks(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", r"<\|START_RESPONSE\|>"),
    # Google's MedGemma
    Marks("<unused94>", "<unused95>"),
    # OpenThinker, and models distilled from the same data
    Marks(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", r"<\|begin_of_solution\|>"),
    # Moonshot's Kimi
    Marks("◁think▷", "◁/think▷"),
    # IBM's Granite 3
    Marks("Here is my thought process:", "Here is my response:", often_unopened=False),
    # ServiceNow's Apriel
    Marks("Here are my reasoning steps:", r"(?=\[BEGIN FINAL RESPONSE\])", r"\[BEGIN FINAL RESPONSE\]", often_unopened=False),
)
CLOSES = tuple(re.compile(marks.closes) for marks in FAMILIES)

_answers = "|".join(marks.answers for marks in FAMILIES if marks.answers)
_unopened = "|".join(marks.closes for marks in FAMILIES if marks.often_unopened)
_opens = "|".join(f"(?P<opens_{index}>{marks.opens})" for index, marks in enumerate(FAMILIES))
_object = r"""\{(?=\s*(?:["'“”„‘}/#]|[A-Za-z_$][\w$]*\s*:))"""
_LANDMARK = re.compile(f"(?P<object>{_object})|(?P<answers>{_answers})|(?P<closes>{_unopened})|{_opens}")
_CANDIDATE = re.compile(r"\{|<|\[|◁|```|assistant|Here ")
"""With what landmarks begin, except at the very beginning of a reply. Looking for this first is five times as fast."""
ENDS = re.compile(f"{_answers}|{_unopened}")
"""Marks that end thinking wherever they stand."""


def next_landmark(text: str, position: int) -> re.Match[str] | None:
    """Find the next mark of one of the families, or the beginning of what may be an object."""
    if position == 0 and (landmark := _LANDMARK.match(text)):
        return landmark
    while candidate := _CANDIDATE.search(text, position):
        if landmark := _LANDMARK.match(text, candidate.start()):
            return landmark
        position = candidate.end()
    return None
