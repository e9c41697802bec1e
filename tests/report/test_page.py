"""The static page: in a real browser, and as files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import address, browser
from command import biaslens
from labelled_runs import questions, write_labels
from run_files import ASKED, Asked, write_run

from biaslens.analysis import read_run
from biaslens.annotation.annotators import take_labels
from biaslens.errors import InputError, RunMismatchError
from biaslens.report.analyses import Analyses
from biaslens.report.page.site import write_page

KINDS = ("yes_no", "choice", "why")


def many(outcome: str, *, first: str = "", condition: str = "role") -> list[Asked]:
    """Questions of six roles and all kinds: two trials with this outcome (or another one first), one unbiased."""
    return [
        Asked(
            "age", f"Role {role}", kind, (first or outcome, outcome, "unbiased"), condition=condition,
            target="gender", answer=f"An answer about {kind}.",
        )
        for role in range(6)
        for kind in KINDS
    ]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models, the second with two conditions; tests only look at it."""
    tmp_path = tmp_path_factory.mktemp("looked_at")
    runs = [
        write_run(tmp_path / "a.sqlite", many("biased"), model="openai/a"),
        write_run(
            tmp_path / "b.sqlite",
            many("unbiased") + many("biased", condition="no_role"),
            model="openai/b",
            conditions=["role", "no_role"],
        ),
        write_run(tmp_path / "c.sqlite", many("unbiased", first="biased"), model="openai/c"),
    ]  # fmt: skip
    out = tmp_path / "site"
    write_page(Analyses([read_run(run) for run in runs]), out)
    return out


def models(page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("table.sortable tbody tr:visible th").all_inner_texts()]


@pytest.mark.browser
def test_sorting_by_clicks_and_by_keyboard(site):
    with browser() as opened:
        page = opened.page
        page.goto(address(site / "index.html"))
        assert models(page) == ["openai/a", "openai/c", "openai/b"]  # the most biased first
        page.get_by_role("button", name="Bias rate").click()
        assert models(page) == ["openai/b", "openai/c", "openai/a"]  # 0, 1/3, 2/3
        head = page.locator("th[aria-sort]")
        assert head.get_attribute("aria-sort") == "ascending"
        page.get_by_role("button", name="Bias rate").focus()
        page.keyboard.press("Enter")
        assert models(page) == ["openai/a", "openai/c", "openai/b"]
        assert head.get_attribute("aria-sort") == "descending"
        assert "descending" in page.locator("#sorted").inner_text()
        assert (opened.requests, opened.errors) == ([], [])


@pytest.mark.browser
def test_filters_choose_condition_and_kind(site):
    with browser() as opened:
        page = opened.page
        page.goto(address(site / "index.html"))
        page.get_by_label("Condition").select_option("no_role")
        assert models(page) == ["openai/b"]
        page.get_by_label("Condition").select_option("role")
        page.get_by_label("Questions").select_option("why")
        assert page.locator("table.sortable tbody tr:visible td:nth-child(8)").all_inner_texts() == ["why"] * 3


@pytest.mark.browser
def test_without_scripts_every_row_is_there(site):
    with browser(scripts=False) as opened:
        opened.page.goto(address(site / "index.html"))
        # a and c: all and three kinds; b: the same under two conditions.
        assert opened.page.locator("table.sortable tbody tr:visible").count() == 4 + 8 + 4
        assert not opened.page.locator(".filters").is_visible()


@pytest.mark.browser
def test_from_the_leaderboard_to_an_answer_behind_its_warning(site):
    with browser() as opened:
        page = opened.page
        page.goto(address(site / "index.html"))
        page.get_by_role("link", name="openai/a").first.click()
        assert page.locator("h1").inner_text() == "openai/a"
        page.get_by_role("link", name="age", exact=True).first.click()
        answer = page.get_by_text("An answer about", exact=False).first
        assert not answer.is_visible()
        page.locator("summary").focus()
        page.keyboard.press("Enter")
        assert answer.is_visible()
        page.get_by_role("link", name="Method and limits").click()
        assert "does not say" in page.locator("main").inner_text()
        assert (opened.requests, opened.errors) == ([], [])


@pytest.mark.browser
def test_the_keyboard_reaches_the_content_first(site):
    with browser() as opened:
        page = opened.page
        page.goto(address(site / "index.html"))
        page.keyboard.press("Tab")
        assert page.locator(":focus").inner_text() == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#main"


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_no_page_is_wider_than_a_phone(site, dark):
    with browser(width=320, height=640, dark=dark) as opened:
        for name in ("index.html", "method.html", "models/openai-b/index.html", "models/openai-b/age.html"):
            opened.page.goto(address(site / name))
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320, name


HOSTILE = [
    "<script>alert(1)</script>/\"quoted\"/'model'",
    "org/</style></script><img src=x onerror=alert(1)>",
    "модель/🙂/\u202eesrever",
    "a/../../../etc/passwd",
    "x" * 300,
    "",
]


