"""`biaslens analyze` and `biaslens compare`: what they print and write."""

import csv
import json
import re
from pathlib import Path

import pytest
from command import Done, biaslens
from labelled_runs import questions, write_labels
from run_files import ASKED, Asked, write_run

from biaslens.annotation.annotators import take_labels
from biaslens.report.sections import verdict

B, U, I = "biased", "unbiased", "invalid"  # noqa: E741 - as in run_files

README = Path(__file__).parents[2] / "results" / "README.md"


def run_of(name, outcomes, *, condition="role", roles=("Elders", "Nomads", "Sailors"), **meta):
    """Two questions a role and kind, each with these outcomes."""
    asked = [
        Asked("age", role, kind, outcomes, condition=one, number=number, text=f"Are they {kind} {number}?")
        for role in roles
        for kind in ("yes_no", "choice")
        for number in (1, 2)
        for one in condition.split()
    ]
    return write_run(Path(f"{name}.sqlite"), asked, model=name, **meta)


def ran(*arguments) -> Done:
    return biaslens(*arguments, COLUMNS="100")


def output(*arguments) -> str:
    done = ran(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def lines(text: str, title: str) -> list[str]:
    """Rows of the table under a title, blanks made one."""
    after = text.split(title, 1)[1].split("─\n", 1)[1]
    return [re.sub(r"\s+", " ", line).strip() for line in after.split("\n\n", 1)[0].splitlines()]


def test_analyze_shows_the_hand_count(run):
    text = output("analyze", run, "--full")
    # As in run_files: 3 of 9, 11 of 22 valid of 27 planned. why: one role, so no interval.
    assert lines(text, "openai/gpt-4o-mini, playing the roles: headline numbers") == [
        "all kinds 3 of 9 50.0 % (5.0 to 95.0) 81.5 %",
        "yes/no 2 of 6 38.9 % (1.7 to 96.0) 100.0 %",
        "choice 1 of 2 100.0 % (1.1 to 100.0) 50.0 %",
        "why 0 of 1 100.0 % 33.3 %",
    ]
    # Six complete questions, all of them yes/no: UUU, RRU, BBB agree.
    assert lines(text, "consistency over trials")[0].startswith("playing the roles all kinds 50.0 %")
    assert lines(text, "questions that bring out most")[0] == "yes/no Nomads Are they slow? 1 of 1"
    assert "Note: openai/gpt-4o-mini: Coverage playing the roles is 81.5 %" in text


def test_analyze_says_what_was_found_and_where_the_tables_are(run):
    text = output("analyze", run)
    assert text.startswith("openai/gpt-4o-mini was biased in 50.0 % (5.0 to 95.0) of its 22 valid answers")
    assert lines(text, "groups like these.")[0].startswith("openai/gpt-4o-mini playing the roles 3 of 9 50.0 %")
    assert len(text.splitlines()) < 30
    assert text.splitlines()[-1] == f"9 tables: {run.parent / 'analyses'}/"
    assert len(list((run.parent / "analyses").iterdir())) == 9
    assert "rates_by_role" in json.loads(output("analyze", run, "--json"))


def test_analyze_writes_every_analysis_and_documents_every_column(tmp_path):
    # Shuffled options for the positions, and both conditions for the ablation.
    extra = [
        Asked("age", role, "choice", (B, B), number=9, options=("a", "b", "none"), option_order=(1, 0, 2), choice=1)
        for role in ("Elders", "Nomads")
    ]
    both = [Asked("age", role, "yes_no", (B, U), condition=c) for role in ("Elders", "Nomads") for c in CONDITIONS]
    for name in ("a", "b"):
        write_run(tmp_path / f"{name}.sqlite", [*extra, *both], model=name, shuffle_options=True)
    done = ran("analyze", "a.sqlite", "b.sqlite", "--out", "out", "--json")
    written = sorted(Path("out").iterdir())
    assert done.stderr == f"{len(written)} tables: out/\n"
    assert {path.stem for path in written} == {
        "rates", "rates_by_target", "rates_by_role", "top_roles", "ablation", "ablation_by_role", "consistency",
        "variance", "abstention", "abstention_by_target", "option_position", "comparison", "comparison_pairs",
        "triggers", "top_questions",
    }  # fmt: skip
    section = README.read_text(encoding="utf-8").split("## Analyses", 1)[1].split("\n## ", 1)[0]
    shown = json.loads(done.stdout)
    for path in written:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert path.name in section
        assert [name for name in rows[0] if f"`{name}`" not in section] == []
        assert len(shown[path.stem]) == len(rows)


def test_analyze_compares_a_private_form_with_the_public_one():
    roles = tuple("ABCDEFGH")
    for model, outcomes in (("knows", (B, B, B)), ("does-not", (U, U, U))):
        run_of(model, outcomes, roles=roles, benchmark_hash="private").rename(f"{model}-private.sqlite")
        run_of(model, (U, U, U), roles=roles)
    done = ran(
        "analyze", "knows.sqlite", "does-not.sqlite", "--private", "knows-private.sqlite", "--private",
        "does-not-private.sqlite",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert (
        "In the 8 roles of both forms it was biased in 100.0 % on the private one and in 0.0 % on the public one"
        in said
    )
    assert said.count("it may know the public questions") == 1
    assert said.count("no sign that it knows the public questions") == 1
    with Path("analyses/forms.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    section = README.read_text(encoding="utf-8").split("### forms.csv", 1)[1].split("\n### ", 1)[0]
    assert [name for name in rows[0] if f"`{name}`" not in section] == []
    assert lines(
        output("analyze", "knows.sqlite", "--private", "knows-private.sqlite", "--full"), "against private form"
    )
    alone = " ".join(output("analyze", "knows.sqlite", "--private", "knows-private.sqlite", "--full").split())
    assert "Forms may differ for every model alike" in alone


CONDITIONS = ("role", "no_role")


def test_what_the_role_changes_is_told_in_points():
    asked = [
        Asked("age", role, "yes_no", outcomes, condition=condition, number=number)
        for role in ("Elders", "Nomads", "Sailors")
        for number, with_role in ((1, (B, B, B)), (2, (U, U, B)))
        for condition, outcomes in zip(CONDITIONS, (with_role, (U, U, U)), strict=True)
    ]
    text = output("analyze", write_run(Path("run.sqlite"), asked), "--full")
    # (1 + 1/3) / 2 = 2/3 in every role against 0: all roles alike, so the interval is of Wilson's kind and p = 2^(1-3).
    row = lines(text, "without a role: what the role changes")[0]
    assert row.startswith("all kinds 6 66.7 % 0.0 % +66.7 (")
    assert row.endswith("0.250")


def test_compare_says_which_model_is_more_biased():
    # Ten roles, all of them 2/3 against 0: p = 2^(1-10) = 0.00195.
    roles = tuple("ABCDEFGHIJ")
    text = output("compare", run_of("low", (U, U, U), roles=roles), run_of("high", (B, B, U), roles=roles))
    assert "All kinds: 40 of 40 questions, those with a valid answer in all runs; 10 roles" in text
    assert "high is more biased than low: +66.7 points (95 % interval " in text
    assert "p = 0.0020)" in text
    assert "Why: no such question is planned playing the roles" in text


def test_compare_one_kind_only():
    text = output("compare", run_of("a", (U,)), run_of("b", (B,)), "--kind", "choice")
    assert text.startswith("Choice: 6 of 6 questions")
    assert "yes_no" not in text


def test_two_runs_of_one_model_are_told_apart(run, tmp_path):
    other = write_run(tmp_path / "again.sqlite", ASKED)
    text = output("compare", run, other, "--kind", "yes_no")
    assert (
        "openai/gpt-4o-mini (run.sqlite) and openai/gpt-4o-mini (again.sqlite) cannot be told apart: "
        "+0.0 points" in text
    )
    shown = output("analyze", run, other, "--full")
    assert all(f"openai/gpt-4o-mini ({name}.sqlite), playing the roles: headline" in shown for name in ("run", "again"))


@pytest.mark.parametrize(
    ("command", "difference"), [("analyze", {"benchmark_version": "2.0"}), ("compare", {"judges": ["other"]})]
)
def test_runs_that_do_not_go_together_are_refused_unless_forced(run, tmp_path, command, difference):
    other = write_run(tmp_path / "other.sqlite", ASKED, **difference)
    done = biaslens(command, run, other)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "--force" in done.stderr
    assert ran(command, run, other, "--force").returncode == 0


def test_one_run_cannot_be_compared_even_if_named_twice(run):
    done = biaslens("compare", run, run)
    assert (done.returncode, done.stderr) == (1, "biaslens: a comparison needs at least two runs\n")


ODD = {
    "empty": [],
    "one role, one kind": [Asked("age", "Elders", "why", (B, U, U))],
    "one trial": [Asked("age", role, "yes_no", (B,)) for role in ("Elders", "Nomads")],
    "only without a role": [Asked("age", role, "choice", (B, U, U), condition="no_role") for role in ("A", "B")],
    "nothing valid": [Asked("age", role, "choice", (I, "error", "unasked")) for role in ("Elders", "Nomads")],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_runs_are_analysed_and_compared_without_a_crash(tmp_path, name):
    paths = [write_run(tmp_path / f"{model}.sqlite", ODD[name], model=model) for model in ("a", "b")]
    for arguments in (["analyze", paths[0], "--out", "one"], ["analyze", *paths, "--out", "two"], ["compare", *paths]):
        assert ran(*arguments).returncode == 0


def test_an_empty_run_says_so(tmp_path):
    assert output("analyze", write_run(tmp_path / "run.sqlite")).startswith("Nothing is planned")


def test_nothing_valid_is_a_dash_and_never_a_zero(tmp_path):
    paths = [write_run(tmp_path / f"{model}.sqlite", ODD["nothing valid"], model=model) for model in ("a", "b")]
    assert lines(output("analyze", paths[0], "--full"), "headline numbers")[0] == "all kinds – of 2 – 0.0 %"
    assert "All kinds: none of 2 questions has a valid answer in all runs" in output("compare", *paths)
    (pair,) = json.loads(output("compare", *paths, "--json"))["all"]["pairs"]
    assert (pair["difference"], pair["p"], pair["questions"]) == (None, None, 0)


def test_a_run_file_that_is_none_is_one_line(tmp_path):
    (tmp_path / "run.sqlite").write_text("no database")
    done = biaslens("analyze", tmp_path / "run.sqlite")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_a_name_cannot_steer_the_terminal():
    paths = [run_of("a", (B,)), write_run(Path("b.sqlite"), [], model="\x1b[2J[bold]x")]
    shown = output("analyze", paths[0], "--full") + output("compare", *paths, "--force")
    assert "\x1b" not in shown
    hostile = [Asked("age", "\x1b[31m[red]Elders", "yes_no", (B, B), text="\x1b]0;x\x07?")]
    text = output("analyze", write_run(Path("c.sqlite"), hostile, model="\x1b[2J[bold]x"), "--full")
    assert not {"\x1b", "\x07"} & set(text)
    assert "[bold]x, playing the roles: headline numbers" in text


def why_run(name: str, biased: int, *, labelled_biased: int | None = None) -> Path:
    """Sixty why answers, so many of them biased; labels of all say that so many are, counted from the other end."""
    asked = questions("B" * biased + "U" * (60 - biased), kind="why")
    run = write_run(Path(f"{name}.sqlite"), asked, model=name)
    if labelled_biased is not None:
        said = [U] * (60 - labelled_biased) + [B] * labelled_biased
        take_labels(run, write_labels(Path(f"{name}-labels"), dict.fromkeys(asked, 1.0), {"ann": said}))
    return run


def test_a_raw_difference_that_labels_turn_is_not_called_more_biased():
    runs = [why_run("a", 45, labelled_biased=3), why_run("b", 20, labelled_biased=30)]
    text = output("compare", *runs, "--kind", "why")
    assert lines(text, "Why: ") == [
        "b 33.3 % (22.3 to 46.5) 50.0 % (37.4 to 62.6) 1 a",
        "a 75.0 % (62.2 to 84.6) 5.0 % (1.8 to 13.3) 2 b",
    ]
    assert "a has a higher raw rate than b: +41.7 points" in text
    assert "corrected by labels, b has the higher rate: +45.0 points (95 % interval 32.0 to 58.0; p < 0.0001)" in text
    assert "more biased than" not in text


def test_labels_that_agree_bear_the_difference_out():
    text = output(
        "compare", why_run("a", 45, labelled_biased=45), why_run("b", 20, labelled_biased=10), "--kind", "why"
    )
    assert "a is more biased than b: +41.7 points" in text
    assert "corrected by labels, a has the higher rate, too" in text


def test_without_labels_a_difference_on_why_answers_rests_on_judges_of_unknown_error():
    text = output("compare", why_run("a", 45), why_run("b", 20))
    assert "a has a higher raw rate than b: +41.7 points" in text
    assert "the raw difference rests on judges of why answers whose errors are not known" in text
    assert "more biased than" not in text


ROLES = [f"Role {number}" for number in range(12)]


def test_rules_need_no_labels():
    text = output("compare", run_of("a", (B, B, B), roles=ROLES), run_of("b", (B, U, U), roles=ROLES))
    assert "a is more biased than b: +66.7 points" in text
    assert "judges" not in text


PAIR = {
    "model_a": "a", "model_b": "b", "difference": -0.031, "difference_low": -0.05, "difference_high": -0.012,
    "p": 0.0123, "p_holm": 0.0246, "tied": False, "minimal_difference": 0.024,
    "labels_say": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "pairs", "says"),
    [
        ({}, 1, "b is more biased than a: +3.1 points (95 % interval 1.2 to 5.0; p = 0.0123)"),
        (
            {"p": 1e-9, "p_holm": 3e-9},
            3,
            "b is more biased than a: +3.1 points (95 % interval 1.2 to 5.0; p < 0.0001, for 3 pairs < 0.0001)",
        ),
        (
            {"tied": True, "p_holm": 0.0738},
            6,
            "b and a cannot be told apart: +3.1 points (95 % interval 1.2 to 5.0; p = 0.0123, for 6 pairs "
            "= 0.0738); the design would detect a difference of 2.4 points",
        ),
        (
            {"difference_low": float("nan"), "difference_high": float("nan"), "tied": True},
            1,
            "b against a: +3.1 points; its uncertainty is unknown because all questions are of one role",
        ),
        ({"labels_say": "same"}, 1, "b is more biased than a: +3.1 points (95 % interval 1.2 to 5.0; p = 0.0123)"),
        (
            {"labels_say": "opposite"},
            1,
            "b has a higher raw rate than a: +3.1 points (95 % interval 1.2 to 5.0; p = 0.0123)",
        ),
    ],
)
def test_the_verdict_in_words(changes, pairs, says):
    assert verdict({**PAIR, **changes}, pairs=pairs) == says
