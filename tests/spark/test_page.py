"""The page of a run in a browser: it loads nothing, does nothing that texts say, can be read on a phone and on paper."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_spark.config import load
from rageval_spark.report.page.days import page as page_of_days
from rageval_spark.run import Run, run
from tests.judge_server import JudgeServer
from tests.spark.test_report import ROOT, hostile, scored

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pyspark.sql import SparkSession

QUICKSTART = ROOT / "rageval_spark" / "quickstart"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of the machine, or the one that playwright installed."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with sync.sync_playwright() as play:
        names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
        path = next(filter(None, map(shutil.which, names)), play.chromium.executable_path)
        if not Path(path).exists():
            pytest.skip("no Chromium is installed: apt-get install chromium, or .venv/bin/playwright install chromium")
        opened = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def quick(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run of the quickstart."""
    output = tmp_path_factory.mktemp("quick")
    return run(load(QUICKSTART / "config.yaml", [f"input.path={QUICKSTART}/samples.jsonl", f"output.path={output}"]))


@pytest.fixture(scope="module")
def harmful(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return scored(tmp_path_factory.mktemp("harm ful"), hostile(12))


class Opened:
    """A page in a browser, and all that it logged or asked for."""

    def __init__(self, browser: Browser, of: Run | Path, width: int = 1280, **options: Any):
        self.page: Page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.said.append(request.url))
        self.page.goto((of if isinstance(of, Path) else Path(of.page or "")).as_uri())
        self.asked = self.said.pop(0)  # the page itself

    def shown(self) -> list[str]:
        ids = self.page.eval_on_selector_all("details.sample:not([hidden])", "all => all.map(one => one.dataset.id)")
        return [str(id) for id in ids]


def test_what_texts_say_is_not_done(browser: Browser, harmful: Run) -> None:
    opened = Opened(browser, harmful)
    page = opened.page
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("img, iframe, object, embed, link, base, [onerror], [onclick], [style]").count() == 0
    assert {link.get_attribute("href") for link in page.locator("a").all()} == {f"#sample-{place}" for place in range(1, 6)}
    assert page.locator("form").count() == 1
    assert opened.said == []
    assert "window.hacked = 1" in page.locator("#list").inner_text()


def test_nothing_can_be_asked_of_a_network(browser: Browser, quick: Run) -> None:
    with JudgeServer() as server:
        opened = Opened(browser, quick)
        assert opened.asked.startswith("file://")
        assert opened.said == []
        assert opened.page.evaluate("url => fetch(url).then(() => 'came', () => 'refused')", server.url) == "refused"
        opened.page.evaluate("url => { document.body.append(Object.assign(new Image(), {src: url})) }", server.url)
        assert any("Content Security Policy" in line for line in opened.said)


def test_tables_are_sorted(browser: Browser, quick: Run) -> None:
    page = Opened(browser, quick).page
    column = page.locator("#metrics thead th", has_text="average")

    def averages() -> list[list[str]]:
        found: list[list[str]] = page.eval_on_selector_all(
            "#metrics tbody", "all => all.map(body => [...body.querySelectorAll('td.big')].map(cell => cell.textContent))")
        return found

    before = averages()
    column.locator("button").click()
    assert averages() == [sorted(part, key=lambda text: (text == "–", text)) for part in before] != before
    column.locator("button").click()
    assert averages()[0] == sorted(before[0], reverse=True)
    assert averages()[1][-1] == "–"  # what has no value is last either way


def test_samples_are_filtered_and_ordered(browser: Browser, quick: Run) -> None:
    opened = Opened(browser, quick)
    page, every = opened.page, opened.shown()
    samples = {one["sample_id"]: one for one in quick.folder.read_json("report.json")["samples"]}
    assert set(every) == set(samples)
    page.locator("select[name=how]").select_option("borderline")
    assert set(opened.shown()) == {id for id, one in samples.items() if "borderline" in one["how"]} != set(every)
    page.locator("select[name=how]").select_option("")
    page.locator("select[data-slice='1']").select_option("zh")
    assert {id[:2] for id in opened.shown()} == {"zh"}
    page.locator("select[data-slice='1']").select_option("")
    page.locator("input[name=text]").fill("PARENTAL leave")
    assert "en-16" in opened.shown()
    assert len(opened.shown()) < 5
    page.locator("input[name=text]").fill("")
    page.locator("select[name=metric]").select_option(label="context_recall")
    named = {id: [how for how, metrics in one["how"].items() if "context_recall" in metrics] for id, one in samples.items()}
    assert set(opened.shown()) == {id for id, how in named.items() if how} != set(every)
    page.locator("select[name=how]").select_option("unscored")
    assert set(opened.shown()) == {id for id, how in named.items() if "unscored" in how}
    page.locator("select[name=how]").select_option("random")
    assert set(opened.shown()) == {id for id, one in samples.items() if "random" in one["how"]}
    page.locator("select[name=how]").select_option("")
    for order, sign in (("low", 1), ("high", -1)):
        page.locator("select[name=order]").select_option(order)
        scores = [next(score["score"] for score in samples[id]["scores"] if score["metric"] == "context_recall")
                  for id in opened.shown()]
        assert scores == sorted(scores, key=lambda score: (score is None, sign * (score or 0)))
    page.locator("select[name=order]").select_option("id")
    page.locator("select[name=metric]").select_option("")
    assert opened.shown() == sorted(every)
    assert opened.said == []