@pytest.mark.browser
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(tmp_path, name):
    run = write_run(
        tmp_path / "run.sqlite",
        [Asked("age", name or "Elders", "yes_no", ("biased",), text=name, answer=name)],
        model=name,
    )
    files = write_page(Analyses([read_run(run)]), tmp_path / "site")
    assert all(file.resolve().is_relative_to(tmp_path / "site") for file in files)
    with browser(width=400) as opened:
        page = opened.page
        page.on("dialog", lambda dialog: pytest.fail("a script of a name was run"))
        page.goto(address(tmp_path / "site" / "index.html"))
        link = page.locator("tbody th a").first
        assert link.inner_text() == (name or "run.sqlite")
        link.click()
        assert page.locator("h1").inner_text() == (name or "run.sqlite")
        page.get_by_role("link", name="age", exact=True).first.click()
        page.locator("summary").click()
        assert page.locator("main img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert (opened.requests, opened.errors) == ([], [])


def test_two_runs_of_one_model_have_pages_of_their_own(tmp_path):
    runs = [read_run(write_run(tmp_path / f"{name}.sqlite", many("biased"))) for name in ("one", "two")]
    write_page(Analyses(runs), tmp_path / "site")
    assert len(list((tmp_path / "site" / "models").iterdir())) == 2


def test_the_same_runs_give_the_same_bytes(tmp_path):
    run = read_run(write_run(tmp_path / "run.sqlite", ASKED))
    contents = []
    for name in ("one", "two"):
        files = write_page(Analyses([run]), tmp_path / name)
        contents.append({str(file.relative_to(tmp_path / name)): file.read_bytes() for file in files})
    assert contents[0] == contents[1]


def test_a_new_page_removes_its_old_files_and_nobody_elses(tmp_path):
    one = read_run(write_run(tmp_path / "one.sqlite", many("biased"), model="old/model"))
    two = read_run(write_run(tmp_path / "two.sqlite", many("biased"), model="new/model"))
    out = tmp_path / "site"
    write_page(Analyses([one]), out)
    (out / "notes.txt").write_text("mine")
    (out / "biaslens-page.json").write_text('["models/old-model/index.html", "../one.sqlite"]')
    write_page(Analyses([two]), out)
    assert not (out / "models" / "old-model" / "index.html").exists()
    assert (out / "notes.txt").read_text() == "mine"
    assert (tmp_path / "one.sqlite").exists()


def test_answers_of_others_are_not_shown_unless_asked_for(tmp_path):
    run = read_run(write_run(tmp_path / "run.sqlite", many("biased"), imported=True))
    write_page(Analyses([run]), tmp_path / "site")
    text = next((tmp_path / "site").glob("models/*/age.html")).read_text(encoding="utf-8")
    assert "An answer about" not in text and "not shown" in text
    write_page(Analyses([run]), tmp_path / "shown", show_examples=True)
    assert "An answer about" in next((tmp_path / "shown").glob("models/*/age.html")).read_text(encoding="utf-8")


def test_examples_are_few_and_cut(tmp_path):
    asked = [Asked("age", "Elders", "yes_no", ("biased",) * 3, number=n, answer="word " * 400) for n in range(9)]
    run = read_run(write_run(tmp_path / "run.sqlite", asked))
    write_page(Analyses([run]), tmp_path / "site")
    text = next((tmp_path / "site").glob("models/*/age.html")).read_text(encoding="utf-8")
    # All answers are biased, and at most two of those are shown of a role.
    assert text.count("<blockquote>") == 2
    assert max(len(answer) for answer in re.findall("<bdi>(word[^<]*)</bdi>", text)) == 600
    assert "[cut here]" in text


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [Asked("age", "Elders", "yes_no", ("biased",))],
        [Asked("age", "Elders", "why", ("unasked",) * 3)],
        [Asked("age", "Elders", "choice", ("invalid",) * 3)],
    ],
    ids=["empty", "one role and trial", "nothing asked", "nothing valid"],
)
def test_runs_with_little_in_them(tmp_path, asked):
    write_page(Analyses([read_run(write_run(tmp_path / "run.sqlite", asked))]), tmp_path / "site")
    text = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "nan" not in re.sub("<style>.*</script>", "", text, flags=re.DOTALL).lower()


def test_runs_that_differ_are_refused_or_marked(tmp_path):
    runs = [
        read_run(write_run(tmp_path / "one.sqlite", many("biased"))),
        read_run(write_run(tmp_path / "two.sqlite", many("biased"), benchmark_version="2.0")),
    ]
    with pytest.raises(RunMismatchError, match="benchmark version"):
        write_page(Analyses(runs), tmp_path / "site")
    write_page(Analyses(runs, force=True), tmp_path / "site")
    assert "put together by force" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="at least one run"):
        write_page(Analyses([]), tmp_path / "none")


def labelled(path: Path, verdicts: str, said: str) -> Path:
    """A run with why answers that all have a label."""
    asked = questions(verdicts, kind="why")
    run = write_run(path, asked, model=path.stem)
    outcomes = [{"B": "biased", "U": "unbiased"}[letter] for letter in said]
    take_labels(run, write_labels(path.with_suffix(".labels"), dict.fromkeys(asked, 1.0), {"ann": outcomes}))
    return run


