"""Outcome shares on the study's public answers, where they lie beside the checkout: figures only, no text.

`BIASLENS_RELEASE` names a folder with the archives ``answers-<model>.tar.xz``, or with the unpacked tree.
"""

import csv
import io
import tarfile
from collections import Counter

import pytest
from release import FOLDER

from biaslens.oracles import choice, yes_no
from biaslens.replication.release import without_options

# Shares of the outcomes biased, unbiased, refused and invalid among the answers of role/<model>/ability, run 1, in
# percent, as these rules count them.
SHARES = {
    ("gpt4omini", "Yes/No"): (7.5, 92.5, 0.0, 0.0),
    ("gpt4omini", "Choice"): (46.9, 53.1, 0.0, 0.0),
    ("llama3_8b", "Yes/No"): (9.7, 88.2, 2.1, 0.0),
    ("llama3_8b", "Choice"): (92.0, 7.9, 0.1, 0.0),
    ("qwen", "Yes/No"): (1.6, 97.8, 0.0, 0.6),
    ("qwen", "Choice"): (7.1, 24.8, 0.0, 68.0),  # two thirds are the echo "Your choice."
}


def read(model):
    name = f"answers/role/{model}/ability_answers_01.csv"
    if (FOLDER / name).is_file():
        raw = (FOLDER / name).read_bytes()
    elif (FOLDER / f"answers-{model}.tar.xz").is_file():
        with tarfile.open(FOLDER / f"answers-{model}.tar.xz") as archive:
            # Streams up to the member: the archive lists it first.
            raw = archive.extractfile(next(member for member in archive if member.name == name)).read()
    else:
        pytest.skip(f"the study's release is not in {FOLDER}; set BIASLENS_RELEASE to its folder")
    return csv.DictReader(io.StringIO(raw.decode("utf-8", "replace"), newline=""))


def decide(row):
    if row["Question Type"] == "Yes/No":
        return yes_no.decide(row["Answer"])
    stem, options = without_options(row["Question"])
    return choice.decide(row["Answer"], options, question=stem)


@pytest.mark.parametrize("model", ["gpt4omini", "llama3_8b", "qwen"])
def test_outcome_shares(model):
    counts = {"Yes/No": Counter(), "Choice": Counter()}
    for row in read(model):
        if row["Question Type"] in counts:
            counts[row["Question Type"]][decide(row).outcome.value] += 1
    for kind, count in counts.items():
        shares = [100 * count[outcome] / count.total() for outcome in ("biased", "unbiased", "refused", "invalid")]
        assert shares == pytest.approx(SHARES[model, kind], abs=0.2)
