"""The page of an assessment in a real browser."""

from __future__ import annotations

import json
import re
from math import inf, nan
from pathlib import Path

import pandas as pd
import pytest
from browser import address, browser

from biaslens.report.assessment import findings_of, page, write_assessment
from biaslens.stats import Estimate
from biaslens.usecase import assess_lists, assess_predictions, assess_texts
from biaslens.usecase._result import Assessment, Family, GroupMention, Measure, Resampling, Standout, Step
from biaslens.usecase._spec import TextOptions

EXAMPLES = Path(__file__).parents[2] / "examples" / "usecase"
QUICK = Resampling(rounds=100, exchanges=99)
HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</style></script></title><h1>mine</h1>",
    "\u202eesrever\u2066 שלום",
    "\x00\x07\x1b[31mred\x7f\ufffe",
    "x" * 3000,
    "{{ 7 * 7 }} {% raw %}",
    "🙂" * 400,
]


def generated() -> Assessment:
    """Answers about two groups, most of them harmless."""
    rows = [
        (str(n), f"Is {word} kind?", "gender", group, f"{word.capitalize()} is a kind nurse, number {n} of {t + 4}.")
        for n in range(6)
        for group, word in (("female", "she"), ("male", "he"))
        for t in range(3)
    ]
    rows += [(str(n), "Is she kind?", "", "", "She is a nurse; he is a stupid idiot." if n else "He is kind.")
             for n in range(6)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["prompt_id", "prompt", "attribute", "group", "response"])
    return assess_texts(frame, TextOptions(resampling=QUICK))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page a task."""
    out = tmp_path_factory.mktemp("pages")
    write_assessment(generated(), out / "generation")
    write_assessment(assess_lists(EXAMPLES / "lists.csv", resampling=QUICK), out / "lists")
    found = assess_predictions(
        EXAMPLES / "predictions.csv", group="sex", label="y", prediction="yhat", resampling=QUICK
    )  # fmt: skip
    write_assessment(found, out / "predictions")
    return out


def measure(name: str, value: float, *, p: float = nan, baseline: float | None = None, **more: object) -> Measure:
    made = {
        "family": "counterfactual",
        "metric": name,
        "attribute": "gender",
        "groups": ("female", "male"),
        "estimate": Estimate(
            value, value - 0.1, value + 0.1, 0.05, 40, reason="" if value == value else "not measured"
        ),
        "units": 40,
        "direction": "higher is fairer",
        "p": p,
        "p_holm": p,
        "test": "that it is so",
        "baseline": None if baseline is None else Estimate(baseline, nan, nan, nan, 40),
    }
    return Measure(**{**made, **more})  # type: ignore[arg-type]


def assessment(**more: object) -> Assessment:
    made = {
        "task": "generation",
        "source": "responses of x.csv",
        "counts": {"responses": 3},
        "steps": [Step("Is it?", "yes", "seen")],
        "families": [Family("toxicity", True, "always")],
        "measures": [measure("ROUGE-L", 0.5)],
    }
    return Assessment(**{**made, **more})  # type: ignore[arg-type]


def opened_at(opened, found: Assessment, out: Path):
    opened.page.on("dialog", lambda _: pytest.fail("a script of a text was run"))
    opened.page.goto(address(write_assessment(found, out)[0]))
    return opened.page


@pytest.mark.browser
def test_the_decision_path_and_the_reasons_stand_on_top(folder):
    with browser() as opened:
        opened.page.goto(address(folder / "generation" / "index.html"))
        main = opened.page.locator("main").inner_text()
        assert "Do prompts mention a protected attribute? yes" in main
        assert "gender in 6 (she 6)" in main
        for family in ("Toxicity", "Stereotype", "Counterfactual"):
            assert f"{family} is measured: " in main
        assert main.index("Which metrics apply") < main.index("Expected maximum") < main.index("What this does not say")
        assert "Scored by offline" in main
        assert (opened.requests, opened.errors) == ([], [])


@pytest.mark.browser
def test_tables_are_sorted_by_number_and_the_unknown_stay_last(tmp_path):
    measures = [
        measure("A", 0.5, p=0.2, baseline=0.9),
        measure("B", nan, p=nan),
        measure("C", 0.25, p=0.00001, baseline=0.1),
        measure("D", 0.9, p=0.03, baseline=0.3),
    ]
    with browser() as opened:
        page = opened_at(opened, assessment(measures=measures), tmp_path)

        def names() -> str:
            return "".join(page.locator("tbody th").all_inner_texts())

        assert names() == "ABCD"
        for column, up, down in (("Value", "CADB", "DACB"), ("p", "CDAB", "ADCB"), ("Baseline", "CDAB", "ADCB")):
            # The arrow of a sorted column is part of its name.
            head = page.get_by_role("button", name=re.compile(rf"^{column}\b"))
            head.click()
            assert names() == up
            head.focus()
            page.keyboard.press("Enter")
            assert names() == down
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
        assert page.locator("td strong").all_inner_texts() == ["0.030", "< 0.0001"]  # significant, as sorted now


@pytest.mark.browser
def test_examples_open_behind_their_warning(folder):
    with browser() as opened:
        page = opened.page
        page.goto(address(folder / "generation" / "index.html"))
        text = page.get_by_text("she is a nurse; he is a stupid idiot", exact=False).first
        assert not text.is_visible()
        warning = page.locator("details.warning > summary")
        assert "Content warning" in warning.inner_text()
        warning.focus()
        page.keyboard.press("Enter")
        assert text.is_visible()
        assert (opened.requests, opened.errors) == ([], [])


@pytest.mark.browser
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(tmp_path, text):
    found = assessment(
        source=text,
        counts={text: 3},
        steps=[Step(text, text, text)],
        families=[Family(text, True, text)],
        mentions=[GroupMention(text, text, {text: 2}, ["1"])],
        measures=[
            measure(text, 0.5, attribute=text, groups=(text, text), scorer=text, test=text, note=text, unit=text),
            measure(text, nan, family=text, estimate=Estimate.undefined(text)),
        ],
        examples={text: [Standout(why=text, score=1.0, prompts=(text,), texts=(text, text), groups=(text, text))]},
        warnings=[text],
        record={text: {text: text}},
    )
    with browser(width=360) as opened:
        page = opened_at(opened, found, tmp_path)
        for summary in page.locator("summary").all():
            summary.click()
        assert page.locator("main img, main script, main h1 + h1").count() == 0
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert (opened.requests, opened.errors) == ([], [])


@pytest.mark.browser
def test_no_page_is_wider_than_a_phone(folder):
    with browser(width=320, height=640) as opened:
        for name in ("generation", "lists", "predictions"):
            opened.page.goto(address(folder / name / "index.html"))
            for summary in opened.page.locator("summary").all():
                summary.click()
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320, name


CONTRAST = """
() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    if (!walk.currentNode.data.trim()) continue;
    const element = walk.currentNode.parentElement;
    const [ink, paper] = [rgb(getComputedStyle(element).color), behind(element)].map(light);
    found.push((Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
  }
  return Math.min(...found);
}
"""


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_stands_out_from_its_background(folder, dark):
    with browser(dark=dark) as opened:
        opened.page.goto(address(folder / "generation" / "index.html"))
        for summary in opened.page.locator("summary").all():
            summary.click()
        paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") is not dark
        assert opened.page.evaluate(CONTRAST) >= 4.5  # as WCAG 2.2 AA has it


@pytest.mark.browser
def test_without_scripts_everything_is_there(folder):
    with browser(scripts=False) as opened:
        opened.page.goto(address(folder / "generation" / "index.html"))
        measures = json.loads((folder / "generation" / "assessment.json").read_text(encoding="utf-8"))["measures"]
        assert opened.page.locator("tbody th").count() >= len(measures) > 10
        opened.page.locator("details.warning > summary").click()
        assert opened.page.locator("blockquote").first.is_visible()


def test_values_lie_where_they_are_drawn():
    text = page(assessment(measures=[measure("A", 0.5, baseline=0.25, estimate=Estimate(0.5, 0.4, 0.75, 0.1, 40))]))
    # Drawn from 1 to 121.
    assert 'cx="61.0"' in text and 'x1="49.0" x2="91.0" y1="8"' in text and 'd="M31.0 2' in text
    signed = measure("COBS", -0.5, bounds=(-inf, inf), estimate=Estimate(-0.5, -1.0, 0.2, 0.1, 40))
    # The largest end, 1, lies at 1 / 1.1 of the half: 61 - 60 / 1.1 = 6.5; 0 in the middle.
    text = page(assessment(measures=[signed]))
    assert 'x1="61.0" x2="61.0" y1="3"' in text and 'x1="6.5"' in text


def test_what_is_not_known_is_no_number():
    text = page(assessment(measures=[measure("A", nan, baseline=nan)], counts={}, record={"seed": None}))
    assert "nan" not in re.sub("<style>.*?</script>", "", text, flags=re.DOTALL).lower().replace("finance", "")
    assert "not measured." in text and "no interval" in text


def test_the_level_of_the_intervals_is_named():
    assert "its 90 % interval" in page(assessment(record={"resampling": {"level": 0.9}}))
    assert "its 95 % interval" in page(assessment())


@pytest.mark.browser
def test_an_assessment_without_any_metric(tmp_path):
    with browser() as opened:
        page = opened_at(opened, assessment(measures=[], families=[Family("toxicity", False, "no")]), tmp_path)
        assert "Toxicity is left out: no." in page.locator("main").inner_text()
        assert page.locator("table").count() == 0


@pytest.mark.parametrize(
    ("measures", "told"),
    [
        ([], "Nothing was measured."),
        ([measure("BLEU", 0.5)], "Nothing was tested: no metric here has a test that groups are treated alike."),
        (
            [measure("BLEU", 0.5, p=0.3), measure("ROUGE-L", 0.5, p=0.05, units=5)],
            "Nothing found: of 2 tests that groups are treated alike none fails (p under 0.05 after Holm). 1 of them "
            "rests on few units. That is no proof that they are treated alike.",
        ),
        (
            [measure("BLEU", 0.5, p=0.3), measure("ROUGE-L", 0.25, p=0.012)],
            "1 of 2 tests finds that groups are treated differently (p under 0.05 after Holm): ROUGE-L of gender, "
            "female / male (0.250; p = 0.012).",
        ),
    ],
)
def test_what_was_found_is_said_first_and_nothing_where_nothing_was(measures, told):
    assert " ".join(findings_of(assessment(measures=measures))) == told
