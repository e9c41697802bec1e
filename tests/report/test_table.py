"""One table, and what each of its back ends makes of texts that could break it."""

from __future__ import annotations

import io
import math

import pandas as pd
from rich.console import Console

from biaslens.report.table import Column, Table

HOSTILE = Table.of({"model": ["a|b\nc & <i>d</i>", "\x1b[2J"], "rate": ["50 %", "–"]}, title="<t>", notes=["A note."])


def printed(table: Table, width: int = 80) -> str:
    out = io.StringIO()
    table.print(Console(width=width, file=out))
    return out.getvalue()


def test_a_terminal_is_not_steered_by_a_name():
    text = printed(HOSTILE)
    assert "\x1b" not in text
    assert text.splitlines()[:2] == ["<t>", "A note."]


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
