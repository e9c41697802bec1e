"""One table, and what each of its back ends makes of texts that could break it."""

from __future__ import annotations

import io
import math

import pandas as pd
from rich.console import Console

from biaslens.report.table import Column, Table, shown

HOSTILE = Table.of({"model": ["a|b\nc & <i>d</i>", "\x1b[2J"], "rate": ["50 %", "–"]}, title="<t>", notes=["A note."])


def printed(table: Table, width: int = 80) -> str:
    out = io.StringIO()
    table.print(Console(width=width, file=out))
    return out.getvalue()


def test_a_terminal_is_not_steered_by_a_name():
    text = printed(HOSTILE)
    assert "\x1b" not in text
    assert text.splitlines()[:2] == ["<t>", "A note."]


def test_a_wide_table_is_folded_on_a_terminal_and_nowhere_else():
    numbers = {f"column {letter}": [f"{letter}1 of 100", f"{letter}2 of 100"] for letter in "abcdef"}
    table = Table.of({"model": ["first", "second"], **numbers})
    out = io.StringIO()
    table.print(Console(width=60, file=out, force_terminal=True, color_system=None))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    # Each part says what its rows are, and every cell stands in one of them.
    assert sum(line.startswith("second") for line in lines) == sum(line.startswith("model") for line in lines) == 2
    assert all(f"{letter}2 of 100" in out.getvalue() for letter in "abcdef")
    assert "a2 of 100  " in printed(table, 60) and "f2 of 100" in printed(table, 60).splitlines()[3]


def test_words_stand_left_and_numbers_right():
    lines = printed(Table.of({"model": ["a", "long name"], "rate": ["5 %", "50.0 %"]})).splitlines()
    assert lines[2].split("5")[0] == "a" + " " * 13
    assert lines[3] == "long name  50.0 %"


def test_a_section_without_rows_adds_none():
    table = Table([Column("x", words=True)], [None, ["a"], None, ["b"], None])
    assert [line.strip() for line in printed(table).splitlines()[2:] if line.strip()] == ["a", "b"]


def test_markdown_is_not_broken_by_a_name():
    assert r"a\|b c & <i>d</i>" in HOSTILE.markdown()


def test_latex_is_not_broken_by_a_name():
    lines = HOSTILE.latex().splitlines()
    assert lines[0] == r"\begin{tabular}{ll}"
    assert r"\& <i>d</i> & 50 \% \\" in HOSTILE.latex()


def test_a_page_is_not_broken_by_a_name():
    html = HOSTILE.html()
    assert "&lt;i&gt;d&lt;/i&gt;" in html
    assert 'aria-label="&lt;t&gt;"' in html
    assert '<td class="number">50 %</td>' in html


def test_csv_has_six_decimals_and_empty_cells(tmp_path):
    frame = pd.DataFrame({"rate": [1 / 3, math.nan], "p_holm": [1e-80, 0.5], "k": [1, 2], "said": ["=1+1", None]})
    path = Table.of(frame).csv(tmp_path / "t.csv")
    assert path.read_text() == "rate,p_holm,k,said\n0.333333,1e-80,1,'=1+1\n,0.5,2,\n"


def test_every_number_is_shown_as_its_name_asks_for():
    frame = pd.DataFrame(
        {
            "kind": ["yes_no"], "condition": ["no_role"], "questions": [1200], "share": [0.125], "p_holm": [0.0123],
            "alpha": [0.5], "standard_error": [0.0123], "difference": [0.1], "difference_low": [0.05],
            "difference_high": [math.nan], "flip_rate": [0.2], "flip_rate_low": [0.1], "flip_rate_high": [0.3],
            "rank_low": [2], "rank_high": [4], "family": [""],
        }
    )  # fmt: skip
    names = ["questions", "share", "p_holm", "alpha", "standard_error", "flip_rate", "family", "kind"]
    cells = shown(frame, {name: name for name in names} | {"rank": "rank_low..rank_high", "of": "rank_low/questions"})
    assert [text for (text,) in cells.values()] == [
        "1,200", "12.5 %", "0.012", "0.50", "1.23", "20.0 % (10.0 to 30.0)", "–", "yes_no", "2 to 4", "2 of 1,200"
    ]  # fmt: skip
    named = shown(frame, {"kind": "kind", "condition": "condition"}, in_words=True)
    assert named == {"kind": ["yes/no"], "condition": ["without a role"]}


def test_a_count_of_nothing_valid_is_a_dash():
    frame = pd.DataFrame({"biased_questions": [0, 0], "questions": [4, 4], "valid_trials": [0, 3]})
    assert shown(frame, {"x": "biased_questions/questions"}) == {"x": ["– of 4", "0 of 4"]}


def test_columns_that_never_wrap_are_whole_in_a_narrow_terminal():
    name = "provider/a-rather-long-name-of-a-model"
    lines = printed(Table.of({"model": [name], "hours": ["1.0"]}, words=("model",)), width=20).splitlines()
    assert lines[2] == f"{name}    1.0"
