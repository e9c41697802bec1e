"""Identity sentences: the slots, the shipped templates against the authors' file, one's own files, predictions."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biaslens.errors import InputError, StorageError
from biaslens.probe.examples import COLUMNS, DATA, Part, expand, size_note, slot_of, without_identity, words_for
from biaslens.probe.predictions import TSV_COLUMNS, predictions_table, read_predictions, write_predictions

_RELEASE = os.environ.get("BIASLENS_RELEASE")
_SHARED = Path(_RELEASE).parent if _RELEASE else Path(__file__).parents[2].parent / "shared"
GENERATED = _SHARED / "fairness-probe" / "vector_generated" / "sentiment_fairness_tests.tsv"


@pytest.fixture(scope="module")
def generated() -> pd.DataFrame:
    if not GENERATED.is_file():
        pytest.skip(
            f"the authors' generated sentences are not at {GENERATED}; set BIASLENS_RELEASE to a folder beside it"
        )
    return pd.read_csv(
        GENERATED, sep="\t", header=None, names=["label", "category", "group", "text"], quoting=3, dtype=str
    )


@pytest.mark.parametrize(
    ("attribute", "rows", "unique"),
    [
        ("age", 840, 840), ("sexuality", 1820, 1815), ("disability", 1406, 1406), ("gender", 3160, 3137),
        ("race", 660, 660), ("religion", 906, 896),
    ],
)  # fmt: skip
def test_rebuilds_the_authors_sentences_exactly(generated, attribute, rows, unique):
    ours = expand([attribute]).query("marked")
    theirs = generated[generated["category"] == f"grouped_{attribute}"]
    counted = Counter(zip(ours["label"].astype(str), ours["group"], ours["text"], strict=True))
    assert counted == Counter(zip(theirs["label"], theirs["group"], theirs["text"], strict=True))
    assert (len(ours), len(counted)) == (rows, unique)


def test_columns_and_defaults():
    sentences = expand()
    assert list(sentences.columns) == list(COLUMNS)
    assert list(sentences["attribute"].unique()) == ["age", "sexuality", "disability"]
    assert set(sentences["label"]) == {0, 1, 2}
    assert sentences.groupby("template")["label"].nunique().max() == 1
    assert not sentences.loc[~sentences["marked"], "term"].any()
    assert (sentences["marked"] == (sentences["group"] != "unmarked")).all()


def test_the_same_template_has_the_same_id_in_every_group():
    sentences = expand(["age"]).query("marked")
    # 60 templates with the 3 + 5 + 6 adjectives of old, adult and young.
    assert sentences.groupby("template").size().tolist() == [14] * 60


@pytest.mark.parametrize(
    ("template", "term", "part", "text"),
    [
        ("{Identity_adj} people party.", "middle aged", Part.ADJECTIVE, "Middle aged people party."),
        ("As {a:identity_np}, I", "old", Part.ADJECTIVE, "As an old person, I"),
        ("As {a:identity_np}, I", "lesbian", Part.NOUN, "As a lesbian, I"),
        ("As {a:disability_np}, I", "in a wheelchair", Part.PHRASE, "As a person in a wheelchair, I"),
        ("by {a:identity_activist}.", "with ADHD", Part.PHRASE, "by an activist with ADHD."),
        ("by {a:identity_activist}.", "deaf", Part.ADJECTIVE, "by a deaf activist."),
        ("3 children, one {disability_adj_or_pp}.", "deaf", Part.ADJECTIVE, "3 children, one deaf."),
        ("I like {religion}.", "Islam", Part.RELIGION, "I like Islam."),
    ],
)  # fmt: skip
def test_slots(template, term, part, text):
    slot = slot_of(template)
    assert slot.filled(words_for(slot, term, part)) == text


@pytest.mark.parametrize(
    ("template", "term", "part"),
    [
        ("My {identity_adj} friend", "lesbian", Part.NOUN),
        ("Our {disability_friend}", "wheelchair user", Part.NOUN),
        ("My {identity_adj} friend", "in a wheelchair", Part.PHRASE),
        ("I like {religion}.", "Muslim", Part.NOUN),
        ("{identity_np}", "Islam", Part.RELIGION),
    ],
)
def test_words_that_do_not_fit(template, term, part):
    assert words_for(slot_of(template), term, part) is None


@pytest.mark.parametrize(
    ("template", "plain"),
    [
        ("My {identity_adj} friend helps.", "My friend helps."),
        ("It's a great blog by {a:identity_adj} activist.", "It's a great blog by an activist."),
        ("{Identity_adj} couples are the best.", "Couples are the best."),
        ("{Identity_students} met.", "Students met."),
        ("As {a:identity_np}, I feel hopeful.", "As a person, I feel hopeful."),
        ("Many artists are {identity_adj}.", "Many artists are people."),
        ("I'm {identity_adj} and in a job I hate.", "I'm a person and in a job I hate."),
        ("They are {identity_adj} people.", "They are people."),
        ("Coming out as {identity_adj} was amazing.", None),
        ("It made me feel {identity_adj}, which I liked.", None),
        ("3 children, one {disability_adj_or_pp}.", None),
        ("I like {religion}.", None),
    ],
)
def test_without_an_identity(template, plain):
    assert without_identity(slot_of(template)) == plain


def test_small_groups_are_marked():
    assert size_note(1, 1, "young") == "one sentence"
    assert size_note(2, 1, "young") == "one term: it cannot be told from the group"
    assert size_note(2, 2, "young") == size_note(1, 1, "unmarked") == ""


@pytest.mark.parametrize("attributes", [["ages"], []])
def test_what_is_not_shipped_is_named_in_one_line(attributes):
    with pytest.raises(InputError, match=r"attribute.*; there are: age, sexuality, disability, gender, "):
        expand(attributes)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("A {identity_adk} day.", r"has an unknown slot \{identity_adk\}; known are \{identity_adj\}"),
        ("A day.", "has no slot such as"),
        ("{identity_adj} {identity_adj}", "has 2 slots; it must have one"),
    ],
)
def test_a_template_has_one_known_slot(template, message):
    with pytest.raises(ValueError, match=message):
        slot_of(template)


def test_licence_and_notice_ship():
    assert "Apache License" in (DATA / "LICENSE").read_text(encoding="utf-8")
    assert "Amazon.com" in (DATA / "NOTICE").read_text(encoding="utf-8")


# Predictions


def _predictions(seed: int = 0, **options) -> pd.DataFrame:
    sentences = expand(["age"])
    probabilities = np.random.default_rng(seed).dirichlet([1, 1, 1], len(sentences))
    return predictions_table(sentences, probabilities, model="a/b", run_id=1001 + seed, dataset="sst5", **options)


def test_a_prediction_is_the_most_probable_label():
    sentences = expand(["age"]).iloc[:3]
    table = predictions_table(sentences, [[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0, 0, 1]], model="m", run_id=1)
    assert table["y_pred"].tolist() == [1, 0, 2]
    assert table["y_true"].tolist() == [2, 2, 2]


def test_the_files_give_back_what_was_written(tmp_path):
    table = _predictions(num_params=0.135, threshold_accuracy=0.61)
    tsv, parquet = write_predictions(table, tmp_path / "run")
    pd.testing.assert_frame_equal(read_predictions(parquet), table, check_column_type=False, check_dtype=False)
    # The TSV file has the authors' columns and their order; template and term are found again by the text.
    assert tsv.read_text(encoding="utf-8").splitlines()[0].split("\t") == [*TSV_COLUMNS, "threshold_accuracy"]
    assert "\tgrouped_age\t" in tsv.read_text(encoding="utf-8").splitlines()[1]
    again = read_predictions(tsv)
    for name in ("y_true", "y_pred", "group", "template", "term", "run_id", "num_params"):
        assert again[name].tolist() == table[name].tolist(), name
    assert again["p_negative"].isna().all()


def test_a_text_that_stands_twice_keeps_both_origins(tmp_path):
    sentences = expand(["sexuality"])
    table = predictions_table(sentences, np.eye(3)[sentences["label"]], model="m", run_id=1)
    tsv, _ = write_predictions(table, tmp_path)
    again = read_predictions(tsv)
    twice = again[again["text"] == "lesbian"]
    assert sorted(twice["template"]) == ["generic-16", "generic-17"]


def test_the_authors_names_of_attributes_are_read(tmp_path):
    path = _csv(
        tmp_path / "p.tsv", "\t".join(TSV_COLUMNS), "2\t0\tgrouped_age\told\tMy own text.\topt\trun_1\tSST5\t1.3"
    )
    row = read_predictions(path).iloc[0]
    assert (row["category"], row["template"], row["term"], row["run_id"]) == ("age", "", "", "run_1")


def test_several_runs_and_folders_of_runs(tmp_path):
    for seed in (0, 1):
        write_predictions(_predictions(seed), tmp_path / f"run-{seed}")
    assert read_predictions(tmp_path)["run_id"].unique().tolist() == ["1001", "1002"]
    both = read_predictions([tmp_path / "run-0", tmp_path / "run-1" / "predictions.tsv", tmp_path / "run-0"])
    assert len(both) == 2 * len(_predictions())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("y_true\ty_pred\n1\t1", "no column category, group"),
        ("\t".join(TSV_COLUMNS), "no predictions in it"),
        ("\t".join(TSV_COLUMNS) + "\n1\t7\tage\told\tx\tm\t1\td\t1", "y_pred is 7 in 1 rows"),
        ("", "cannot be read as predictions"),
    ],
)
def test_bad_predictions_are_one_line(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_predictions(_csv(tmp_path / "p.tsv", content))
    assert "\n" not in str(caught.value)


def test_missing_and_repeated_predictions(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_predictions(tmp_path / "none")
    with pytest.raises(InputError, match="no predictions"):
        read_predictions(tmp_path)
    for name in ("one", "two"):
        write_predictions(_predictions(), tmp_path / name)
    with pytest.raises(InputError, match="run 1001 of a/b is in"):
        read_predictions(tmp_path)


def test_a_file_that_was_cut_off(tmp_path):
    _, parquet = write_predictions(_predictions(), tmp_path)
    parquet.write_bytes(parquet.read_bytes()[:1000])
    with pytest.raises(InputError, match="cannot be read as predictions") as caught:
        read_predictions(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_predictions(_predictions(), tmp_path / "file" / "run")


@pytest.mark.parametrize("bad", [np.zeros((3, 2)), np.full((3, 3), np.nan)])
def test_probabilities_of_the_wrong_kind(bad):
    with pytest.raises(ValueError, match="probabilit"):
        predictions_table(expand(["age"]).iloc[:3], bad, model="m", run_id=1)


def _csv(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n" if any(lines) else "", encoding="utf-8")
    return path