def test_the_worst_are_listed_and_open_by_a_click(browser: Browser, quick: Run) -> None:
    opened = Opened(browser, quick)
    page, worst = opened.page, quick.worst(5)
    rows = page.locator("#worst tbody tr")
    assert rows.locator("a").all_inner_texts() == list(worst)
    for row, missed in zip(rows.all(), worst.values(), strict=True):
        for one in missed:
            assert f"{one['metric']} {one['score']:.2f}" in row.inner_text()
    page.locator("input[name=text]").fill("no sample has this")
    assert opened.shown() == []
    rows.locator("a").nth(1).click()
    opened_samples = page.eval_on_selector_all("details.sample[open]", "all => all.map(one => one.dataset.id)")
    assert opened_samples == [list(worst)[1]]
    assert page.locator("details.sample[open] dd").first.is_visible()
    assert page.evaluate("document.querySelector('details.sample[open]').getBoundingClientRect().top < innerHeight")
    assert opened.said == []


def test_ratings_are_told_in_words(browser: Browser, quick: Run) -> None:
    said = Opened(browser, quick).page.locator("#list").text_content() or ""
    assert "rated 1 and 1 of 2" in said
    assert not re.search(r"graded|disagreement|flat \d|support \d", said)


def test_it_is_read_on_a_phone(browser: Browser, quick: Run, harmful: Run) -> None:
    for of in (quick, harmful):
        page = Opened(browser, of, 375).page
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") == 375
        assert page.evaluate("[...document.querySelectorAll('.wide')].every(one => one.scrollWidth <= one.clientWidth)")
    sizes = page.evaluate("""[...document.querySelectorAll("header *, #metrics *")]
        .filter(one => one.getClientRects().length && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
        .map(one => parseFloat(getComputedStyle(one).fontSize))""")
    assert min(sizes) >= 12
    first = page.locator("#metrics td.big").first.bounding_box()
    assert first is not None
    assert first["y"] < 800


def test_it_prints_on_two_pages(browser: Browser, quick: Run) -> None:
    pypdf = pytest.importorskip("pypdf", reason="needs pypdf: pip install pypdf")
    printed = pypdf.PdfReader(BytesIO(Opened(browser, quick).page.pdf(prefer_css_page_size=True)))
    assert len(printed.pages) == 2
    text = "".join(page.extract_text() for page in printed.pages)
    assert "context_precision" in text
    assert all(id in text for id in quick.worst(5))
    assert "rated 1 and" not in text  # one by one samples are for the screen


def test_it_is_dark_where_the_reader_wants_it(browser: Browser, quick: Run) -> None:
    def light(scheme: str) -> tuple[int, int, int]:
        page = Opened(browser, quick, color_scheme=scheme).page
        of = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name].match(/\\d+/g).slice(0, 3)"
        found = [sum(map(int, page.evaluate(of, what))) for what in (
            ("body", "backgroundColor"), ("body", "color"), ("#metrics svg path[fill^=var]", "fill"))]
        return found[0], found[1], found[2]

    (day, text_by_day, bar_by_day), (night, text_by_night, bar_by_night) = light("light"), light("dark")
    assert day > 700 > 300 > text_by_day
    assert night < 150 < 600 < text_by_night
    assert bar_by_day != bar_by_night


def test_the_page_of_a_monitor(browser: Browser, tmp_path: Path) -> None:
    """As the run's: inert, nothing asked for, read on a phone; its slices are sorted."""
    harm = "<script>window.hacked = 1</script>"
    days = [date(2026, 11, 1) + timedelta(days) for days in range(29) if days not in (9, 10)]
    whole = [{"day": day, "figure": figure, "slice": None, "slice_value": None, "value": value + day.day / 1000, "count": 90,
              "ci_low": value, "ci_high": value + 0.1} for day in days for figure, value in (("refusal", 0.1), (harm, 0.7))]
    slices = [{**row, "slice": harm, "slice_value": f"{harm}{place}", "value": place / 10} for row in whole[-2:]
              for place in (3, 1, 2)]
    told = {"name": harm, "days": [str(days[-1])], "alerts": [{"said": harm, "figure": harm, "day": str(days[-1]), "slice": harm,
            "slice_value": f"{harm}1"}], "days_below_coverage": [], "drift": [{"said": harm, "differs": True}], "picks": [harm],
            "notes": [harm], "scale": 10, "directions": {"refusal": "lower"}}
    path = tmp_path / "report.html"
    path.write_text(page_of_days(told, whole, [*whole, *slices]))
    opened = Opened(browser, path, 375)
    page = opened.page
    page.locator("summary").click()
    assert (page.evaluate("window.hacked"), opened.said) == (None, [])
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.locator("svg .mark-symbol path").count() == len(whole)
    assert page.locator("td.bad").count() == 1, "the slice that the alert is of"
    assert page.locator("h1").inner_text() == "Alerts: 1"
    numbers = page.locator("#days details table")
    numbers.locator("thead button").nth(1).click()
    numbers.locator("thead button").nth(1).click()
    assert numbers.locator("tbody td").first.inner_text() == str(days[-1])
