"""Requests go out and answers come in as files in OpenAI's batch format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.engine import Exchange, Hook, Request, Session
from biaslens.errors import InputError, ModelError, RejectedError, UnavailableError, UnknownModelError
from biaslens.models import Completion, JsonSchema, Message, Params, StructuredParams
from biaslens.models._batches import batch_answer, batch_request
from biaslens.runfile import Store
from biaslens.schema import Outcome
from biaslens.settings import Endpoint, load_settings

FOLDER = Path("files")
MODEL = "openai/writer"
KEYS = ["k1", "k2", "k3"]


def requests(_: Store, keys: Sequence[str]) -> Iterable[Request]:
    return (Request(key, (Message("user", f"Say {key}"),), Params(max_tokens=9, seed=1)) for key in keys)


def session(keys: Sequence[str] = KEYS, *, hook: Hook | None = None) -> tuple[int, Exchange, dict[str, int]]:
    """One session that wants these answers: how many it still misses, and what it answered, failed and waits for."""

    async def ask() -> tuple[int, Exchange, dict[str, int]]:
        exchange = Exchange(FOLDER)
        async with Session.open(
            lambda: Store(Path("run.sqlite"), write=True), models=[MODEL], exchange=exchange
        ) as one:
            one.require({"purpose": "test"}, model=MODEL, hint="")
            missing = await one.ask(MODEL, keys, requests, hook=hook)
            tally = {"answered": one.tally.answered, "failed": one.tally.failed, "waiting": exchange.waiting}
            return missing, exchange, tally

    return asyncio.run(ask())


def completion(text: str, **more: object) -> dict[str, object]:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "c", "model": "writer-1", "choices": [choice], "usage": usage} | more


def line(key: str, text: str = "", *, status: int = 200, body: object = None) -> dict[str, object]:
    response = {"status_code": status, "request_id": "r", "body": body or completion(text or f"This is {key}")}
    return {"id": f"batch_req_{key}", "custom_id": key, "response": response, "error": None}


def expired(key: str) -> dict[str, object]:
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return {"id": "b", "custom_id": key, "response": None, "error": error}


def put(*lines: dict[str, object] | str, name: str = "output.jsonl") -> None:
    texts = (text if isinstance(text, str) else json.dumps(text) for text in lines)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / name).write_text("\n".join(texts) + "\n", encoding="utf-8")


def sent(number: int) -> list[str]:
    text = (FOLDER / f"requests-{number:03}.jsonl").read_text(encoding="utf-8")
    return [json.loads(each)["custom_id"] for each in text.splitlines()]


def stored() -> dict[str, str]:
    with closing(Store(Path("run.sqlite"))) as store:
        return dict(store.rows("SELECT key, text FROM answers"))


def test_requests_are_written_once_in_the_batch_format():
    missing, exchange, tally = session()
    assert (missing, tally) == (3, {"answered": 0, "failed": 0, "waiting": 3})
    assert list(exchange.written) == [FOLDER / "requests-001.jsonl"]
    first = json.loads((FOLDER / "requests-001.jsonl").read_text().splitlines()[0])
    assert first == {
        "custom_id": "k1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "writer",
            "messages": [{"role": "user", "content": "Say k1"}],
            "max_completion_tokens": 9,
            "seed": 1,
        },
    }
    missing, exchange, tally = session()
    assert (missing, list(exchange.written), tally["waiting"]) == (3, [], 3)


def test_answers_are_taken_in_and_only_once():
    session()
    put(line("k3"), line("k1"))
    missing, exchange, tally = session()
    assert (missing, list(exchange.written), tally) == (1, [], {"answered": 2, "failed": 0, "waiting": 1})
    assert stored() == {"k1": "This is k1", "k3": "This is k3"}
    put(line("k1", "something else"), line("k2"))
    missing, exchange, tally = session()
    assert (missing, tally["answered"]) == (0, 1)
    assert stored()["k1"] == "This is k1"


def test_what_follows_from_answers_is_decided_in_the_session_that_reads_them():
    class Decides:
        outcomes: Mapping[Outcome, int] = {}
        decided: tuple[str, ...] = ()

        def left_over(self, store: Store) -> list[str]:
            return store.column("SELECT key FROM answers ORDER BY key")

        def decide(self, found: Iterable[str]) -> tuple[str, ...]:
            return tuple(found)

        def store(self, _: Store, decided: tuple[str, ...]) -> None:
            self.decided = decided

    hook = Decides()
    session(hook=hook)  # type: ignore[arg-type]
    put(line("k1"), line("k2"))
    assert hook.decided == ()
    session(hook=hook)  # type: ignore[arg-type]
    assert hook.decided == ("k1", "k2")


def test_what_is_wanted_later_goes_out_in_the_next_file():
    session(KEYS[:1])
    put(line("k1"))
    _, exchange, _ = session(KEYS)
    assert list(exchange.written) == [FOLDER / "requests-002.jsonl"]
    assert sent(2) == ["k2", "k3"]


def test_what_expired_is_written_again_and_what_is_refused_is_not():
    session()
    refusal = {"error": {"message": "bad schema", "code": "invalid"}}
    put(expired("k1"), line("k2", status=400, body=refusal), line("k3"))
    missing, _, tally = session()
    assert (missing, tally) == (2, {"answered": 1, "failed": 1, "waiting": 1})
    assert sent(2) == ["k1"]
    put(line("k1"), name="second.jsonl")
    missing, exchange, tally = session()
    assert (missing, list(exchange.written), tally["answered"]) == (1, [], 1)


def test_after_three_attempts_a_request_is_given_up():
    for number in (1, 2, 3):
        _, exchange, _ = session(KEYS[:1])
        assert sent(number) == ["k1"]
        put(expired("k1"), name=f"output-{number}.jsonl")
    missing, exchange, tally = session(KEYS[:1])
    assert (missing, list(exchange.written), tally) == (1, [], {"answered": 0, "failed": 1, "waiting": 0})


def test_lines_that_belong_to_nobody_change_nothing_and_are_said():
    session(KEYS[:1])
    put(line("k1"), line("stranger"), "not JSON", "[1, 2]", '{"custom_id": 3}', '{"custom_id": "k1"}', "")
    put(line("k1", "again"), name="same.jsonl")
    missing, exchange, _ = session(KEYS[:1])
    assert (missing, stored()) == (0, {"k1": "This is k1"})
    assert exchange.passed_over == (
        "1 of no request of this run (first: output.jsonl:2), 1 with an answer twice (first: output.jsonl:1), "
        "4 no batch output (first: output.jsonl:3)"
    )


def test_nothing_is_said_where_all_is_used():
    session()
    put(*map(line, KEYS))
    assert session()[1].passed_over == ""


def test_a_broken_reply_is_asked_for_again():
    session(KEYS[:1])
    put(line("k1", body={"choices": "none"}))
    missing, _, _ = session(KEYS[:1])
    assert (missing, sent(2)) == (1, ["k1"])


def test_a_filtered_request_is_an_answer():
    error = {"error": {"message": "no", "code": "content_policy_violation"}}
    found = batch_answer(line("k1", status=400, body=error), MODEL)
    assert isinstance(found, Completion)
    assert (found.text, found.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize(
    ("given_line", "error"),
    [
        (line("k", status=400, body={"error": {"message": "no"}}), RejectedError),
        (line("k", status=500, body={"error": {"message": "no"}}), UnavailableError),
        (expired("k"), UnavailableError),
        ({"custom_id": "k", "error": None}, UnavailableError),
        ({"custom_id": "k", "response": {"status_code": "200"}}, ModelError),
    ],
)
def test_what_went_wrong_is_told_by_its_class(given_line: dict[str, object], error: type[ModelError]):
    assert isinstance(batch_answer(given_line, MODEL), error)


_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["status_code", "body", "choices", "message", "content", "error", "code", "usage", "model"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["response", "error"]), _VALUE))
def test_any_line_is_an_answer_or_an_error(given_line: dict[str, object]):
    assert isinstance(batch_answer(given_line, MODEL), Completion | ModelError)


@given(st.lists(st.binary(max_size=30) | _VALUE.map(lambda value: json.dumps(value).encode()), max_size=5))
def test_any_file_at_all_can_lie_there(lines: list[bytes]):
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "found.jsonl").write_bytes(b"\n".join(lines))
    assert Exchange(FOLDER).take(KEYS, MODEL) == []


def test_a_file_that_cannot_be_read_is_one_line():
    (FOLDER / "folder.jsonl").mkdir(parents=True)
    with pytest.raises(InputError, match=r"folder\.jsonl: cannot be read"):
        Exchange(FOLDER)


def test_a_request_is_worded_as_the_endpoint_takes_it():
    settings = load_settings(endpoints={"mine": Endpoint(base_url="http://localhost/v1", json_schema=False)})
    params = StructuredParams(max_tokens=5, seed=3, schema=JsonSchema("s", {"type": "object"}))
    body = batch_request("k", "compatible/mine/org/m", [Message("user", "Hi")], params, settings)["body"]
    assert body == {"model": "org/m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
    assert "response_format" in batch_request("k", MODEL, [], params, settings)["body"]
    with pytest.raises(UnknownModelError):
        batch_request("k", "compatible/nobody/m", [], params, settings)
    with pytest.raises(InputError, match="runs in this process"):
        batch_request("k", "local/smollm2", [], params, settings)
