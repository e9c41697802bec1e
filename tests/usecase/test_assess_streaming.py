"""Responses pass by in parts: a million of them need not fit into memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from assessed import QUICK

from biaslens.settings import load_settings
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._reading import Response
from biaslens.usecase._scoring import DEFAULTS, open_scorer
from biaslens.usecase._spec import Recorder, TextOptions, TextSpec, generation_path, groups_compared
from biaslens.usecase._texts import Index, measure_texts

TEXTS = ["She is a kind nurse.", "He is a kind, strong nurse.", "It rains.", "You idiot."]


class Part(list[Response]):
    """A part that can be watched: lists themselves cannot."""


class Watched:
    """Makes each part anew and counts how many are alive."""

    def __init__(self, parts: int, size: int) -> None:
        self.parts_made = 0
        self.most_alive = 0
        self._parts, self._size = parts, size
        self._alive: weakref.WeakSet[Part] = weakref.WeakSet()

    def parts(self) -> Iterator[Sequence[Response]]:
        for number in range(self._parts):
            part = Part(
                Response(f"{number}-{place}", None, f"{TEXTS[place % 4]} {number}") for place in range(self._size)
            )
            Part.__hash__ = object.__hash__  # type: ignore[method-assign]
            self._alive.add(part)
            self.parts_made += 1
            self.most_alive = max(self.most_alive, len(self._alive))
            yield part
            del part


def measured(source):
    lexicon = load_words(["gender"])
    spec = TextSpec(
        options=TextOptions(resampling=QUICK, attributes=["gender"]),
        path=generation_path(mentions=None, satisfied=None),
        lexicon=lexicon,
        compared=groups_compared(lexicon, {}, None, named=True),
        scorers={kind: open_scorer(kind, name, load_settings()) for kind, name in DEFAULTS.items()},
    )

    async def score(scorer, texts):
        return np.asarray(scorer.score(texts))

    return asyncio.run(measure_texts(source, Index(source), spec, score, Recorder()))[0]


def test_parts_are_let_go():
    source = Watched(parts=6, size=40)
    found = measured(source)
    assert source.parts_made == 12  # once to index, once to measure
    assert source.most_alive <= 2  # the one at hand, and the one that is being made
    assert found[0].units == 240


class Cut:
    """Responses in parts of a size."""

    def __init__(self, responses: list[Response], size: int) -> None:
        self._responses, self._size = responses, size

    def parts(self) -> Iterator[Sequence[Response]]:
        for start in range(0, len(self._responses), self._size):
            yield self._responses[start : start + self._size]


def test_the_cut_into_parts_changes_nothing():
    everything = [Response(f"{n // 5}", None, f"{TEXTS[n % 4]} {n % 7}") for n in range(60)]
    one, many = (measured(Cut(everything, size)) for size in (1000, 7))
    # As text, for NaN differs from itself.
    assert [repr(m) for m in one if m.metric != "COBS"] == [repr(m) for m in many if m.metric != "COBS"]
    values = [float(m.estimate.value) for found in (one, many) for m in found if m.metric == "COBS"]
    assert values[0] == pytest.approx(values[1])  # adding up in another order rounds otherwise


MEASURE = r"""
import csv, re, sys
from pathlib import Path
from biaslens.usecase import assess_texts
from biaslens.usecase._result import Resampling
from biaslens.usecase._spec import TextOptions
with open("many.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["response"])
    for number in range(int(sys.argv[1])):
        writer.writerow([f"She likes number {number} and the kind nurse, and he the strong doctor."])
found = assess_texts("many.csv", TextOptions(resampling=Resampling(rounds=100, exchanges=99)))
assert found.counts["responses"] == int(sys.argv[1])
# Not getrusage: a process begins with what its parent used at most.
print(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read as Linux has it")
def test_many_responses_stay_small():
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, "15000"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 400 * 2**10  # some 300 MB are the libraries: at most 7 kB a response
