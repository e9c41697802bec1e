"""Figures: what is drawn, that it is the same bytes each time, and that poor tables do no harm."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from run_files import ASKED, Asked, write_run

from biaslens.analysis import read_run
from biaslens.report.analyses import Analyses
from biaslens.report.figures import (
    HATCHES,
    STEPS,
    bias_rates,
    consistency_bars,
    counts_by_attribute,
    draw,
    heat_map,
    paired_rates,
    save,
    short,
    trigger_shares,
)
from biaslens.report.sections import write_for_papers

RATES = pd.DataFrame(
    [
        {
            "model": model, "condition": "role", "attribute": attribute, "kind": kind, "biased_questions": 2 + place,
            "bias_rate": 0.25 * (1 + place), "bias_rate_low": 0.2, "bias_rate_high": 0.8,
        }
        for model in ("a/one", "b/two")
        for attribute in ("age", "race")
        for place, kind in enumerate(("yes_no", "choice", "why"))
    ]
)  # fmt: skip


def test_bars_are_as_long_as_the_counts():
    figure = counts_by_attribute(RATES)
    bars = [patch.get_width() for patch in figure.axes[0].patches]
    # Two attributes a kind: 2, 2, then 3, 3, then 4, 4.
    assert bars == [2, 2, 3, 3, 4, 4]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a/one", "b/two"]


def test_the_least_biased_model_stands_first_with_its_group():
    rates = pd.DataFrame(
        [
            {
                "model": model,
                "kind": "all",
                "bias_rate": rate,
                "bias_rate_low": rate - 0.1,
                "bias_rate_high": rate + 0.1,
            }
            for model, rate in (("worse", 0.6), ("better", 0.2))
        ]
    )
    figure = bias_rates(rates, groups={"worse": "b"})
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["better", "worse  (b)"]
    assert figure.axes[0].lines[0].get_xdata().tolist() == [0.2, 0.6]


def test_conditions_are_joined_in_a_row():
    both = pd.concat([RATES, RATES.assign(condition="no_role", bias_rate=0.1)])
    figure = paired_rates(both[both["model"] == "a/one"], rows="attribute")
    joined, *_ = figure.axes[0].collections
    assert joined.get_segments()[0][:, 0].tolist() == [0.1, 0.25]


def test_unknown_rates_leave_a_gap():
    unknown = RATES.assign(bias_rate=math.nan, bias_rate_low=math.nan, bias_rate_high=math.nan)
    assert bias_rates(unknown.assign(kind="all").drop_duplicates("model")).axes


def test_thin_cells_of_the_heat_map_stand_in_brackets():
    cells = pd.DataFrame(
        [
            {"attribute": "age", "target": "gender", "bias_rate": 0.5, "valid_trials": 40},
            {"attribute": "age", "target": "race", "bias_rate": 0.5, "valid_trials": 4},
            {"attribute": "race", "target": "gender", "bias_rate": math.nan, "valid_trials": 0},
        ]
    )
    texts = [text.get_text() for text in heat_map(cells).axes[0].texts]
    assert sorted(texts) == ["(50%)", "50%", "–", "–"]


def test_parts_of_a_bar_add_up():
    rows = pd.DataFrame([{"model": "a", "kind": "all", "same": 0.7, "split": 0.3}])
    figure = consistency_bars(rows, [("same", "alike"), ("split", "not alike")])
    assert [patch.get_x() + patch.get_width() for patch in figure.axes[0].patches] == pytest.approx([0.7, 1.0])


def test_colours_are_apart_in_grey_and_not_the_only_sign():
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    steps = [lightness(colour) for colour in STEPS]
    assert all(later - earlier > 0.1 for earlier, later in pairwise(steps))
    assert len(set(HATCHES[:3])) == 3


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    paths = [save(counts_by_attribute(RATES), tmp_path / name) for name in ("one", "two")]
    for one, two in zip(*paths, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert b"<svg" in paths[0][0].read_bytes()
    assert paths[0][1].read_bytes().startswith(b"\x89PNG")


def test_a_name_with_dollars_is_no_formula(tmp_path):
    save(counts_by_attribute(RATES.assign(model="$x_1$/{}\\frac")), tmp_path / "figure")


@pytest.mark.parametrize(("name", "shown"), [("short", "short"), ("x" * 40, "x" * 17 + "…" + "x" * 16)])
def test_long_names_are_cut_in_the_middle(name, shown):
    assert short(name) == shown


def test_every_figure_that_a_run_can_fill_is_drawn(tmp_path):
    asked = [Asked(one.attribute, one.role, one.kind, one.outcomes, number=one.number, target="body") for one in ASKED]
    without = [
        Asked(
            one.attribute, one.role, one.kind, ("unbiased",) * 3, condition="no_role", number=one.number, target="body"
        )
        for one in ASKED
    ]
    run = read_run(write_run(tmp_path / "run.sqlite", asked + without, conditions=["role", "no_role"]))
    names = {path.name for path in draw(Analyses([run]), tmp_path / "figures")}
    expected = {
        "ablation",
        "ablation_openai-gpt-4o-mini",
        "consistency_no_role",
        "consistency_role",
        "counts_no_role",
        "counts_role",
        "rates_no_role",
        "rates_role",
        "targets_openai-gpt-4o-mini",
    }
    assert names == {f"{name}.{suffix}" for name in expected for suffix in ("svg", "png")}


def test_an_empty_run_draws_nothing(tmp_path):
    assert draw(Analyses([read_run(write_run(tmp_path / "run.sqlite"))]), tmp_path / "figures") == []


def test_tables_for_papers(tmp_path):
    run = read_run(write_run(tmp_path / "run.sqlite", ASKED, model="a_b/50%|c"))
    names = sorted(path.name for path in write_for_papers(Analyses([run]).tables, tmp_path))
    assert names == sorted(
        f"{name}.{suffix}"
        for name in ("biased_questions_role", "bias_rates", "consistency")
        for suffix in ("md", "tex")
    )
    markdown, latex = (Path(tmp_path / f"bias_rates.{suffix}").read_text(encoding="utf-8") for suffix in ("md", "tex"))
    # 11 of 22 valid trials are biased; 3 of 9 questions.
    assert r"| a_b/50%\|c | role" in markdown and "3 of 9" in markdown and "50.0 %" in markdown
    assert r"a\_b/50\%|c & role & all & 3 of 9 & 50.0 \%" in latex


def test_a_heat_map_of_thin_cells_alone_says_so():
    cells = pd.DataFrame([{"attribute": "age", "target": "gender", "bias_rate": 0.5, "valid_trials": 29}])
    figure = heat_map(cells)
    assert figure.get_suptitle() == "Every cell has under 30 valid trials: too few for a colour"
    assert len(figure.axes) == 1  # no scale of colours


def test_triggers_are_bars_as_long_as_their_share():
    rows = [
        {"kind": kind, "k": k, "share": share, "questions": 100 * share}
        for kind, shares in (("all", (0.5, 0.5)), ("why", (0.25, 0.75)))
        for k, share in enumerate(shares)
    ]
    figure = trigger_shares(pd.DataFrame(rows))
    assert [[bar.get_width() for bar in axes.patches] for axes in figure.axes] == [[0.5, 0.5], [0.25, 0.75]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["0 of 1", "1 of 1"]
