"""`biaslens labels import`, `agreement`, and what the other commands show of a run that labels were taken into."""

import csv
import json
import re
from pathlib import Path

import pytest
from command import Done, biaslens
from labelled_runs import B, I, U, questions, write_labels
from run_files import META, write_run

README = Path(__file__).parents[2] / "results" / "README.md"

# As in test_corrected: raw 8 of 12, corrected 5 of 12.
ASKED = questions("B" * 8 + "U" * 4)
SAMPLED = dict.fromkeys(ASKED[4:8], 0.5) | dict.fromkeys(ASKED[8:], 1.0)
SAID = [B, B, U, U, B, U, U, U]


@pytest.fixture(autouse=True)
def labelled(tmp_path):
    """A run and its labels by two people, who differ on the last answer; nobody has adjudicated."""
    write_run(tmp_path / "run.sqlite", ASKED)
    return write_labels(tmp_path / "labels", SAMPLED, {"ann": SAID, "ben": [*SAID[:7], B]})


def ran(*arguments) -> Done:
    return biaslens(*arguments, COLUMNS="100")


def output(*arguments) -> str:
    done = ran(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(r"[ ─]+", " ", done.stdout)


def agreement(run: str = "run.sqlite", labels: str = "labels") -> str:
    output("labels", "import", run, labels)
    return output("agreement", run)


def test_it_says_what_there_is():
    text = agreement()
    assert "8 sampled answers; labels: ann 8, ben 8; 7 answers have a final label" in text
    assert "1 answers are open: annotators differ and nobody has adjudicated" in text


def test_people_oracles_and_rates_are_printed():
    write_labels(Path("labels"), SAMPLED, {"ann": SAID, "ben": SAID})
    text = agreement()
    # Weighted as in test_agreement: agreement 7/12, kappa 4/19, 1/5 missed, 4/7 false, 1/2 right.
    assert "ann, ben 8 37.5 % 100.0 % 1.00" in text
    assert re.search(r"rules 8 58\.3 % 0\.21 .* 20\.0 % 57\.1 % 50\.0 %", text)
    assert re.search(r"role yes_no 8 66\.7 % \([^)]*\) 41\.7 % \([^)]*\) 41\.7 %", text)


def test_one_annotator_tells_nothing_of_agreement_but_all_of_the_oracle():
    (Path("labels") / "annotators" / "ben.csv").unlink()
    text = agreement()
    assert "there are fewer than two, so their agreement is unknown" in text
    assert "rules 8 58.3 %" in text


def test_two_who_have_no_answer_in_common():
    write_labels(Path("labels"), SAMPLED, {"ann": SAID[:4], "ben": [None] * 4 + SAID[4:]})
    assert "no answer was labelled by two of them" in agreement()


def test_validity_is_said_apart():
    write_labels(Path("labels"), SAMPLED, {"ann": [I, *SAID[1:]], "ben": [None]})
    assert (
        "rules: 0 answers are invalid by its verdict alone, 1 by the labels alone; neither are in the comparison"
        in agreement()
    )


def test_kinds_without_labels_say_so():
    asked = [*ASKED, *questions("BU", kind="why")]
    write_run(Path("more.sqlite"), asked)
    text = agreement("more.sqlite")
    assert "why: no label of why answers" in text


def test_a_run_that_nothing_has_judged(tmp_path):
    asked = questions("JJJ", kind="why")
    write_run(tmp_path / "unjudged.sqlite", asked)
    write_labels(tmp_path / "why", dict.fromkeys(asked, 1.0), {"ann": [B, U, U]})
    assert "no labelled answer has a verdict; there is nothing to compare" in agreement("unjudged.sqlite", "why")


def test_tables_are_written_and_every_column_is_documented():
    ran("labels", "import", "run.sqlite", "labels")
    done = ran("agreement", "run.sqlite", "--out", "out", "--json")
    shown = json.loads(done.stdout)
    readme = README.read_text(encoding="utf-8")
    assert {path.name for path in Path("out").iterdir()} == {f"{name}.csv" for name in shown}
    for name, rows in shown.items():
        section = readme.split(f"### {name}.csv", 1)[1].split("\n#", 1)[0]
        columns, *written = read(Path("out") / f"{name}.csv")
        assert len(written) == len(rows) > 0
        bounds = [f"{column}{bound}" for column in columns for bound in ("_low", "_high")]
        named = [column for column in columns if f"`{column}`" in section or column in bounds]
        assert named == columns, f"{name}.csv"


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_taking_labels_in_says_what_there_is():
    text = output("labels", "import", "run.sqlite", "labels")
    assert "run.sqlite: 8 sampled answers; labels: ann 8, ben 8; 7 with a final label" in text
    assert "1 answers are open: annotators differ and nobody has adjudicated" in text


def test_agreement_of_a_run_without_labels_is_one_line_with_the_command_that_takes_them_in():
    done = biaslens("agreement", "run.sqlite")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "biaslens: run.sqlite: holds no labels; `biaslens labels import run.sqlite FOLDER` takes them in\n"
    )


