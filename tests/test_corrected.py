"""The corrected average: the formulas once more in plain numpy, coverage in simulation, and its ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage_corrected import main, populations, tried
from rageval_spark.statistics.agreement import Numbers
from rageval_spark.statistics.corrected import Sums, corrected
from rageval_spark.statistics.intervals import interval

RANDOM = np.random.default_rng(5)


def sums(scores: Numbers) -> Sums:
    return Sums(len(scores), float(scores.mean()), float(scores.var()))


def test_it_is_the_estimate_of_the_paper() -> None:
    """PPI++ for a mean: the weight from covariance and pooled variance, over the raw scores of all."""
    scores = RANDOM.beta(4, 2, 500)
    labels = np.clip(scores[:60] + RANDOM.normal(0, 0.2, 60), 0, 1)
    weight = np.cov(labels, scores[:60])[0, 1] / ((1 + 60 / 440) * scores.var(ddof=1))
    average = labels.mean() + weight * (scores[60:].mean() - scores[:60].mean())
    error = np.sqrt(weight**2 * scores[60:].var() / 440 + np.var(labels - weight * scores[:60], ddof=1) / 60)
    found = corrected(labels, scores[:60], sums(scores[60:]))
    assert 0 < found.weight < 1
    half = stats.t.ppf(0.975, 58) * error
    ends = [average - half, average + half]
    assert [found.weight, found.average, found.low, found.high] == pytest.approx([weight, average, *ends])


def test_the_others_are_the_run_without_the_labelled() -> None:
    scores = RANDOM.random(50)
    rest, direct = sums(scores).without(scores[:20]), sums(scores[20:])
    assert [rest.count, rest.mean, rest.variance] == pytest.approx([30, direct.mean, direct.variance])
    assert sums(scores).without(scores) == Sums(0, 0.0, 0.0)


@pytest.mark.parametrize("scores", [np.full(40, 0.7), RANDOM.random(40) * 0 + np.tile([0.0, 1.0], 20)])
def test_worthless_scores_leave_the_labels(scores: Numbers) -> None:
    labels = np.repeat([1.0, 0.0], 20)
    found = corrected(labels, scores, Sums(1000, 0.9, 0.1))
    assert found.weight == 0
    assert (found.average, found.low, found.high) == (0.5, *interval(0.5, 0.5, 40, binary=True))


@pytest.mark.parametrize("labels", [[1.0], [1.0] * 5, [1.0] * 40, [0.0] * 40])
def test_labels_that_all_say_the_same_are_no_certainty(labels: list[float]) -> None:
    found = corrected(np.array(labels), np.linspace(0, 1, len(labels)), Sums(100, 0.5, 0.1))
    assert found.average == labels[0]
    if len(labels) == 1:
        assert found.low is None
    else:
        assert found.low is not None
        assert found.high is not None
        assert found.high - found.low > 0.05


def test_scores_that_are_right_on_all_labelled_are_no_certainty() -> None:
    labels = np.repeat([1.0, 0.0], 15)
    found = corrected(labels, labels, Sums(10_000, 0.6, 0.24))
    assert found.average == pytest.approx(0.6, abs=0.01)
    assert found.low is not None
    assert found.high is not None
    assert 0.05 < found.high - found.low < 0.2


@pytest.mark.parametrize("kind", ["0/1, scores 0/1, 90% right", "grades, scores with Spearman 0.70"])
def test_the_interval_covers(kind: str) -> None:
    covers, _, width = tried(populations()[kind][0], 100, 1000, 400, np.random.default_rng(2))
    assert 0.92 < covers < 0.985
    assert width < 0.85


def test_the_benchmark_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--trials", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 6 * 3
    assert len({line.count("|") for line in lines}) == 1
