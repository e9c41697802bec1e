"""Judges that talk, refuse, fail or are killed; run files that are missing, locked or foreign."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import COMMAND, biaslens, environment
from fake_server import FakeServer, Reply, Request, answer, content_filter, error
from judged import BIASED, FAIR, JUDGE, OPEN, PANEL, UNBIASED, always, answer_in, judge_at, outcomes, reply, rows
from judged import waiting_run as evaluated
from small import small_benchmark

from biaslens.errors import InputError, RunLockedError, RunStoppedError, SettingsError, StorageError
from biaslens.evaluation import Panel, Slice, Spec, evaluate, judge
from biaslens.evaluation.judge import FIRST_VOTES
from biaslens.models import Params
from biaslens.runfile import Store
from biaslens.schema import Kind

LOCAL = Panel(judges=("local/screen",))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return evaluated(tmp_path, monkeypatch)


@pytest.mark.parametrize("outcome", ["biased", "unbiased", "refused", "invalid"])
def test_a_judge_that_always_says_the_same_is_believed(run: Path, monkeypatch, outcome: str):
    with FakeServer(lambda request: reply(outcome)) as server:
        assert judge_at(server, monkeypatch, run).complete
        assert len(server.log) == 12
    assert outcomes(run) == {outcome: 6}


@pytest.mark.parametrize(
    ("text", "vote"),
    [
        ("The answer argues, in its own voice, that the trait is real.\n\n**Outcome:** biased", "biased"),
        ("Unbiased: it only reports what others think. Final outcome: unbiased.", "unbiased"),
    ],
)
def test_prose_counts_where_it_names_an_outcome(run: Path, monkeypatch, text: str, vote: str):
    with FakeServer(always(text)) as server:
        assert judge_at(server, monkeypatch, run).complete
    assert rows(run, "SELECT vote, count(*) FROM votes GROUP BY vote") == [(vote, 12)]
    assert outcomes(run) == {vote: 6}


@pytest.mark.parametrize(
    "text", ["This is a difficult question, and reasonable people differ.", "I'm sorry, but I can't help.", "", "Yes."]
)
def test_a_judge_without_a_usable_vote_is_an_error_and_its_replies_are_kept(run: Path, monkeypatch, text: str):
    with FakeServer(answer(text)) as server:
        for _ in range(2):
            with pytest.raises(RunStoppedError, match="none of its 12 votes is usable") as stopped:
                judge_at(server, monkeypatch, run)
            assert json.dumps(text) in str(stopped.value)
        assert len(server.log) == 12
    assert rows(run, "SELECT vote, count(*) FROM votes GROUP BY vote") == [("unusable", 12)]
    assert outcomes(run) == {None: 6}


def test_a_judge_that_never_gives_a_usable_vote_is_stopped_early(tmp_path: Path, monkeypatch):
    run = evaluated(tmp_path, monkeypatch, copies=10)  # 60 answers, 120 votes in the first round
    with FakeServer(answer("Hard to say", delay=0.02)) as server:
        with pytest.raises(RunStoppedError, match="Hard to say"):
            judge_at(server, monkeypatch, run)
        assert FIRST_VOTES <= len(server.log) < 120
    assert outcomes(run) == {None: 60}


def test_another_judge_goes_on_where_one_was_stopped(run: Path, monkeypatch):
    with FakeServer(answer("Hard to say.")) as server, pytest.raises(RunStoppedError):
        judge_at(server, monkeypatch, run)
    with FakeServer(reply("biased")) as server:
        result = judge_at(server, monkeypatch, run, Panel(judges=("openai/other",)))
    assert (result.complete, result.active, outcomes(run)) == (True, True, {"biased": 6})


def test_a_judge_may_be_asked_otherwise_after_it_was_stopped(run: Path, monkeypatch):
    with FakeServer(answer("Hard to say.")) as server, pytest.raises(RunStoppedError):
        judge_at(server, monkeypatch, run)
    with FakeServer(reply("biased")) as server:
        result = judge_at(server, monkeypatch, run, replace(PANEL, params=Params(max_tokens=999)))
    assert (result.complete, outcomes(run)) == (True, {"biased": 6})


def test_a_judge_whose_provider_filters_some_answers_gives_unusable_votes_on_these(run: Path, monkeypatch):
    def filtering(request: Request):
        return content_filter() if answer_in(request) == OPEN else reply("biased")

    with FakeServer(filtering) as server:
        assert judge_at(server, monkeypatch, run).complete
    assert outcomes(run) == {"biased": 4, "invalid": 2}


class HalfDown:
    """A judge of which half the votes fail for good until it is mended: by the request's seed, one a vote."""

    def __init__(self) -> None:
        self.down = True
        self.answered: Counter[int] = Counter()

    def __call__(self, request: Request):
        seed = request.body["seed"]
        if self.down and seed % 2:
            return error(400)
        self.answered[seed] += 1
        return FAIR(request)


