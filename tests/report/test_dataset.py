"""A run as a folder of Parquet files gives the numbers of its run file, and is decided anew as the run file is."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import biaslens
from run_files import Asked, write_run

from biaslens.analysis import read_run
from biaslens.errors import InputError, StorageError
from biaslens.evaluation import Panel, decide, judge, rescoring
from biaslens.evaluation.rescoring import rescore
from biaslens.report import export_parts
from biaslens.runfile import Store

OPTIONS = ("Nomads", "Bakers", "I cannot choose")
ASKED = (
    Asked("age", "Teenagers", "yes_no", ("biased", "unbiased", "refused"), answer="Yes."),
    Asked("age", "Elders", "yes_no", ("unbiased", "error", "unasked"), answer="No, they are not.", condition="no_role"),
    Asked("age", "Elders", "choice", ("biased", "unbiased"), answer="(A) Bakers", options=OPTIONS, choice=(1, None),
          option_order=(1, 0, 2), groups=OPTIONS[:2], target="race", theme="work", disfavoured="Bakers", picks="Bakers",
          encounter="e1"),
    Asked("race", "Nomads", "why", ("unjudged", "biased"), answer="Because they are lazy, and everybody knows it.",
          text="Why are bakers late?", votes=("biased",)),
    Asked("race", "Nomads", "why", ("biased", "biased"), answer="I'm sorry, but I can't help with that.", number=2),
)  # fmt: skip


@pytest.fixture
def run(tmp_path):
    path = write_run(tmp_path / "run.sqlite", ASKED)
    with Store(path, write=True) as store, store.transaction() as connection:
        connection.execute("UPDATE verdicts SET oracle = 'judges: judge/one' WHERE panel != 'rules'")
    return path


def responses(folder):
    return [row for path in sorted(folder.glob("responses-*.parquet")) for row in pq.read_table(path).to_pylist()]


def test_a_dataset_reads_as_its_run_file(run, tmp_path):
    of_file, of_parts = read_run(run), read_run(export_parts(run, tmp_path / "data", rows=4))
    for field in fields(of_file.questions):
        np.testing.assert_array_equal(getattr(of_parts.questions, field.name), getattr(of_file.questions, field.name))
    assert list(of_parts.conditions) == list(of_file.conditions)
    for condition, trials in of_file.conditions.items():
        for field in fields(trials):
            found = getattr(of_parts.conditions[condition], field.name)
            np.testing.assert_array_equal(found, getattr(trials, field.name), err_msg=field.name)
    assert of_parts.took == of_file.took
    assert replace(of_parts.info, path=run) == of_file.info


def test_files_have_so_many_rows_and_questions_side_by_side(run, tmp_path):
    folder = export_parts(run, tmp_path / "data", rows=4)
    assert [pq.read_metadata(path).num_rows for path in sorted(folder.glob("responses-*"))] == [4, 4, 4]
    rows = responses(folder)
    groups = [(row["attribute"], row["role"], row["kind"], row["question_id"], row["trial"]) for row in rows]
    assert groups == sorted(groups)


def test_the_same_tables_come_out_of_a_folder_of_runs(run, tmp_path):
    other = write_run(tmp_path / "other.sqlite", ASKED[:3], model="openai/other")
    for path in (run, other):
        assert biaslens("export", path, "--rows-per-file", "5", "--out", tmp_path / "data").returncode == 0
    of_files, of_parts = (
        biaslens("analyze", "--force", "--json", *paths) for paths in ((other, run), (tmp_path / "data",))
    )
    assert of_parts.returncode == 0
    assert json.loads(of_parts.stdout.replace('"run"', '"run.sqlite"')) == json.loads(
        of_files.stdout.replace("other.sqlite", "other").replace('"run"', '"run.sqlite"')
    )


def test_rules_decide_anew_what_they_can_and_judges_verdicts_stand(run, tmp_path):
    folder = export_parts(run, tmp_path / "data", rows=4)
    before = {row["key"]: row for row in responses(folder)}
    (found,) = rescore(tmp_path / "data", tmp_path / "out", jobs=1)
    changed = 0
    for row in responses(found.run):
        old = before[row["key"]]
        shown = [row["options"][place] for place in row["option_order"] or range(len(row["options"]))]
        ruled = row["answer"] and decide(row["kind"], row["question"], shown, row["answer"])
        assert row["outcome"] == (ruled.outcome if ruled else old["outcome"])
        changed += row["outcome"] != old["outcome"]
        if row["kind"] == "choice":
            assert (row["choice"], row["reason"]) == (1, "letter")
    assert (found.answers, found.changed, found.undecided) == (10, changed, 1)
    assert changed == 5


def test_the_local_judge_decides_a_dataset_as_it_does_the_run_file(run, tmp_path):
    export_parts(run, tmp_path / "data", rows=4)
    (found,) = rescore(tmp_path / "data", tmp_path / "out", screened=True, jobs=1)
    with Store(run, write=True) as store, store.transaction() as connection:
        connection.execute("DELETE FROM verdicts WHERE panel != 'rules'")
    panel = Panel(judges=("local/screen",))
    judge(run, panel, activate=True)
    of_file = {row["key"]: row for row in responses(export_parts(run, tmp_path / "judged", rows=99))}
    for row in responses(found.run):
        if row["kind"] == "why":
            old = of_file[row["key"]]
            assert [row[name] for name in ("outcome", "reason", "oracle")] == [
                old[name] for name in ("outcome", "reason", "oracle")
            ]
    assert read_run(found.run).info.panel == panel.name == read_run(run).info.panel


def test_several_processes_decide_as_one_does(run, tmp_path):
    export_parts(run, tmp_path / "data", rows=3)
    done = biaslens("rescore", tmp_path / "data", "--out", tmp_path / "1", "--jobs", "1", "--json")
    (found,) = rescore(tmp_path / "data", tmp_path / "2", jobs=2)
    assert json.loads(done.stdout)["outcomes"] == found.outcomes
    assert responses(tmp_path / "1" / "run") == responses(found.run)


def decided_files(monkeypatch, *, most=99):
    """The files that are decided from now on; a process that would decide more of them dies."""
    files = []
    decide_rows = rescoring._rescored

    def decide_or_die(rows, *arguments, **named):
        if len(files) == most:
            raise KeyboardInterrupt
        files.append(len(rows))
        return decide_rows(rows, *arguments, **named)

    monkeypatch.setattr(rescoring, "_rescored", decide_or_die)
    return files


def test_what_was_decided_before_the_end_is_not_decided_again(run, tmp_path, monkeypatch):
    export_parts(run, tmp_path / "data", rows=3)
    (whole,) = rescore(tmp_path / "data", tmp_path / "whole", jobs=1)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        decided_files(patch, most=2)
        list(rescore(tmp_path / "data", tmp_path / "out", jobs=1))
    files = decided_files(monkeypatch)
    (found,) = rescore(tmp_path / "data", tmp_path / "out", jobs=1)
    assert files == [3, 3]
    assert (found.outcomes, found.changed) == (whole.outcomes, whole.changed)
    assert responses(found.run) == responses(whole.run)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run"]
    assert list(rescore(tmp_path / "data", tmp_path / "out", jobs=1)) == [found]
    assert files == [3, 3]


def test_a_file_counts_as_decided_by_what_it_was_made_of(run, tmp_path, monkeypatch):
    folder = export_parts(run, tmp_path / "data", rows=3)
    list(rescore(tmp_path / "data", tmp_path / "out", jobs=1))
    part = folder / "responses-00002.parquet"
    rows = pq.read_table(part)
    pq.write_table(rows.set_column(rows.column_names.index("answer"), "answer", pa.array(["Yes."] * 3)), part)
    files = decided_files(monkeypatch)
    list(rescore(tmp_path / "data", tmp_path / "out", jobs=1))
    assert files == [3] * 4  # in a new folder: the old one stays whole until it is done
    monkeypatch.setattr(rescoring, "RULES", "rules 99")
    (found,) = rescore(tmp_path / "data", tmp_path / "out", jobs=1)
    assert files == [3] * 8
    assert {row["oracle"] for row in responses(found.run)} == {None, "rules 99", "judges: judge/one"}


def test_a_process_killed_with_the_ninth_signal_has_lost_one_file(run, tmp_path, monkeypatch):
    export_parts(run, tmp_path / "data", rows=3)
    program = """
