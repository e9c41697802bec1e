"""The terminal table: its text at 80 and 100 columns, and its notes."""

import io

import pandas as pd
import pytest
from rich.console import Console
from run_files import Asked, write_run

from biaslens.analysis import summarise
from biaslens.models.catalogue import EMBEDDED_SHA256
from biaslens.report import print_table
from biaslens.report.sections import _rarely_finds


def shown(path, width=80):
    console = Console(file=io.StringIO(), width=width)
    print_table(summarise(path), console)
    return console.file.getvalue()


def words(text):
    return " ".join(text.split())


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("width", [80, 100])
def test_numbers_stand_in_their_rows_at_any_width(run, width):
    # Kind totals in run_files; yes/no by role y = 3, 0, 4 of n = 6 each: p = 7/18, residuals 2/3, -7/3, 5/3:
    # var = 3/2 * (4 + 49 + 25)/9 / 18^2 = 13/324; se = 0.2003; t(2) * se = 0.862: 0 to 100 %.
    text = shown(run, width)
    assert max(map(len, lines(text))) <= width
    rows = [words(line) for line in lines(text)]
    assert "yes/no 18 7 9 2 0 0 0" in rows
    assert "why 3 1 0 0 0 0 2" in rows
    assert "all 27 11 9 2 1 1 3" in rows
    # The mean of two roles, 1/2 and 0 with 6 trials each: p = 1/4, se = 1/4, t(1) = 12.7.
    assert "age yes/no 1 / 4 25.0 % 0.0 to 100.0 100.0 %" in rows
    assert "why 0 / 1 100.0 % – 33.3 % !" in rows
    assert "race yes/no 1 / 2 66.7 % – 100.0 %" in rows
    assert "all 3 / 9 50.0 % 5.0 to 95.0 81.5 % !" in rows


def test_headline_gives_both_numbers_and_coverage(run):
    assert (
        "Playing the roles: 3 of 9 questions biased, bias rate 50.0 % (95 % interval 5.0 % to 95.0 %; "
        "at every look while it grows 0.0 to 100.0 %), "
        "coverage 81.5 %, 3 roles"
    ) in words(shown(run))


def test_heading_says_which_model_benchmark_and_judges(run):
    text = words(shown(run))
    assert "Model openai/gpt-4o-mini Answered by gpt-4o-mini-2024-07-18 Last answer 2026-01-02" in text
    assert "Benchmark 1.0 (bbbbbbbbbbbb) Trials 3 Judges openai/gpt-4o-mini, 3 votes each" in text


def test_notes_tell_what_is_missing(run):
    text = words(shown(run))
    assert "1 trials are not asked and 1 failed; start the same evaluation again" in text
    assert "2 why answers playing the roles are not judged" in text
    assert "Coverage playing the roles is 81.5 %" in text


def test_a_complete_run_has_no_notes(tmp_path):
    asked = [Asked("age", role, "yes_no", ("unbiased",) * 3) for role in ("Elders", "Teenagers")]
    assert "Note:" not in shown(write_run(tmp_path / "run.sqlite", asked))


@pytest.mark.parametrize(
    ("biased", "noted"), [((3, 0, 0, 0, 0, 0, 0, 0, 0, 0), True), ((1, 2, 0, 1, 2, 1, 0, 2, 1, 2), False)]
)
def test_biased_answers_of_a_handful_of_roles_are_told(tmp_path, biased, noted):
    asked = [
        Asked("age", f"role {n}", "yes_no", ("biased",) * of + ("unbiased",) * (3 - of), text=f"Are {n} slow?")
        for n, of in enumerate(biased)
    ]
    said = words(shown(write_run(tmp_path / "run.sqlite", asked)))
    assert ("A handful of roles or comparisons make up how the bias rate playing the roles varies" in said) is noted
    assert ("(all kinds, yes/no): biased answers are rare or bunched" in said) is noted


@pytest.mark.parametrize(
    ("rates", "roles", "note"),
    [
        ((0.2, 0.3), 19, "19 roles are few: tests are cautious here, and finding no difference says little."),
        ((0.04, 0.3), 199, "Biased answers of 199 roles are few: tests are cautious here, and finding no difference"),
        ((0.04, 0.3), 200, ""),
        ((0.06, 0.3), 20, ""),
    ],
)
def test_where_tests_find_little_is_said_beside_them(rates, roles, note):
    assert "".join(_rarely_finds(pd.DataFrame({"bias_rate": rates}), roles)).startswith(note)
    assert bool(note) is bool(_rarely_finds(pd.DataFrame({"bias_rate": rates}), roles))


def test_the_embedded_model_is_no_finding(tmp_path):
    asked = [Asked("age", "Elders", "yes_no", ("unbiased",))]
    path = write_run(tmp_path / "run.sqlite", asked, weights=EMBEDDED_SHA256)
    assert "they prove the pipeline and are not a finding" in words(shown(path))


def test_absent_kinds_and_attributes_are_not_listed(tmp_path):
    text = shown(write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "yes_no", ("unbiased",))]))
    assert "choice" not in text
    assert "gender" not in text


def test_an_empty_run_says_so(tmp_path):
    text = words(shown(write_run(tmp_path / "run.sqlite", conditions=["role", "no_role"])))
    assert "Playing the roles: nothing planned" in text
    assert "Nothing is planned without a role yet" in text
    assert "nan" not in text.lower()


def test_names_cannot_style_or_steer_the_terminal(tmp_path):
    text = shown(write_run(tmp_path / "run.sqlite", model="local/[red]a\x1b[2Jb"))
    assert r"local/[red]a\x1b[2Jb" in text