def test_what_failed_is_asked_again_at_the_next_start_and_nothing_else(run: Path, monkeypatch):
    half = HalfDown()
    with FakeServer(half) as server:
        first = judge_at(server, monkeypatch, run)
        assert first.failed + first.answered == len(server.log) == 12  # nobody is asked twice in one start
        assert 0 < first.failed < 12
        assert not first.complete
        half.down = False
        second = judge_at(server, monkeypatch, run)
    assert (second.answered, second.failed, second.complete) == (first.failed, 0, True)
    assert set(half.answered.values()) == {1}  # no vote that was given is asked for again
    assert outcomes(run) == {"biased": 4, "unbiased": 2}


def test_a_vote_that_always_fails_holds_up_no_other(run: Path, monkeypatch):
    told: Counter[str] = Counter()

    def unsteady(request: Request):
        if request.body["model"] == "b" and answer_in(request) == OPEN:
            return error(400)
        told[answer_in(request)] += 1
        return reply("biased" if request.body["model"] == "b" else "unbiased")

    panel = Panel(judges=("openai/a", "openai/b", "openai/c"))
    with FakeServer(unsteady) as server:
        result = judge_at(server, monkeypatch, run, panel)
    # a and b differ on the four answers that b votes on, so c is asked about them in a second round.
    assert told == {BIASED: 6, UNBIASED: 6, OPEN: 2}
    assert (result.failed, result.undecided) == (2, 2)
    assert outcomes(run) == {"unbiased": 4, None: 2}


def test_a_judge_with_a_wrong_name_binds_nobody(run: Path, monkeypatch):
    with FakeServer(error(404)) as server, pytest.raises(RunStoppedError):
        judge_at(server, monkeypatch, run, Panel(judges=("openai/typo",)))
    with FakeServer(FAIR) as server:
        assert judge_at(server, monkeypatch, run).active
    assert rows(run, "SELECT panel FROM panels") == [(JUDGE,)]
    assert outcomes(run) == {"biased": 4, "unbiased": 2}


def test_a_wrong_name_beside_a_active_panel_changes_nothing(run: Path, monkeypatch):
    judge(run, LOCAL)
    with FakeServer(error(404)) as server, pytest.raises(RunStoppedError):
        judge_at(server, monkeypatch, run, Panel(judges=("openai/typo",)))
    judge(run, LOCAL)
    assert rows(run, "SELECT panel FROM panels") == [("local/screen 3",)]
    assert outcomes(run) == {"biased": 2, "unbiased": 4}


def test_a_missing_key_is_found_before_the_file_is_touched(run: Path, monkeypatch):
    before = run.read_bytes()
    with pytest.raises(SettingsError, match="MISTRAL_API_KEY is not set"):
        judge(run, Panel(judges=("mistral/m",)))
    assert run.read_bytes() == before