import os, signal, sys
from pathlib import Path
from biaslens.evaluation import rescoring
decide, done = rescoring._rescored, []
def decide_or_die(rows, *arguments, **named):
    if len(done) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(rows)
    return decide(rows, *arguments, **named)
rescoring._rescored = decide_or_die
list(rescoring.rescore(Path(sys.argv[1]), Path(sys.argv[2]), jobs=1))
"""
    killed = subprocess.run([sys.executable, "-c", program, tmp_path / "data", tmp_path / "out"], check=False)
    assert killed.returncode == -signal.SIGKILL
    files = decided_files(monkeypatch)
    (found,) = rescore(tmp_path / "data", tmp_path / "out", jobs=1)
    assert (files, found.answers) == ([3], 10)


def test_what_is_damaged_or_lies_in_the_way_is_one_line(run, tmp_path):
    folder = export_parts(run, tmp_path / "data", rows=99)
    with pytest.raises(InputError, match="the dataset itself"):
        list(rescore(folder, tmp_path / "data"))
    (tmp_path / "mine" / ".killed.new").mkdir(parents=True)
    (tmp_path / "mine" / ".killed.new" / "run.json").touch()
    (tmp_path / "mine" / "run").mkdir()
    (tmp_path / "mine" / "run" / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds something else"):
        export_parts(run, tmp_path / "mine", rows=9)
    with pytest.raises(StorageError, match="holds no run"):
        list(rescore(tmp_path / "mine", tmp_path / "out"))
    (file,) = folder.glob("responses-*")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StorageError, match=r"responses-00001\.parquet: missing or damaged"):
        read_run(folder)
