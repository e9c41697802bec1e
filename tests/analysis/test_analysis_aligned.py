"""Runs side by side: matched by id, told apart by name."""

from pathlib import Path

import numpy as np
from run_files import Asked, write_run

from biaslens.analysis import distinct_names, read_run
from biaslens.analysis.comparison import align
from biaslens.schema import Condition


def run_of(path: Path, *asked: Asked, **meta: object):
    return read_run(write_run(path, asked, **meta))


ELDERS = Asked("age", "Elders", "yes_no", ("biased", "unbiased"))
NOMADS = Asked("race", "Nomads", "yes_no", ("biased", "biased"))
SAILORS = Asked("occupation", "Sailors", "why", ("invalid", "biased"))


def test_questions_of_different_runs_meet_by_id(tmp_path):
    one = run_of(tmp_path / "a.sqlite", ELDERS, NOMADS)
    two = run_of(tmp_path / "b.sqlite", SAILORS, NOMADS)
    table = align([one, two], Condition.ROLE)
    found = {
        question_id: (
            table.roles[table.role[place]][1],
            table.planned[:, place].tolist(),
            table.biased[:, place].tolist(),
        )
        for place, question_id in enumerate(table.ids)
    }
    assert found == {
        ELDERS.question_id: ("Elders", [2, 0], [1, 0]),
        NOMADS.question_id: ("Nomads", [2, 2], [2, 2]),
        SAILORS.question_id: ("Sailors", [0, 2], [0, 1]),
    }


def test_a_role_is_one_cluster_in_all_runs(tmp_path):
    second = Asked("age", "Elders", "yes_no", ("biased",), number=2)
    table = align([run_of(tmp_path / "a.sqlite", ELDERS), run_of(tmp_path / "b.sqlite", second)], Condition.ROLE)
    assert np.unique(table.role).size == 1


def test_a_condition_that_one_run_lacks_has_nothing_planned(tmp_path):
    run = run_of(tmp_path / "a.sqlite", ELDERS)
    assert align([run], Condition.NO_ROLE).planned.sum() == 0


def test_runs_of_one_model_are_told_apart_by_their_files(tmp_path):
    runs = [
        run_of(tmp_path / "a.sqlite", model="m"),
        run_of(tmp_path / "b.sqlite", model="m"),
        run_of(tmp_path / "c.sqlite", model="other"),
        run_of(tmp_path / "d.sqlite", model=None),
    ]
    names = [run.info.model for run in distinct_names(runs)]
    assert names == ["m (a.sqlite)", "m (b.sqlite)", "other", "d.sqlite"]
    assert [run.info.model for run in distinct_names(distinct_names(runs))] == names


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    runs = [run_of(tmp_path / folder / "a.sqlite", model="m") for folder in ("one", "two")]
    assert [run.info.model for run in distinct_names(runs)] == [f"m ({run.info.path})" for run in runs]
