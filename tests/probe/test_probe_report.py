"""Figures, files and commands of the probe."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command import biaslens
from matplotlib.colors import to_rgb
from probe_predictions import drawn

from biaslens.probe.intervals import intervals
from biaslens.probe.predictions import write_predictions
from biaslens.report.figures import save
from biaslens.report.probe import (
    FAVOURABLE,
    HARMFUL,
    gap_cells,
    gap_figure,
    points,
    print_gaps,
    probe_tables,
    remarks,
    write_probe_report,
)
from biaslens.report.table import p_value


@pytest.fixture(scope="module")
def predictions() -> pd.DataFrame:
    """Two models; in one of them, "old" looks negative."""
    return pd.concat(
        [drawn(prompts=3, model="org/biased", shift=2.0), drawn(prompts=3, model="org/fair", seed=1)], ignore_index=True
    )


@pytest.fixture(scope="module")
def rows(predictions) -> pd.DataFrame:
    return intervals(predictions, rounds=300)


@pytest.fixture(scope="module")
def runs(predictions, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for model, part in predictions.groupby("model"):
        write_predictions(part, folder / model.replace("/", "-"))
    return folder


# Figures


def test_a_mark_for_each_model_and_group_at_its_gap(rows):
    negative, positive = gap_figure(rows).axes
    assert [axes.get_title(loc="left") for axes in (negative, positive)] == ["Negative FPR", "Positive FPR"]
    marks = [line for line in negative.lines if line.get_marker() not in ("None", "", None)]
    expected = rows[rows["metric"] == "negative_fpr"]["gap"]
    assert sorted(line.get_xdata()[0] for line in marks) == pytest.approx(sorted(expected))
    assert {line.get_marker() for line in marks} == {"o", "s"}


def test_the_harmful_side_is_shaded_and_says_so(rows):
    negative, positive = gap_figure(rows).axes
    # From zero to the right for Negative FPR, to the left for Positive FPR.
    spans = [sorted((box.x0, box.x1)) for box in (axes.patches[0].get_bbox() for axes in (negative, positive))]
    assert spans[0] == [0, negative.get_xlim()[1]]
    assert spans[1] == [positive.get_xlim()[0], 0]
    assert all(axes.patches[0].get_hatch() for axes in (negative, positive))
    assert "more harm →" in [text.get_text() for text in negative.texts]
    assert "← more harm" in [text.get_text() for text in positive.texts]


def test_directions_are_apart_in_grey():
    def lightness(colour: str) -> float:
        return float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722]))

    assert lightness(HARMFUL) + 0.3 < lightness(FAVOURABLE) < lightness("white") - 0.2


def test_denominators_and_terms_stand_beside(rows):
    negative = gap_figure(rows).axes[0]
    texts = [text.get_text() for text in negative.texts]
    assert {"n 200", "n 120", "n 240"} <= set(texts)
    assert [label.get_text() for label in negative.get_yticklabels()] == [
        "adult\n5 terms",
        "old\n3 terms",
        "young\n6 terms",
    ]


def test_both_panels_have_one_scale(rows):
    negative, positive = gap_figure(rows).axes
    assert negative.get_xlim() == positive.get_xlim()


def test_unknown_intervals_do_no_harm(rows):
    unknown = rows.assign(low=np.nan, high=np.nan, gap=np.nan, direction="")
    assert len(gap_figure(unknown).axes) == 2


def test_the_same_figure_gives_the_same_bytes(rows, tmp_path):
    for one, two in zip(*(save(gap_figure(rows), tmp_path / name) for name in ("one", "two")), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_many_models_and_strange_names(rows, tmp_path):
    fair = rows[rows["model"] == "org/fair"]
    many = pd.concat([fair.assign(model=f"$x_{number}$/" + "long" * 20) for number in range(12)])
    save(gap_figure(many), tmp_path / "many")


# Words


def test_numbers_in_words():
    assert [points(value) for value in (0.0349, -0.2, -0.0001, np.nan)] == ["+3.5", "-20.0", "0.0", "–"]
    assert [p_value(value) for value in (0.0312, 0.0002, np.nan)] == ["0.031", "0.0002", "–"]


def test_cells(rows):
    cells = gap_cells(rows[(rows["model"] == "org/biased") & (rows["metric"] == "negative_fpr")])
    assert cells["group"] == ["adult", "old", "young"]
    assert cells["off zero"][1] == "to its harm"
    assert cells["false/of"][1].endswith("/360")


def test_remarks_name_the_groups_once(rows):
    noted = rows.assign(note="one term: it cannot be told from the group", terms=1)
    assert remarks(noted) == ["† adult, old, young: one term: it cannot be told from the group"]
    assert gap_cells(noted)["group"][0] == "adult †"


# Files and commands


def test_tables(predictions):
    found = probe_tables(predictions, rounds=200)
    assert set(found) == {"gaps", "intervals", "net_count", "terms", "background", "pairwise", "multigroup"}
    assert set(found["intervals"]["interval"]) == {"bootstrap", "t", "z"}
    assert set(found["intervals"]["reference"]) == {"mean", "unmarked"}
    assert set(found["net_count"]["models"]) == {2}
    # 2 models x 2 references x 2 metrics x 3 groups x 3 prompts.
    assert len(found["gaps"]) == 72


def test_without_unmarked_sentences_they_are_left_out(predictions):
    found = probe_tables(predictions[predictions["group"] != "unmarked"], rounds=200)
    assert set(found["intervals"]["reference"]) == {"mean"}


def test_the_files_of_a_report(predictions, tmp_path):
    paths = write_probe_report(predictions, tmp_path, rounds=200)
    assert paths[0] == tmp_path / "report.md"
    assert all(path.is_file() for path in paths)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"gaps_age{reference}.{suffix}" for reference in ("", "_unmarked") for suffix in ("png", "svg")
    }
    text = paths[0].read_text(encoding="utf-8")
    for part in ("The bootstrap interval covers which prompts were tuned", "Net count over models", "**org/biased**"):
        assert part in text
    first = {path: path.read_bytes() for path in paths}
    write_probe_report(predictions, tmp_path, rounds=200)
    assert all(path.read_bytes() == content for path, content in first.items())


def test_the_terminal_has_a_table_a_model_and_metric_and_says_what_the_interval_covers(rows, capsys):
    print_gaps(rows)
    out = capsys.readouterr().out
    assert out.count("off zero ") == 4
    assert "The bootstrap interval covers" in out


def test_command_gaps(runs):
    result = biaslens("probe", "gaps", runs, "--attributes", "age", "--rounds", "200")
    assert result.returncode == 0, result.stderr
    assert "org/biased, age, Negative FPR (3 prompts)" in result.stdout
    assert "The bootstrap interval covers" in result.stdout


@pytest.mark.parametrize("kind", ["bootstrap", "t", "z"])
def test_command_gaps_for_programs(runs, kind):
    arguments = ["probe", "gaps", str(runs / "org-fair"), "--interval", kind, "--rounds", "200", "--json"]
    record = json.loads(biaslens(*arguments).stdout)
    assert record["interval"] == kind
    assert "prompts" in record["covers"]
    assert {row["model"] for row in record["gaps"]} == {"org/fair"}
    assert all(row["low"] <= row["gap"] <= row["high"] for row in record["gaps"])


def test_command_report(runs, tmp_path):
    arguments = ["probe", "report", str(runs / "org-fair"), str(runs / "org-biased"), "--out", str(tmp_path / "out")]
    result = biaslens(*arguments, "--rounds", "200")
    assert result.returncode == 0, result.stderr
    assert "report.md" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "no such file or folder"),
        (["RUNS", "--attributes", "race"], "no predictions of attribute 'race'"),
    ],
)
def test_bad_input_is_one_line(runs, tmp_path, arguments, message):
    given = [str(runs) if part == "RUNS" else part for part in arguments]
    result = biaslens("probe", "gaps", *given)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert message in result.stderr
