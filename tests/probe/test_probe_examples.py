"""Readers of labelled texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from biaslens.errors import InputError
from biaslens.probe.examples import read_examples

_RELEASE = os.environ.get("BIASLENS_RELEASE")
SHARED = (Path(_RELEASE).parent if _RELEASE else Path(__file__).parents[2].parent / "shared") / "fairness-probe"
FASTTEXT = "__label__1\tAwful .\n__label__2\tBad .\n__label__3\tA film .\n__label__4\tGood .\n__label__5\tGreat !\n"
TREES = "(0 (2 Aw\\/ful) (2 .))\n(1 (1 -LRB-) (2 Bad))\n(2 (2 A) (2 film))\n(3 (3 Good) (2 .))\n(4 (4 Great) (2 !))\n"
HEADER = "ID\tTweet\tAffect Dimension\tIntensity Class\n"


def folder(path: Path, **files: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return path


def semeval(*classes: int) -> str:
    return HEADER + "".join(f"{n}\ttweet {n}\tvalence\t{k}: some words\n" for n, k in enumerate(classes))


def refused(spec: str, match: str, **options) -> None:
    with pytest.raises(InputError, match=match) as error:
        read_examples(spec, **options)
    assert "\n" not in str(error.value)


def test_sst5_as_fasttext_lines(tmp_path) -> None:
    found = read_examples(
        f"sst5:{folder(tmp_path, sst_train__txt=FASTTEXT, sst_dev__txt=FASTTEXT, sst_test__txt=FASTTEXT)}"
    )
    assert found.train.labels == (0, 0, 1, 2, 2)
    assert found.train.texts == ("Awful .", "Bad .", "A film .", "Good .", "Great !")
    assert found.train == found.dev == found.test
    assert found.train.counts() == {"negative": 2, "neutral": 1, "positive": 2}


def test_sst5_as_trees(tmp_path) -> None:
    found = read_examples(f"sst5:{folder(tmp_path, train__txt=TREES, dev__txt=TREES, test__txt=TREES)}")
    assert found.train.labels == (0, 0, 1, 2, 2)
    assert found.train.texts == ("Aw/ful .", "( Bad", "A film", "Good .", "Great !")


@pytest.mark.skipif(
    not (SHARED / "sst5").is_dir(), reason=f"SST-5 is not in {SHARED}; set BIASLENS_RELEASE to a folder beside it"
)
def test_the_real_sst5() -> None:
    found = read_examples(f"sst5:{SHARED / 'sst5'}")
    # Socher et al. 2013: 8,544, 1,101 and 2,210 sentences; validation labels 139 + 289 / 229 / 279 + 165.
    assert [len(part) for part in (found.train, found.dev, found.test)] == [8544, 1101, 2210]
    assert found.dev.counts() == {"negative": 428, "neutral": 229, "positive": 444}


def test_both_label_maps_of_semeval(tmp_path) -> None:
    classes = semeval(-3, -2, -1, 0, 1, 2, 3)
    spec = f"semeval:{folder(tmp_path, train__txt=classes, dev__txt=classes, test__txt=semeval(0, 2))}"
    paper, sign = read_examples(spec), read_examples(spec, label_map="sign")
    assert paper.train.labels == (0, 0, 1, 1, 1, 2, 2)
    assert sign.train.labels == (0, 0, 0, 1, 2, 2, 2)
    assert paper.note == "SemEval-2018 valence, label map paper: -3, -2 / -1 to 1 / 2, 3"
    assert sign.note.endswith("label map sign: below 0 / 0 / above 0")


def test_semeval_takes_the_test_file_with_gold_labels(tmp_path) -> None:
    names = {f"2018-Valence-oc-En-{part}__txt": semeval(-3, 0, 3) for part in ("train", "dev", "test-gold")}
    blind = HEADER + "1\ttweet\tvalence\tNONE\n"
    folder(tmp_path, **names, **{"2018-Valence-oc-En-test__txt": blind})
    assert read_examples(f"semeval:{tmp_path}").test.labels == (0, 1, 2)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["negative", "Neutral", " positive"], {0, 1, 2}),
        (["0", "1", "2"], {0, 1, 2}),
        (["-1", "0", "1"], {0, 1, 2}),
        (["0", "1", "1"], {0, 1}),
    ],
)
def test_any_csv(tmp_path, labels, expected) -> None:
    rows = "".join(f'{label},"text, {n}"\n' for n, label in enumerate(labels * 10))
    (tmp_path / "all.csv").write_text("Label,TEXT\n" + rows)
    found = read_examples(f"csv:{tmp_path / 'all.csv'}")
    assert [len(part) for part in (found.train, found.dev, found.test)] == [24, 3, 3]
    texts = [*found.train.texts, *found.dev.texts, *found.test.texts]
    assert sorted(texts) == sorted(f"text, {n}" for n in range(30))
    assert set(found.train.labels) == expected
    assert "split here with seed 0 into 24, 3 and 3 texts" in found.note
    assert read_examples(f"csv:{tmp_path / 'all.csv'}") == found != read_examples(f"csv:{tmp_path / 'all.csv'}", seed=1)


def test_a_folder_of_csv_files(tmp_path) -> None:
    rows = "text,label\n" + "".join(f"text {n},{n % 3}\n" for n in range(30))
    folder(tmp_path, train__csv=rows, validation__csv=rows, test__csv=rows)
    assert [len(part) for part in _parts(tmp_path)] == [30, 30, 30]
    (tmp_path / "validation.csv").unlink()
    assert [len(part) for part in _parts(tmp_path)] == [27, 3, 30]  # a tenth of the training texts to choose by


def _parts(path: Path):
    found = read_examples(f"csv:{path}")
    return found.train, found.dev, found.test


def test_fewer_texts_are_the_same_ones_each_time(tmp_path) -> None:
    lines = "".join(f"__label__{1 + n % 5}\ttext {n}\n" for n in range(50))
    found = read_examples(f"sst5:{folder(tmp_path, train__txt=lines, dev__txt=lines)}")
    few = found.limited(10, 5)
    assert (len(few.train), len(few.dev)) == (10, 5)
    assert set(few.train.texts) < set(found.train.texts)
    assert few == found.limited(10, 5)
    assert found.limited(1000) == found
    assert few.fingerprint() != found.fingerprint()


def test_faults_are_one_line(tmp_path) -> None:
    refused("sst6:x", "--data sst6:x: write one of sst5:PATH, semeval:PATH and csv:PATH")
    refused(f"csv:{tmp_path}/none.csv", "there is no ")
    refused(f"sst5:{folder(tmp_path / 'empty')}", r"no file of the name \*train\*.txt and \*dev\*.txt")
    bad = folder(tmp_path / "bad", train__txt="__label__6\tx\n", dev__txt=FASTTEXT)
    refused(f"sst5:{bad}", r"train.txt:1: unknown label '6'; known are 1, 2, 3, 4, 5")
    folder(bad, train__txt="nothing of the kind\n")
    refused(f"sst5:{bad}", "train.txt:1: neither `__label__3<tab>text` nor a tree")
    folder(bad, train__txt="__label__1\tx\n__label__2\ty\n")
    refused(f"sst5:{bad}", "the training texts need at least two labels, but all are negative")
    folder(bad, train__txt=FASTTEXT, dev__txt="__label__3\tx\n")
    refused(f"sst5:{bad}", "the validation texts need at least two labels, but all are neutral")
    folder(bad, train__txt="")
    refused(f"sst5:{bad}", "train.txt: holds no texts")


def test_faults_of_tables_are_one_line(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text,label\nfine,positive\nbad,terrible\n")
    refused(f"csv:{tmp_path / 'a.csv'}", r"a.csv:3: unknown label 'terrible'; known are negative, neutral, positive")
    (tmp_path / "a.csv").write_text("texts,label\nfine,positive\n")
    refused(f"csv:{tmp_path / 'a.csv'}", "needs the columns text and label; it has texts, label")
    (tmp_path / "a.csv").write_text("text,label\n,positive\n")
    refused(f"csv:{tmp_path / 'a.csv'}", "a.csv:2: there is no text beside the label")
    (tmp_path / "a.csv").write_bytes(b"text,label\n\xff\xfe,1\n")
    refused(f"csv:{tmp_path / 'a.csv'}", "not a CSV file in UTF-8")
    (tmp_path / "s.txt").write_text("ID,Tweet\n")
    refused(f"semeval:{tmp_path / 's.txt'}", "the first line is not ID, Tweet, Affect Dimension, Intensity Class")
    (tmp_path / "s.txt").write_text(semeval(4))
    refused(f"semeval:{tmp_path / 's.txt'}", "unknown label '4'")