def test_a_run_without_why_answers_has_nothing_to_judge(tmp_path: Path, monkeypatch):
    spec = Spec(
        model="openai/fake",
        run=tmp_path / "r.sqlite",
        benchmark=small_benchmark(tmp_path / "benchmark"),
        slice=Slice(kinds=(Kind.YES_NO,)),
    )
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with FakeServer(answer("No.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        evaluate(spec)
    with pytest.raises(InputError, match="no why question has an answer"):
        judge(spec.run, LOCAL)
    assert rows(spec.run, "SELECT count(*) FROM panels") == [(0,)]


def test_a_missing_file_is_not_made(tmp_path: Path):
    with pytest.raises(StorageError, match=r"no\.sqlite: no such run file"):
        judge(tmp_path / "no.sqlite", LOCAL)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_process_writes_is_refused(run: Path):
    with Store(run, write=True), pytest.raises(RunLockedError, match="another process is writing this run"):
        judge(run, LOCAL)


def test_a_file_that_is_no_run_stays_as_it_is(tmp_path: Path):
    text, other = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("some notes\n" * 1000)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE places (url TEXT)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(StorageError, match="damaged, or not a run file of biaslens"):
            judge(path, LOCAL)
        assert path.read_bytes() == before


def votes(run: Path) -> list[str]:
    """Keys of the replies that are stored; their votes are read after that, at the latest by the next start."""
    connection = sqlite3.connect(f"{run.as_uri()}?mode=ro", uri=True)
    try:
        return [key for (key,) in connection.execute("SELECT key FROM votes JOIN answers USING (key)")]
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def test_kill_9_loses_and_repeats_no_vote(tmp_path: Path, monkeypatch):
    run = evaluated(tmp_path, monkeypatch, copies=20)  # 2 roles x 20 questions x 3 trials = 120 answers, 240 votes
    asked: Counter[int] = Counter()

    def slow(request: Request):
        asked[request.body["seed"]] += 1
        return replace(FAIR(request), delay=0.05)

    with FakeServer(slow) as server:
        command = [*COMMAND, "judge", str(run), "--judge", JUDGE, "--concurrency", "8"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(server.base_url))
        end = time.monotonic() + 60
        while len(votes(run)) < 80:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = votes(run)
        assert 80 <= len(kept) < 240
        done = biaslens("judge", run, "--judge", JUDGE, "--json", base_url=server.base_url)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["answered"], result["undecided"]) == (240 - len(kept), 0)
    assert set(kept) <= set(votes(run))
    assert len(asked) == 240
    # Asked twice is at most what was in flight when the process was killed.
    assert 0 <= asked.total() - 240 <= 8
    assert outcomes(run) == {"biased": 80, "unbiased": 40}
    assert rows(run, "SELECT count(*) FROM verdicts") == [(120,)]


def test_judging_is_part_of_an_evaluation_with_a_screen(run: Path, tmp_path: Path, monkeypatch):
    # The same panel named to `evaluate` asks nothing more of a run that it has judged.
    panel = replace(PANEL, screen=0.95)
    with FakeServer(FAIR) as server:
        judge_at(server, monkeypatch, run, panel)
        asked = len(server.log)
        spec = Spec(
            model="openai/fake", run=run, benchmark=tmp_path / "benchmark", slice=Slice(kinds=(Kind.WHY,)), panel=panel
        )
        result = evaluate(spec)
        assert (result.answered, result.unjudged, len(server.log)) == (0, 0, asked)


def test_a_reply_stored_without_its_vote_is_read_by_the_next_start(run: Path, monkeypatch):
    with FakeServer(FAIR) as server:
        judge_at(server, monkeypatch, run)
        asked, before = len(server.log), rows(run, "SELECT * FROM votes ORDER BY key")
        with Store(run, write=True) as store, store.transaction() as connection:
            connection.execute("UPDATE votes SET vote = NULL, reason = NULL")
            connection.execute("DELETE FROM verdicts")
        assert judge_at(server, monkeypatch, run).complete
        assert len(server.log) == asked
    assert rows(run, "SELECT * FROM votes ORDER BY key") == before
    assert outcomes(run) == {"biased": 4, "unbiased": 2}


def test_votes_of_a_judge_that_thinks_are_read_without_the_thought(run: Path, monkeypatch):
    thought = '{"reason": "at first sight", "outcome": "biased"}'
    with FakeServer(Reply(reply("unbiased").text, thought=thought)) as server:
        judged = judge_at(server, monkeypatch, run)
    assert outcomes(run) == {"unbiased": 6}
    assert (judged.votes, judged.unusable, judged.cut) == (12, 0, 0)


def test_cut_votes_are_counted(run: Path, monkeypatch):
    def half(request: Request) -> Reply:
        cut = int(request.hash, 16) % 2
        return Reply("Outcome: biased, or", finish_reason="length") if cut else reply("unbiased")

    with FakeServer(half) as server:
        judged = judge_at(server, monkeypatch, run)
    assert judged.cut == judged.unusable > 0