def test_agreement_only_reads():
    agreement()
    before = Path("run.sqlite").read_bytes()
    Path("run.sqlite").chmod(0o444)
    output("agreement", "run.sqlite")
    assert Path("run.sqlite").read_bytes() == before


def test_labels_of_another_run_are_one_line():
    write_run(Path("other.sqlite"), questions("BBU", attribute="race"))
    done = biaslens("labels", "import", "other.sqlite", "labels")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "the labels are of another run" in done.stderr


def test_without_labels_nothing_is_shown_of_them():
    for command in (("report", "run.sqlite"), ("analyze", "run.sqlite")):
        assert "orrected by" not in output(*command)
    assert "corrected" not in json.loads(ran("analyze", "run.sqlite", "--json").stdout)


def test_report_shows_the_corrected_rate_beside_the_raw_one():
    agreement()
    # The open answer is no label, so seven are left.
    assert "Corrected by labels" in (text := output("report", "run.sqlite"))
    assert re.search(r"yes/no 7 66\.7 % \d+\.\d % \d+\.\d to \d+\.\d", text)
    corrected = json.loads(ran("report", "run.sqlite", "--json").stdout)["conditions"][0]["corrected"]
    assert corrected["yes_no"] == corrected["all"]
    assert corrected["all"]["labels"] == 7


def test_analyze_has_a_table_of_corrected_rates():
    agreement()
    done = ran("analyze", "run.sqlite", "--out", "out")
    assert "orrected" in done.stdout
    columns, row, *_ = read(Path("out") / "corrected.csv")
    found = dict(zip(columns, row, strict=True))
    assert (found["model"], found["attribute"], found["kind"], found["labels"]) == (META["model"], "all", "yes_no", "7")


def test_the_leaderboard_has_it_in_columns_of_their_own():
    write_labels(Path("labels"), SAMPLED, {"ann": SAID})
    ran("leaderboard", "run.sqlite", "--out", "before")
    ran("labels", "import", "run.sqlite", "labels")
    ran("leaderboard", "run.sqlite", "--out", "after")
    before, after = (dict(zip(*read(Path(folder) / "leaderboard.csv"), strict=True)) for folder in ("before", "after"))
    assert {name: after[name] for name in before if after[name] != before[name]} == {
        name: after[name] for name in after if re.fullmatch(r"(labels|corrected_(rate|low|high))(_yes_no)?", name)
    }
    assert (before["corrected_rate"], before["labels"]) == ("", "")
    assert (after["bias_rate"], after["corrected_rate"], after["labels"]) == ("0.666667", "0.416667", "8")
    assert after["corrected_rate_yes_no"] == "0.416667"
    assert after["corrected_rate_why"] == ""
