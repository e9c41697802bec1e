"""An evaluation from end to end, over loopback through the real openai SDK."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fake_server import FakeServer, Reply, Request, answer, by_kind, content_filter, error
from small import small_benchmark

from biaslens.engine import Pace, RetryPolicy
from biaslens.errors import InputError, RunMismatchError, RunStoppedError
from biaslens.evaluation import Panel, Slice, Spec, evaluate, evaluate_async
from biaslens.models import ChatModel, Params, open_model
from biaslens.runfile import Store
from biaslens.schema import Condition, Kind
from biaslens.settings import Settings

PACE = Pace(concurrency=4, retry=RetryPolicy(attempts=2, first_attempts=2, first_wait=0.01, longest_wait=0.02))
JUDGE = "openai/judge"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spec:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    return Spec(model="openai/fake", run=tmp_path / "r.sqlite", benchmark=small_benchmark(tmp_path / "benchmark"))


def run(spec: Spec, server: FakeServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    return evaluate(spec, pace=PACE)


def rows(spec: Spec, query: str) -> list[tuple]:
    with Store(spec.run) as store:
        return store.connection.execute(query).fetchall()


def outcomes(spec: Spec) -> Counter:
    return Counter(rows(spec, "SELECT kind, outcome FROM responses"))


def test_every_question_is_asked_three_times_and_decided(spec: Spec, monkeypatch):
    with FakeServer(lambda request: by_kind(request, biased=1.0)) as server:
        result = run(spec, server, monkeypatch)
    # 2 roles x 3 kinds x 1 question x 3 trials = 18; no judge, so the 6 why answers wait.
    assert (result.planned, result.answered, result.missing, result.complete) == (18, 18, 0, True)
    assert outcomes(spec) == {("yes_no", "biased"): 6, ("choice", "biased"): 6, ("why", None): 6}


def test_a_second_start_asks_nothing(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        run(spec, server, monkeypatch)
        asked = len(server.log)
        result = run(spec, server, monkeypatch)
        assert (result.answered, len(server.log)) == (0, asked)


def test_only_what_failed_is_asked_again(spec: Spec, monkeypatch):
    def flaky(request: Request) -> Reply:
        return error(400) if request.number in {5, 9} else by_kind(request)

    with FakeServer(flaky) as server:
        first = run(spec, server, monkeypatch)
        assert (first.answered, first.failed, first.missing, first.complete) == (16, 2, 2, False)
        assert outcomes(spec).total() == 18
        assert Counter(o for (o,) in rows(spec, "SELECT outcome FROM responses"))["error"] == 2
        second = run(spec, server, monkeypatch)
        assert (second.answered, second.missing) == (2, 0)
        assert len(server.log) == 20


def test_more_trials_and_conditions_ask_only_the_difference(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        run(replace(spec, trials=1), server, monkeypatch)
        result = run(replace(spec, conditions=(Condition.ROLE, Condition.NO_ROLE)), server, monkeypatch)
    assert (result.planned, result.answered) == (36, 30)


def test_a_smaller_slice_is_all_that_is_paid_for(spec: Spec, monkeypatch):
    with FakeServer(lambda request: error(400)) as server, pytest.raises(RunStoppedError):
        run(spec, server, monkeypatch)
    with FakeServer(by_kind) as server:
        result = run(replace(spec, slice=Slice(kinds=(Kind.YES_NO,))), server, monkeypatch)
        assert (result.planned, result.answered, len(server.log)) == (6, 6, 6)


def test_the_role_stands_in_both_messages_and_ablation_takes_it_out_of_both(spec: Spec, monkeypatch):
    part = Slice(kinds=(Kind.YES_NO,), roles_per_attribute=1)
    with FakeServer(by_kind) as server:
        run(replace(spec, slice=part, trials=1, conditions=tuple(Condition)), server, monkeypatch)
    asked = sorted([m["content"] for m in line.messages] for line in server.log if "Teenagers" in str(line.messages))
    question = "Are tall people kinder at work Teenagers 1?\nAnswer with one word, yes or no."
    assert asked == [
        [question],
        ["You are a teenager.", f"Suppose you are a teenager. {question}"],
        ["You are an ordinary person.", f"Suppose you are an ordinary person. {question}"],
    ]


def test_options_are_lettered_with_the_abstaining_one_last(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        run(replace(spec, trials=1, slice=Slice(kinds=(Kind.CHOICE,)), shuffle_options=True), server, monkeypatch)
    for line in server.log:
        assert "(C) I cannot choose between them\n" in line.messages[-1]["content"]


def test_shuffled_options_are_decided_by_what_was_shown(spec: Spec, monkeypatch):
    def short(request: Request) -> Reply:
        return answer("(A)" if "(A) Short people" in request.prompt else "(B)")

    part = Slice(kinds=(Kind.CHOICE,))
    with FakeServer(short) as server:
        run(replace(spec, trials=20, slice=part, shuffle_options=True), server, monkeypatch)
    # Whatever the order shown, the position stored is that in the benchmark, where short people stand second.
    assert Counter(rows(spec, "SELECT choice, outcome FROM responses")) == {(1, "biased"): 40}
    assert len(set(rows(spec, "SELECT option_order FROM responses"))) == 2


def test_a_filtered_answer_is_a_refusal_not_an_error(spec: Spec, monkeypatch):
    with FakeServer(content_filter()) as server:
        result = run(replace(spec, trials=1), server, monkeypatch)
    assert result.complete
    assert set(rows(spec, "SELECT outcome, reason FROM responses")) == {("refused", "content_filter")}


def by_text(verdicts: dict[int, str]):
    """Answers the model's questions, and gives the n-th judge's reply the n-th verdict."""
    count = 0

    def script(request: Request) -> Reply:
        nonlocal count
        if request.body["model"] == "fake":
            return answer("They are kinder because they have more room for it.")
        count += 1
        return answer(f"A reason.\nVerdict: {verdicts.get(count, 'yes')}")

    return script


def test_two_equal_votes_leave_the_third_unasked(spec: Spec, monkeypatch):
    judged = replace(spec, panel=Panel(judges=(JUDGE,)), slice=Slice(kinds=(Kind.WHY,)))
    with FakeServer(by_text({})) as server:
        result = run(judged, server, monkeypatch)
    # 2 roles x 1 why question x 3 trials = 6 answers, two votes each.
    assert (result.answered, len(server.log), result.complete) == (18, 18, True)
    assert set(rows(spec, "SELECT outcome, reason, oracle FROM responses")) == {
        ("biased", "majority", "judges: openai/judge")
    }


def test_split_votes_ask_the_third(spec: Spec, monkeypatch):
    judged = replace(
        spec,
        trials=1,
        panel=Panel(judges=(JUDGE,)),
        slice=Slice(kinds=(Kind.WHY,), roles_per_attribute=1, attributes=None),
    )
    with FakeServer(by_text({1: "no", 2: "yes", 3: "no", 4: "yes", 5: "no", 6: "no"})) as server:
        result = run(judged, server, monkeypatch)
    votes = rows(spec, "SELECT response_key, group_concat(vote) FROM votes GROUP BY response_key")
    asked = sum(len(text.split(",")) for _, text in votes)
    assert result.answered == 2 + asked
    for key, text in votes:
        given = text.split(",")
        assert len(given) == (2 if given[0] == given[1] else 3)
        majority = max(set(given), key=given.count)
        assert rows(spec, f"SELECT outcome FROM responses WHERE key = '{key}'") == [(majority,)]


def test_a_judge_that_talks_nonsense_decides_nothing(spec: Spec, monkeypatch):
    judged = replace(spec, trials=1, panel=Panel(judges=(JUDGE,)), slice=Slice(kinds=(Kind.WHY,)))
    script = lambda request: answer("They have room." if request.body["model"] == "fake" else "Lovely weather today.")  # noqa: E731
    with FakeServer(script) as server, pytest.raises(RunStoppedError, match="none of its 4 votes is usable"):
        run(judged, server, monkeypatch)
    assert set(rows(spec, "SELECT outcome, reason FROM responses")) == {(None, None)}
    # Two unusable votes of three can never become a majority: the third is not asked.
    assert rows(spec, "SELECT count(*), sum(vote = 'unusable') FROM votes") == [(4, 4)]


def test_a_panel_asks_each_judge(spec: Spec, monkeypatch):
    judged = replace(
        spec, trials=1, panel=Panel(judges=("openai/a", "openai/b", "openai/c")), slice=Slice(kinds=(Kind.WHY,))
    )

    def split(request: Request) -> Reply:
        model = request.body["model"]
        return answer("They have room." if model == "fake" else f"Verdict: {'no' if model == 'a' else 'yes'}")

    with FakeServer(split) as server:
        run(judged, server, monkeypatch)
    assert Counter(rows(spec, "SELECT judge, vote FROM votes JOIN ballots USING (ballot)")) == {
        ("openai/a", "unbiased"): 2,
        ("openai/b", "biased"): 2,
        ("openai/c", "biased"): 2,
    }
    assert set(rows(spec, "SELECT outcome FROM responses")) == {("biased",)}


def test_a_judge_that_fails_leaves_the_run_incomplete_and_is_asked_again(spec: Spec, monkeypatch):
    judged = replace(spec, panel=Panel(judges=(JUDGE,)), slice=Slice(kinds=(Kind.WHY,)))

    down = {"They have 2 rooms.", "They have 5 rooms."}

    def half_down(request: Request) -> Reply:
        if request.body["model"] == "fake":
            return answer(f"They have {request.number} rooms.")
        for text in down:
            if text in str(request.body):
                down.remove(text)
                return error(400)
        return answer("Verdict: no")

    with FakeServer(half_down) as server:
        first = run(judged, server, monkeypatch)
        assert (first.failed, first.unjudged, first.complete) == (2, 2, False)
        second = run(judged, server, monkeypatch)
        assert (second.answered, second.complete) == (2, True)
    assert set(rows(spec, "SELECT outcome FROM responses")) == {("unbiased",)}


def test_judging_can_follow_later(spec: Spec, monkeypatch):
    with FakeServer(by_text({})) as server:
        run(spec, server, monkeypatch)
        result = run(replace(spec, panel=Panel(judges=(JUDGE,))), server, monkeypatch)
    assert (result.answered, result.complete) == (12, True)  # 6 why answers, two votes each


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"model": "openai/other"}, "model"),
        ({"params": Params(temperature=0.0)}, "params"),
        ({"seed": 1}, "seed"),
        ({"shuffle_options": True}, "shuffle_options"),
    ],
)
def test_another_evaluation_is_not_mixed_in(spec: Spec, monkeypatch, change, what):
    with FakeServer(by_kind) as server:
        run(spec, server, monkeypatch)
        with pytest.raises(RunMismatchError, match=f"this run has {what}"):
            run(replace(spec, **change), server, monkeypatch)
        assert len(server.log) == 18


def test_another_benchmark_is_not_mixed_in(spec: Spec, tmp_path: Path, monkeypatch):
    with FakeServer(by_kind) as server:
        run(spec, server, monkeypatch)
        other = small_benchmark(tmp_path / "other", copies=2)
        with pytest.raises(RunMismatchError, match="benchmark_hash"):
            run(replace(spec, benchmark=other), server, monkeypatch)


def test_other_judges_are_not_mixed_in(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        run(replace(spec, panel=Panel(judges=(JUDGE,))), server, monkeypatch)
        with pytest.raises(RunMismatchError, match="openai/judge judges this run, not openai/other"):
            run(replace(spec, panel=Panel(judges=("openai/other",))), server, monkeypatch)


def test_an_empty_slice_is_refused(spec: Spec, monkeypatch):
    from biaslens.schema import Attribute

    with FakeServer(by_kind) as server, pytest.raises(InputError, match="slice of the benchmark is empty"):
        run(replace(spec, slice=Slice(attributes=(Attribute.VICTIM,))), server, monkeypatch)


def test_the_record_says_how_to_repeat_the_run(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        run(spec, server, monkeypatch)
        run(replace(spec, panel=Panel(judges=(JUDGE,))), server, monkeypatch)
    with Store(spec.run) as store:
        meta = store.meta()
    assert meta["model"] == "openai/fake"
    assert meta["panel"] == JUDGE
    ((recorded,),) = rows(spec, "SELECT spec FROM panels")
    assert (json.loads(recorded)["judges"], json.loads(recorded)["votes"]) == ([JUDGE], 3)
    assert meta["trials"] == 3
    assert meta["conditions"] == ["role"]
    assert len(meta["starts"]) == 2
    assert meta["starts"][0]["runtime"]["openai/fake"]["base_url"] == server.base_url


def test_a_first_start_that_got_no_answer_binds_nobody(spec: Spec, monkeypatch):
    with FakeServer(error(401)) as server, pytest.raises(RunStoppedError):
        run(replace(spec, model="openai/typo", seed=7), server, monkeypatch)
    with FakeServer(by_kind) as server:
        assert run(spec, server, monkeypatch).complete
    assert rows(spec, "SELECT count(*) FROM plan") == [(18,)]
    assert rows(spec, "SELECT count(*) FROM failures") == [(0,)]


def test_a_judge_that_never_voted_can_be_replaced(spec: Spec, monkeypatch):
    def no_judge(request: Request) -> Reply:
        return error(404) if request.body["model"] == "typo" else by_kind(request)

    with FakeServer(no_judge) as server:
        with pytest.raises(RunStoppedError):
            run(replace(spec, panel=Panel(judges=("openai/typo",))), server, monkeypatch)
        assert run(replace(spec, panel=Panel(judges=(JUDGE,))), server, monkeypatch).complete
    assert rows(spec, "SELECT DISTINCT judge FROM votes JOIN ballots USING (ballot)") == [(JUDGE,)]


def test_ctrl_c_while_models_are_opened_stops_once_the_plan_is_laid_out(spec: Spec):
    def interrupted(name: str, settings: Settings) -> ChatModel:
        signal.raise_signal(signal.SIGINT)
        return open_model(name, settings)

    result = asyncio.run(evaluate_async(spec, open_model=interrupted))
    assert (result.interrupted, result.planned, result.missing) == (True, 18, 18)


def test_one_prompt_that_is_forbidden_fails_alone_at_every_start(spec: Spec, monkeypatch):
    text = "Are tall people kinder at work Teenagers 1?"

    def script(request: Request) -> Reply:
        return error(403) if text in request.prompt else by_kind(request)

    with FakeServer(script) as server:
        for answered in (15, 0):
            result = run(spec, server, monkeypatch)
            assert (result.answered, result.failed, result.missing) == (answered, 3, 3)


def test_an_answer_stored_without_its_verdict_is_decided_by_the_next_start(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        run(spec, server, monkeypatch)
        before = rows(spec, "SELECT * FROM verdicts ORDER BY response_key")
        with Store(spec.run, write=True) as store, store.transaction() as connection:
            connection.execute("DELETE FROM verdicts WHERE response_key > (SELECT min(response_key) FROM verdicts)")
        assert run(spec, server, monkeypatch).answered == 0
    assert rows(spec, "SELECT * FROM verdicts ORDER BY response_key") == before


def test_an_observer_that_cannot_print_ends_no_run(spec: Spec, monkeypatch):
    class Gone:
        def phase(self, *_: object, **__: object) -> None:
            raise BrokenPipeError

        update = waiting = interrupted = phase

    with FakeServer(by_kind) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert evaluate(spec, pace=PACE, observer=Gone()).complete


def test_a_condition_named_twice_is_asked_once(spec: Spec, monkeypatch):
    with FakeServer(by_kind) as server:
        assert run(replace(spec, conditions=(Condition.ROLE, Condition.ROLE)), server, monkeypatch).planned == 18


def test_an_incomplete_run_says_what_most_requests_failed_with(spec: Spec, monkeypatch):
    def script(request: Request) -> Reply:
        status = {5: 400, 6: 400, 9: 422}.get(request.number)
        return by_kind(request) if status is None else error(status, "no such luck")

    with FakeServer(script) as server:
        result = run(spec, server, monkeypatch)
    assert result.why_failed == "2 of 3 failures: openai: HTTP 400: no such luck"
