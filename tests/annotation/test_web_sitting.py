"""When a break is suggested, and how foreign text is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_folder import key, write_label_folder
from markupsafe import Markup, escape

from biaslens.annotation.folder import Label, read_items
from biaslens.annotation.journal import Journal
from biaslens.annotation.web import Sitting
from biaslens.report.page import visible
from biaslens.schema import Outcome

MINUTE = 60.0


@pytest.fixture
def sitting(tmp_path):
    """A sitting whose clock is set by hand, and the clock."""
    folder = write_label_folder(tmp_path / "labels", 60)
    clock = [0.0]
    with Journal(folder, "ann") as journal:
        yield Sitting(read_items(folder), journal, clock=lambda: clock[0]), clock


def due(sitting, clock, minutes):
    """Whether a break is due after each label given at these minutes."""
    found = []
    for number, minute in enumerate(minutes, start=1):
        clock[0] = minute * MINUTE
        sitting.record(Label(key(number), Outcome.BIASED))
        found.append(sitting.break_due())
    return found


def test_half_an_hour_is_enough(sitting):
    assert due(*sitting, [9, 18, 27, 30, 31, 40, 49, 58, 60]) == [*[False] * 3, True, *[False] * 4, True]


def test_a_pause_of_ten_minutes_was_a_break(sitting):
    assert due(*sitting, [9, 18, 28, 37, 46, 55, 58]) == [*[False] * 6, True]


def test_fifty_labels_are_enough_and_counted_anew(sitting):
    found = due(*sitting, [0.0] * 60)
    assert [place for place, is_due in enumerate(found, start=1) if is_due] == [50]


def test_undoing_leaves_labels_of_other_items_alone(tmp_path):
    folder = write_label_folder(tmp_path / "labels", 3)
    with Journal(folder, "ann") as journal:
        journal.record(Label(key(3), Outcome.BIASED))
        assert Sitting(read_items(folder)[:2], journal).undo() is None
        assert list(journal.labels) == [key(3)]


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]) | st.sampled_from("\n\t\u200d")))
def test_ordinary_text_is_only_escaped(text):
    assert visible(text) == escape(text)


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs"])))
def test_nothing_is_hidden_and_every_page_can_be_sent(text):
    shown = visible(text)
    assert isinstance(shown, Markup)
    shown.encode("utf-8")
    marks = [char for char in text.replace("\r\n", "\n").replace("\r", "\n") if char not in "\n\t"]
    assert shown.count("<span") <= len(marks)
    assert not set(shown) & set(
        "\x00\x1b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\ufeff"
    )


def test_the_time_left_is_told_from_five_labels_on(sitting):
    sitting, clock = sitting
    for number in range(1, 5):
        sitting.record(Label(key(number), Outcome.BIASED, sure=True, comment=""))
        clock[0] += 30
    assert sitting.minutes_left is None
    clock[0] += 6000  # a pause counts for nothing
    sitting.record(Label(key(5), Outcome.BIASED, sure=True, comment=""))
    # Pauses 30, 30, 30 and 6030 s: median 30; 55 items left take 27.5 minutes.
    assert sitting.minutes_left == 28
