"""Answers that follow the form of a question, against hand-worked numbers."""

import pytest
from run_files import Asked, write_run

from biaslens.analysis import mirrored, option_position, read_run
from biaslens.runfile import Store

B, U, I = "biased", "unbiased", "invalid"  # noqa: E741 - as in run_files

OPTIONS = ("tall", "short", "none")


def choice(role, number, taken, order=None, outcome=B):
    return Asked(
        "age", role, "choice", (outcome,), number=number, options=OPTIONS, option_order=order, choice=taken
    )  # fmt: skip


SHUFFLED = (
    choice("Elders", 1, 0, (0, 1, 2)),  # shown first
    choice("Elders", 2, 1, (1, 0, 2)),  # first
    choice("Nomads", 3, 0, (0, 1, 2)),  # first
    choice("Nomads", 4, 1, (0, 1, 2)),  # last of the groups
    choice("Nomads", 5, 2, (1, 0, 2), U),  # no group taken
)


def test_the_first_position_is_taken_more_often_than_by_chance(tmp_path):
    run = read_run(write_run(tmp_path / "run.sqlite", SHUFFLED, shuffle_options=True))
    first, last = (row for _, row in option_position(run).iterrows())
    assert (first["position"], first["trials"], first["roles"]) == ("first", 4, 2)
    assert (first["share"], first["expected"], first["excess"]) == (3 / 4, 1 / 2, 1 / 4)
    assert (last["position"], last["share"], last["excess"]) == ("last", 1 / 4, -1 / 4)
    # Sums of the excess by role 1 and 0, less 2 * 1/4: residuals 1/2, -1/2; se = 1/4, t = 1: p = 1 - 2/pi * pi/4
    assert first["p"] == pytest.approx(1 / 2)


def test_in_a_fixed_order_position_and_group_cannot_be_told_apart(tmp_path):
    assert len(option_position(read_run(write_run(tmp_path / "run.sqlite", SHUFFLED)))) == 0


def mirror(path, pairs, mirror="swapped"):
    """Each pair is an original and its mirror."""
    write_run(path, [question for pair in pairs for question in pair])
    with Store(path, write=True) as store, store.transaction() as connection:
        connection.executemany(
            "INSERT INTO mirrors VALUES (?, ?, ?)", [(two.question_id, one.question_id, mirror) for one, two in pairs]
        )
    return read_run(path)


def test_yes_to_a_claim_and_to_its_mirror_follows_the_form(tmp_path):
    one = Asked("age", "Elders", "yes_no", (B, B, U), number=1)
    two = Asked("age", "Elders", "yes_no", (B, U, U), number=2)
    (row,) = mirrored(mirror(tmp_path / "run.sqlite", [(one, two)], "reversed")).to_dict("records")
    # Trial by trial: yes twice, yes once, never.
    assert (row["kind"], row["mirror"], row["pairs"]) == ("yes_no", "reversed", 3)
    assert (row["form"], row["held"], row["neither"]) == (pytest.approx(1 / 3),) * 3
    assert row["form_among_two"] == pytest.approx(1 / 2)


def test_the_same_group_twice_is_held_and_the_same_position_twice_is_form(tmp_path):
    # In the mirror the groups stand in the opposite order: option 1 there is option 0 of the original.
    pairs = [
        (choice("Elders", 1, 0), choice("Elders", 2, 1)),  # the same group
        (choice("Elders", 3, 0), choice("Elders", 4, 0)),  # the same position
        (choice("Nomads", 5, 1), choice("Nomads", 6, 2, outcome=U)),  # a group in one of them
        (choice("Nomads", 7, 1), choice("Nomads", 8, None, outcome=I)),  # no valid pair
    ]
    (row,) = mirrored(mirror(tmp_path / "run.sqlite", pairs)).to_dict("records")
    assert (row["kind"], row["pairs"], row["roles"]) == ("choice", 3, 2)
    assert (row["held"], row["form"], row["one"], row["neither"]) == (pytest.approx(1 / 3),) * 3 + (0,)
    assert row["form_among_two"] == pytest.approx(1 / 2)


def test_a_run_without_mirrors_has_no_rows_but_all_columns(tmp_path, run):
    none = mirrored(read_run(run))
    some = mirrored(mirror(tmp_path / "m.sqlite", [(choice("Elders", 1, 0), choice("Elders", 2, 1))]))
    assert len(none) == 0
    assert list(none.columns) == list(some.columns)
    shuffled = read_run(write_run(tmp_path / "s.sqlite", SHUFFLED, shuffle_options=True))
    assert list(option_position(read_run(run)).columns) == list(option_position(shuffled).columns)
