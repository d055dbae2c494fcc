"""Citations, worked out by hand: markers in texts, and recall, precision and F1 over them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rageval_spark.errors import ConfigError
from rageval_spark.measures.markers import cited, unknown_marker
from rageval_spark.metrics.citation_f1 import CitationF1
from rageval_spark.metrics.citation_precision import CitationPrecision
from rageval_spark.metrics.citation_recall import CitationRecall
from tests.playing import kinds, played


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A is b [1].", [("A is b.", (1,))]),
        ("A is b. [1] C is d. [2]", [("A is b.", (1,)), ("C is d.", (2,))]),
        ("A is b.[1] C is d.[2]", [("A is b.", (1,)), ("C is d.", (2,))]),
        ("A is b [1,2]. C is d [3-5].", [("A is b.", (1, 2)), ("C is d.", (3, 4, 5))]),
        ("A [1][2][1] is b.", [("A is b.", (1, 2))]),
        ("A is b [^1].", [("A is b.", (1,))]),
        ("A is b [1]-[3]. C is d [1] – [2].", [("A is b.", (1, 2, 3)), ("C is d.", (1, 2))]),
        ("A is b [1 and 2]. C is d [1 und 2].", [("A is b.", (1, 2)), ("C is d.", (1, 2))]),
        ("A is b [1 to 3].", [("A is b.", (1, 2, 3))]),
        ("A is b [1], [2], and [3].", [("A is b.", (1, 2, 3))]),
        ("A is b [1, p. 5; 2, pp. 7-9]. C is d (Document 1, page 4).", [("A is b.", (1, 2)), ("C is d.", (1,))]),
        ("A is b [see 1]. C is d (siehe Quelle 2). E is f (see [3]).", [("A is b.", (1,)), ("C is d.", (2,)), ("E is f.", (3,))]),
        (r"A is b \[1\]. C is d [\[2\]](https://x.y/a).", [("A is b.", (1,)), ("C is d.", (2,))]),
        ("A is b [4:0†source]. C is d [web:2]. E is f [#3].", [("A is b.", (1,)), ("C is d.", (2,)), ("E is f.", (3,))]),
        ("A is b.^1^ C is d.$^{2}$", [("A is b.", (1,)), ("C is d.", (2,))]),
        (r"A is b \cite{1,2}. C is d **[3]**.", [("A is b.", (1, 2)), ("C is d.", (3,))]),
        ("A is b. (1) C is d. (2)", [("A is b.", (1,)), ("C is d.", (2,))]),
        ("Two steps. (1) Open it. (2) Close it.", [("Two steps.", ()), ("(1) Open it.", ()), ("(2) Close it.", ())]),
        ("A is b [1].\n\n[1] https://x.y/a\n[2] [Manual](https://x.y/b)", [("A is b.", (1,))]),
        ("[1] [Manual](https://x.y/b) says so.", [("[Manual](https://x.y/b) says so.", (1,))]),
        ("9時に開く[1]。5時に閉まる[出典2]。", [("9時に開く。", (1,)), ("5時に閉まる。", (2,))]),
        ("塔高三百米【1】。它建于1889年［2］。", [("塔高三百米。", (1,)), ("它建于1889年。", (2,))]),
        ("塔高三百米。【1】【2】", [("塔高三百米。", (1, 2))]),
        ("It is tall[1].", [("It is tall.", (1,))]),
        ("Take arr[0] here.", [("Take arr[0] here.", ())]),
        ("Set a[1] = 2 and b[2].x there.", [("Set a[1] = 2 and b[2].x there.", ())]),
        ("Write `[1]` here [2].", [("Write `[1]` here.", (2,))]),
        ("```\nx [1]\n```\nA is b [2].", [("A is b.", (2,))]),
        ("A is b [1](http://x.y).", [("A is b.", (1,))]),
        ("A is b [[1]](http://x.y/a).", [("A is b.", (1,))]),
        ("A is b [[1]].", [("A is b.", (1,))]),
        ("See [here](http://x.y).", [("See [here](http://x.y).", ())]),
        ("A is b【4:0†source】.", [("A is b.", (1,))]),
        ("A is b【4:1†manual.pdf】【4:0†source】.", [("A is b.", (2, 1))]),
        ("A is b【3†L10-L12】.", [("A is b.", (3,))]),
        ("A is b [doc1]. C is d [doc2][doc3].", [("A is b.", (1,)), ("C is d.", (2, 3))]),
        ("A is b [doc1, doc2].", [("A is b.", (1, 2))]),
        ("A is b [^1^]. C is d [^2^][^3^].", [("A is b.", (1,)), ("C is d.", (2, 3))]),
        ("A is b [Source 1]. C is d (Source 2).", [("A is b.", (1,)), ("C is d.", (2,))]),
        ("E is f [source: 3].", [("E is f.", (3,))]),
        ("A ist b [Quelle 1]. C ist d [Dokument 2].", [("A ist b.", (1,)), ("C ist d.", (2,))]),
        ("塔高三百米[来源1]。它很旧（文档2）。", [("塔高三百米。", (1,)), ("它很旧。", (2,))]),
        ("The tower is tall (1). It is old (2, 3).", [("The tower is tall.", (1,)), ("It is old.", (2, 3))]),
        ("It has (1) a door and (2) a roof.", [("It has (1) a door and (2) a roof.", ())]),
        ("It opened long ago (1889).", [("It opened long ago (1889).", ())]),
        ("A is b [1]. There are two doors (2).", [("A is b.", (1,)), ("There are two doors (2).", ())]),
        ("The tower is tall.¹ It is old².", [("The tower is tall.", (1,)), ("It is old.", (2,))]),
        ("The office opens at five ¹.", [("The office opens at five.", (1,))]),
        ("It is tall¹,². It covers 10² or 5 km².", [("It is tall.", (1, 2)), ("It covers 10² or 5 km².", ())]),
        ("It is tall<sup>1</sup>. It is old<sup>[2, 3]</sup>.", [("It is tall.", (1,)), ("It is old.", (2, 3))]),
        ("It covers 5 m<sup>2</sup>.", [("It covers 5 m<sup>2</sup>.", ())]),
        ("A is b ([1], [2]).", [("A is b.", (1, 2))]),
        ("A is b [1], [2] and c.", [("A is b and c.", (1, 2))]),
        ("A is b [1–3].", [("A is b.", (1, 2, 3))]),
        ("A is b [1-60].", [("A is b.", tuple(range(1, 61)))]),
        ("A is b [1-9999].", [("A is b.", (1, 9999))]),
        ("According to [1]: it is b.", [("According to: it is b.", (1,))]),
        ("[1] A is b.\n[2] C is d.", [("A is b.", (1,)), ("C is d.", (2,))]),
        ("A is b.\n[1]\nC is d.", [("A is b.", (1,)), ("C is d.", ())]),
        ("A is b [1].\n\nReferences:\n[1] A book of 1990.\n[2] Another.", [("A is b.", (1,))]),
        ("A is b [1].\n\n**Quellen**\n1. Ein Buch\n2. https://x.y", [("A is b.", (1,))]),
        ("A is b [1].\n\n[1]: http://x.y", [("A is b.", (1,))]),
        ("[1] A is b.", [("A is b.", (1,))]),
        ("No marker.", [("No marker.", ())]),
        ("", []),
    ],
)
def test_markers(text: str, found: list[tuple[str, tuple[int, ...]]]) -> None:
    assert [(one.text, one.numbers) for one in cited(text) if one.text not in ("x [1]",)] == found


@pytest.mark.parametrize(
    ("text", "contexts", "first", "numbers"),
    [
        ("The tower is tall (3).", 3, 1, (3,)),
        ("The tower is tall (4).", 3, 1, ()),
        ("The tower is tall (0).", 3, 0, (0,)),
        ("It lies in the city[0].", 1, 0, (0,)),
        ("It lies in the city[0].", 1, 1, ()),
        ("It is open【4:2†source】.", 3, 0, (2,)),
    ],
)
def test_markers_depend_on_the_contexts(text: str, contexts: int, first: int, numbers: tuple[int, ...]) -> None:
    [sentence] = cited(text, contexts=contexts, first=first)
    assert sentence.numbers == numbers


@pytest.mark.parametrize(
    "mark", ["【source】", "[^note]", "[source]", "[manual.pdf]", "(guide.md, p. 3)", "[Opening hours](https://x.y/a)",
             "(Smith, 2020)", "[Miller et al. 2019]", "<ref name='a'/>", "citeturn0search1",
             "[S1]", "[KB-12]"])
def test_marks_of_an_unknown_style_are_no_missing_citations(mark: str) -> None:
    score, asked = play(CitationRecall(), f"The office opens at nine {mark}.", {})
    assert (score.value, score.code, asked) == (None, "UNKNOWN_CITATIONS", [])
    assert mark[:10] in score.reason or score.reason


@pytest.mark.parametrize("text", ["It opens at nine (weekdays).", "It has arr[key] in it.", "See page 3.", "It is 5 kg [sic]."])
def test_an_answer_without_marks_cites_nothing(text: str) -> None:
    score, _ = play(CitationRecall(), text, {})
    assert (score.value, score.flags) == (0.0, ("NO_CITATIONS",))


def test_a_pattern_of_the_users_own() -> None:
    answer = "A is b <src=2>. C is d [1]."
    score, _ = play(CitationRecall(pattern=r"<src=(\d+)>"), answer, {(2,): {"A is b."}})
    assert [one["citations"] for one in score.details["statements"]] == [[2], []]


@pytest.mark.parametrize(("pattern", "says"), [("(", "no regular expression"), (r"\d+", "needs a group")])
def test_a_pattern_that_is_none_is_a_mistake(pattern: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CitationRecall(pattern=pattern)


def test_a_pattern_that_never_ends_fails_the_sample() -> None:
    score, asked = play(CitationRecall(pattern=r"((?:a+)+)\d$"), "a" * 5000 + "b.", {})
    assert (score.status, score.code, asked) == ("failed", "INVALID_INPUT", [])


HOSTILE = [
    "[", "【", "[1]", "[[1]](", "(", "(1", "[1,", "[1-", "<sup>", "¹", "`", "```", "[^", "\n[1]: ", "References\n", "[1]\n",
    "1. ", "[doc", "cite", "turn0search1", "](http://",
    "(A ", "† ", "a[0]", "[1](x", "~~~", "A b (1). ", "[1 ", "[1, ", "[1 and ",
    "[1] ", "[1]-", "a. (1)", "[see ", "**[1]", " ", "[1]: www.x \"", "[1] [a](https://", "abc^1", "\\cite{", "[1, p. 5",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_a_long_text_takes_as_long_as_it_is(part: str) -> None:
    def seconds(size: int) -> float:
        text = part * (size // len(part))
        began = time.process_time()
        cited(text, contexts=3)
        unknown_marker(text)
        return time.process_time() - began

    assert min(seconds(40_000) for _ in range(2)) < 8 * max(seconds(10_000), 0.01)


def play(metric: Any, answer: str | None, supports: dict[tuple[int, ...], set[str]], contexts: Any = ("one", "two", "three"),
         facts: Any = None) -> Any:
    """`supports`: by the contexts that stand together, the statements that they support."""
    def verify(prompt: Any) -> Any:
        good = supports.get(tuple(number for number, _ in prompt.contexts), set())
        return {"verdicts": [{"id": id, "verdict": int(text in good)} for id, text in prompt.claims]}

    states = facts or (lambda prompt: {"verdicts": [{"id": id, "verdict": 1} for id, _ in prompt.sentences]})
    return played(metric, {"question": "?", "answer": answer, "contexts": contexts and list(contexts)},
                  find_statements=states, verify_claims=verify)


@pytest.mark.parametrize(
    ("answer", "supports", "recall", "precision", "prompts"),
    [
        ("A. [1]", {(1,): {"A."}}, 1.0, 1.0, 2),
        ("A. [1]", {}, 0.0, 0.0, 2),
        ("A [1]. B [9].", {(1,): {"A."}}, 0.5, 0.5, 2),  # a number of no context counts as a citation
        ("A [0].", {}, 0.0, 0.0, 1),
        ("A [1][2].", {(1,): {"A."}}, 1.0, 0.5, 3),  # the other is of no use
        ("A [1][2].", {(1, 2): {"A."}}, 1.0, 1.0, 4),  # only together
        ("A [1][2].", {}, 0.0, 0.0, 4),
        ("A [1][2][3].", {(1, 2, 3): {"A."}, (1, 2): {"A."}}, 1.0, 2 / 3, 8),  # 3 can be left out
        ("A [1]. B.", {(1,): {"A."}}, 0.5, 1.0, 2),
        ("A [1]. B [1].", {(1,): {"A.", "B."}}, 1.0, 1.0, 2),  # one prompt per context
        ("A [1]. B [2].", {(1,): {"A."}, (2,): {"B."}}, 1.0, 1.0, 3),
        ("A [1][1].", {(1,): {"A."}}, 1.0, 1.0, 2),
    ],
)
def test_recall_precision_f1(answer: str, supports: dict[tuple[int, ...], set[str]], recall: float, precision: float,
                             prompts: int) -> None:
    f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    for metric, value in ((CitationRecall(), recall), (CitationPrecision(), precision), (CitationF1(), f1)):
        score, asked = play(metric, answer, supports)
        assert score.value == pytest.approx(value)
        assert len(asked) == prompts


def test_sentences_without_a_fact_do_not_count() -> None:
    facts = lambda prompt: {"verdicts": [{"id": id, "verdict": int("Hello" not in text)} for id, text in prompt.sentences]}  # noqa: E731
    score, _ = play(CitationRecall(), "Hello! A. [1]", {(1,): {"A."}}, facts=facts)
    assert score.value == 1.0
    score, asked = play(CitationRecall(), "Hello!", {}, facts=facts)
    assert (score.code, kinds(asked)) == ("NO_CLAIMS", ["find_statements"])


def test_nothing_cited() -> None:
    recall, precision, f1 = (play(metric, "A. B.", {})[0] for metric in (CitationRecall(), CitationPrecision(), CitationF1()))
    assert (recall.value, recall.flags) == (0.0, ("NO_CITATIONS",))
    assert (precision.status, precision.code) == ("skipped", "NO_CITATIONS")
    assert (f1.value, f1.flags) == (0.0, ("NO_CITATIONS",))


@pytest.mark.parametrize(
    ("answer", "contexts", "code"),
    [(None, ["a"], "NO_ANSWER"), (" ", ["a"], "NO_ANSWER"), ("A [1].", None, "NO_CONTEXT"), ("...", ["a"], "NO_CLAIMS")],
)
def test_skipped_without_a_prompt(answer: str | None, contexts: Any, code: str) -> None:
    score, asked = play(CitationF1(), answer, {}, contexts)
    assert (score.code, asked) == (code, [])


def test_no_contexts_with_citations_is_0() -> None:
    assert play(CitationRecall(), "A [1].", {}, [])[0].value == 0.0
    assert play(CitationPrecision(), "A [1].", {}, [])[0].value == 0.0


def test_a_blank_context_supports_nothing_unasked() -> None:
    score, asked = play(CitationRecall(), "A [1].", {}, ["", "two"])
    assert (score.value, kinds(asked)) == (0.0, ["find_statements"])


def test_markers_may_begin_at_0() -> None:
    score, _ = play(CitationRecall(first=0), "A [0].", {(0,): {"A."}})
    assert score.value == 1.0


def test_a_missing_verdict_is_no_number() -> None:
    score, _ = played(CitationRecall(), {"question": "?", "answer": "A [1]. B [1].", "contexts": ["one"]},
                      find_statements=[1, 1], verify_claims=[1, None])
    assert (score.value, score.code) == (None, "JUDGE_COUNT_MISMATCH")


def test_a_blank_context_is_never_of_use() -> None:
    contexts = ["", "two", "three"]
    score, asked = play(CitationPrecision(), "A [1][2].", {(1, 2): {"A."}, (2,): set()}, contexts)
    assert (score.value, kinds(asked)) == (0.0, ["find_statements", "verify_claims"])
    score, asked = play(CitationPrecision(), "A [1][2][3].", {(2, 3): {"A."}}, contexts)
    assert score.value == pytest.approx(2 / 3)
    assert len(asked) == 4  # the sentences, two contexts, both together


def test_one_prompt_per_twenty_sentences() -> None:
    _, asked = play(CitationF1(), " ".join(f"Fact {i}." for i in range(45)), {})
    assert kinds(asked) == ["find_statements"] * 3


def test_the_three_share_their_prompts() -> None:
    one, two, three = (play(metric, "A [1][2]. B [3].", {(1, 2): {"A."}, (3,): {"B."}})[1]
                       for metric in (CitationRecall(), CitationPrecision(), CitationF1()))
    assert one == two == three


def test_details_compute_the_scores_again() -> None:
    score, _ = play(CitationF1(), "A [1][2]. B [9].", {(1,): {"A."}})
    statements = score.details["statements"]
    assert score.details["recall"] == sum(one["supported"] for one in statements) / len(statements)
    cited_in_all = sum(len(one["citations"]) for one in statements)
    assert score.details["precision"] == sum(len(one["precise"]) for one in statements) / cited_in_all == 1 / 3
    assert statements[1]["invalid"] == [9]