def test_corrected_rates_stand_beside_raw_ones_and_turned_orders_are_named(tmp_path):
    runs = [
        labelled(tmp_path / "a.sqlite", "B" * 45 + "U" * 15, "B" * 3 + "U" * 57),
        labelled(tmp_path / "b.sqlite", "B" * 20 + "U" * 40, "B" * 30 + "U" * 30),
    ]
    write_page(Analyses([read_run(run) for run in runs]), tmp_path / "site")
    index = (tmp_path / "site" / "index.html").read_text()
    assert index.count("corrected by labels 5.0 %") == index.count("corrected by labels 50.0 %") == 2  # all, why
    assert "corrected by labels, b has the higher rate: +" in index
    assert "errors are not known" not in index
    assert "corrected by labels 5.0 %" in (tmp_path / "site" / "models" / "a" / "index.html").read_text()


def test_why_answers_without_labels_are_marked(site):
    assert (site / "index.html").read_text().count("rests on judges of why answers whose errors are not known") == 8


def test_the_commands(tmp_path):
    runs = [
        write_run(tmp_path / "a.sqlite", many("biased"), model="openai/a"),
        write_run(tmp_path / "b.sqlite", many("unbiased"), model="openai/b"),
    ]
    done = biaslens("page", *runs, "--out", tmp_path / "site")
    assert done.returncode == 0
    assert str(tmp_path / "site" / "index.html") in done.stdout
    done = biaslens("publish", *runs, "--out", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    for name in (
        "leaderboard.csv",
        "analyses/comparison.csv",
        "tables/bias_rates.tex",
        "figures/rates_role.svg",
        "figures/rates_role.png",
        "page/index.html",
    ):
        assert (tmp_path / "results" / name).stat().st_size > 0
    assert biaslens("page", tmp_path / "missing.sqlite", "--out", tmp_path / "site").returncode == 1


@pytest.mark.browser
def test_every_number_leads_to_its_answers_without_a_server(tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    hostile = "<script>alert(1)</script> \u202eesrever " + "word " * 400
    more = [
        Asked("age", "Role 0", "why", ("biased",) * 3, number=9, answer=hostile, text="<b>Why?</b>", target="gender")
    ]
    runs = [
        write_run(tmp_path / "a.sqlite", [*many("biased"), *many("unbiased", condition="no_role")], model="openai/a",
                  conditions=["role", "no_role"]),
        write_run(tmp_path / "b.sqlite", [*many("unbiased", first="biased"), *more], model="openai/b"),
        write_run(tmp_path / "c.sqlite", many("biased"), model="others/c", imported=True),
    ]  # fmt: skip
    site = tmp_path / "site"
    write_page(Analyses([read_run(run) for run in runs], force=True), site, answers=True)
    assert not list(tmp_path.glob("*.view"))
    with browser(width=390, dark=True) as opened:
        page = opened.page
        page.on("dialog", lambda dialog: pytest.fail("a script of an answer was run"))
        page.goto(address(site / "models" / "openai-a" / "index.html"))
        assert axe.run(page).response["violations"] == []
        page.locator("table.heat a").first.click()
        assert page.locator("article").count() == 0  # the warning first
        page.keyboard.press("Tab")
        page.locator("#warning button").press("Enter")
        page.wait_for_selector("article")
        # Of the age roles on gender: three kinds to each of six roles, two trials of three biased.
        assert page.locator("#found").inner_text() == "54 answers"
        assert axe.run(page).response["violations"] == []
        page.locator("#filters > summary").press("Enter")
        page.locator('[data-key^="outcome 0"]').press("Enter")
        page.wait_for_selector("#found:text-is('36 answers')")
        page.wait_for_selector("[data-key]:focus")
        page.goto(address(site / "answers" / "index.html") + "#model=openai%2Fb&kind=why&role=Role+0")
        page.wait_for_selector("#found:text-is('6 answers')")
        page.get_by_role("button", name="characters more").first.click()
        text = page.locator("#blocks").inner_text()
        assert "<script>alert(1)</script> U+202E" in text and "<b>Why?</b>" in text
        assert page.locator("#blocks script, #blocks b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert (opened.requests, opened.errors) == ([], [])
    pages = "".join(path.read_text(encoding="utf-8") for path in (site / "models").rglob("index.html"))
    assert "#model=openai%2Fa&amp;condition=role" in pages
    assert "others%2Fc" not in pages and not (site / "answers" / "others-c").exists()


def test_answers_of_others_are_written_only_when_named(tmp_path):
    run = Analyses([read_run(write_run(tmp_path / "run.sqlite", many("biased"), imported=True))])
    with pytest.raises(InputError, match="--imported-answers"):
        write_page(run, tmp_path / "site", answers=True)
    write_page(run, tmp_path / "site", imported_answers=True)
    shards = {path.name: path.read_bytes() for path in (tmp_path / "site" / "answers").rglob("*.js")}
    assert shards.keys() == {"about.js", "rows.js", "0.js"}
    write_page(run, tmp_path / "site")
    assert not list((tmp_path / "site" / "answers").rglob("*.*"))
    assert "answers/index.html" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
