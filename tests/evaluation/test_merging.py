"""Run files of one run are joined as sets: in any order, and with nothing lost that was paid for."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, Reply, Request, answer, by_kind
from hypothesis import given, settings
from hypothesis import strategies as st
from small import TEENAGER, questions, small_benchmark

from biaslens import runfile
from biaslens.errors import InputError, RunMismatchError, StorageError
from biaslens.evaluation import Panel
from biaslens.evaluation.judge import enrol, readjudicate
from biaslens.evaluation.on_ray import merge
from biaslens.runfile import Answer, Failure, LabelRow, PlannedResponse, PlannedVote, SampledRow, Store, open_to_write
from biaslens.schema import Condition, Kind, Outcome, Verdict, Vote, content_hash

PANEL = Panel(judges=("openai/judge",))
BALLOT = PANEL.ballot("openai/judge")
WHYS = [question for number in (1, 2) for question in questions(TEENAGER, number) if question.kind is Kind.WHY]
VOTES = {"b": Vote.BIASED, "u": Vote.UNBIASED}


def stored(key: str, text: str) -> Answer:
    """The answer with a text: which of two came first hangs on the text alone."""
    return Answer(key, "openai/fake", text, "stop", "fake-1", 1, 1, 0.5, 0.1, 1, f"2026-01-01T00:00:0{len(text)}+00:00")


def write(path: Path, held: Sequence[tuple[str, str]], *, trials: int = 1) -> Path:
    """A run with an answer to each of the why questions, "" for none, and votes on it: "bu" for two."""
    with open_to_write(path) as store:
        store.set_meta({"model": "openai/fake", "benchmark_hash": "b", "trials": trials, "starts": [{"at": path.name}]})
        enrol(store, PANEL)
        planned = [PlannedResponse(content_hash(q.id), q.id, Condition.ROLE, 1) for q in WHYS]
        runfile.save_plan(store, WHYS, planned[: len(held)])
        for response, (text, votes) in zip(planned, held, strict=False):
            if not text:
                store.keep(Failure(response.key, "openai/fake", "ModelError", f"{path.name} failed", None, 1, "2026"))
                continue
            store.keep(stored(response.key, text))
            with store.transaction():
                runfile.save_screened(store, "local/screen", {response.key: len(text) / 10})
                for number, said in enumerate(votes, 1):
                    key = content_hash(BALLOT, response.key, number)
                    reason = f"on {text}"
                    vote = PlannedVote(key, response.key, BALLOT, number, VOTES[said], reason)
                    runfile.save_votes(store, [vote])
                    store.keep(stored(key, {"b": "reply", "u": "a reply"}[said] + f" on {text}"))
                label = [LabelRow(response.key, "ann", "biased", True, text, False)]
                runfile.save_labels(
                    store, text, [SampledRow(response.key, text, "all", 1.0, "biased", True, "single")], label
                )
        readjudicate(store)
    return path


def content(path: Path) -> dict[str, list]:
    with Store(path) as store:
        tables = store.column("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return {table: sorted(map(repr, store.rows(f"SELECT * FROM {table}"))) for table in tables}


def paid(path: Path) -> set[tuple]:
    with Store(path) as store:
        columns = "key, text, answered_at, price"
        return set(store.rows(f"SELECT {columns} FROM answers UNION SELECT {columns} FROM other_answers"))


_HELD = st.lists(st.tuples(st.sampled_from(["", "one", "other"]), st.text("bu", max_size=3)), max_size=2)


@given(st.tuples(_HELD, _HELD, _HELD))
@settings(max_examples=20)
def test_a_merge_is_commutative_associative_and_idempotent_and_loses_nothing(held: tuple):
    with tempfile.TemporaryDirectory() as name:
        folder, numbers = Path(name), itertools.count()

        def joined(*paths: Path) -> Path:
            return merge(paths, folder / f"merged{next(numbers)}.sqlite").run

        a, b, c = (write(folder / f"{name}.sqlite", each) for name, each in zip("abc", held, strict=True))
        ab = joined(a, b)
        assert content(ab) == content(joined(b, a))
        whole = joined(ab, c)
        assert content(whole) == content(joined(a, joined(b, c)))
        assert content(whole) == content(joined(whole, a)) == content(joined(whole, whole))
        assert paid(whole) == paid(a) | paid(b) | paid(c)


def test_the_earlier_answer_counts_with_what_was_made_of_it(tmp_path: Path):
    a = write(tmp_path / "a", [("one", "bb")])
    b = write(tmp_path / "b", [("other", "uu")])
    found = merge([b, a], tmp_path / "out.sqlite")
    key = content_hash(WHYS[0].id)
    assert [(clash.key, clash.kept, clash.other) for clash in found.clashes if clash.key == key] == [
        (key, "one", "other")
    ]
    with Store(found.run) as store:
        assert store.rows("SELECT outcome, reason FROM verdicts") == [("biased", "majority")]
        assert store.rows("SELECT vote, reason FROM votes") == [("biased", "on one")] * 2
        assert store.column("SELECT comment FROM labels") == ["one"]


def test_votes_of_two_files_on_one_answer_are_counted_together(tmp_path: Path):
    found = merge([write(tmp_path / "a", [("one", "b")]), write(tmp_path / "b", [("one", "ub")])], tmp_path / "out")
    with Store(found.run) as store:
        # The first votes differ, and the one that came first says biased: two of three with the second.
        assert store.rows("SELECT outcome FROM verdicts") == [("biased",)]
        assert len(found.clashes) == 1


def model(request: Request) -> Reply:
    if '"outcome":' in request.prompt:
        return answer(json.dumps({"reason": "one", "outcome": ("biased", "unbiased")[request.body["seed"] % 2]}))
    claim = "They are more caring because they tend to be more empathetic than all others are."
    return answer(claim) if "Why" in request.prompt else by_kind(request, biased=0.5)


def test_shards_come_to_the_same_as_the_whole_and_ask_nothing_twice():
    small_benchmark(Path("benchmark"), copies=2)
    command = ("evaluate", "openai/fake", "--benchmark", "benchmark", "--judge", "openai/judge")
    with FakeServer(model) as server:
        assert biaslens(*command, "--run", "whole.sqlite", base_url=server.base_url).returncode == 0
        asked = len(server.requests)
        shards = [f"runs/openai-fake-{number}of3.sqlite" for number in (1, 2, 3)]
        for number in (1, 2, 3):
            assert biaslens(*command, "--shard", f"{number}/3", base_url=server.base_url).returncode == 0
        assert len(server.requests) == 2 * asked
        done = biaslens("merge", shards[2], shards[0], shards[1], "--out", "merged.sqlite")
        assert (done.returncode, done.stdout) == (0, "merged.sqlite: 36 of 36 planned responses are answered\n")
        resumed = biaslens(*command, "--run", "merged.sqlite", base_url=server.base_url)
        assert (resumed.returncode, len(server.requests)) == (0, 2 * asked)
    whole, merged = content(Path("whole.sqlite")), content(Path("merged.sqlite"))
    for table in ("roles", "questions", "mirrors", "plan", "panels", "ballots", "votes", "verdicts"):
        assert merged[table] == whole[table]


def test_a_response_that_was_asked_again_in_one_file_is_planned_once(tmp_path: Path):
    first = content_hash(WHYS[0].id)
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, limits in zip(paths, ((), (900,), (800, 1000)), strict=True):
        with open_to_write(path) as store:
            store.set_meta({"model": "openai/fake"})
            runfile.save_plan(store, WHYS[:1], [PlannedResponse(first, WHYS[0].id, Condition.ROLE, 1)])
            last = first
            for limit in limits:
                store.keep(stored(last, "cut"))
                with store.transaction():
                    verdict = Verdict(Outcome.INVALID, runfile.CUT_OFF)
                    runfile.save_verdicts(store, [(last, verdict)], panel="rules", oracle="rules")
                runfile.save_retries(store, [(last, f"at {limit}")], limit)
                last = f"at {limit}"
    for order in itertools.permutations(paths):
        found = merge(order, tmp_path / f"{''.join(path.name for path in order)}.sqlite")
        with Store(found.run) as store:
            assert store.column("SELECT key FROM plan") == ["at 1000"]
            assert runfile.retried(store)[first] == "at 1000"


@pytest.mark.parametrize(
    ("fact", "says"), [({"model": "openai/b"}, "has model ="), ({"panel": "another"}, "has panel =")]
)
def test_files_of_other_runs_are_refused(tmp_path: Path, fact: dict[str, str], says: str):
    a, b = write(tmp_path / "a", [("one", "")]), write(tmp_path / "b", [("one", "")])
    with Store(b, write=True) as store:
        store.set_meta(fact)
    with pytest.raises(RunMismatchError, match=says):
        merge([a, b], tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(("out", ".out"))) == []


def test_what_is_there_is_not_written_over(tmp_path: Path):
    a = write(tmp_path / "a", [("one", "")])
    with pytest.raises(InputError, match="exists already"):
        merge([a], a)
    with pytest.raises(StorageError, match="no such run file"):
        merge([a, tmp_path / "nobody"], tmp_path / "out")
