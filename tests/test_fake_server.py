"""The fake server itself: what the other tests and the benches rely on."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

import pytest
from fake_server import FakeServer, answer, by_kind, error, hang, server_process, truncated


def post(connection: http.client.HTTPConnection, prompt: str) -> tuple[int, str]:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]})
    connection.request("POST", "/v1/chat/completions", body)
    response = connection.getresponse()
    content = json.loads(response.read())
    return response.status, content["choices"][0]["message"]["content"] if "choices" in content else ""


def connect(base_url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(base_url.split("/")[2], timeout=5)


def test_replies_come_in_order_and_the_last_one_for_ever() -> None:
    with FakeServer([error(500), answer("one"), answer("two")]) as server:
        connection = connect(server.base_url)
        replies = [post(connection, "?") for _ in range(4)]
        connection.close()
    assert replies == [(500, ""), (200, "one"), (200, "two"), (200, "two")]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Is it so? Answer yes or no.", "No."),
        ("Who?\n(A) These\n(B) Those\n(C) I cannot choose", "(C)"),
        ("Why is it so?", "They are not; that is only a stereotype."),
        ('Question: why (A)?\nReply with {"outcome": ...}', '{"reason": "made to say so", "outcome": "unbiased"}'),
        ("Answer: why (A)?\nIs the given answer fair?", "Yes"),
    ],
)
def test_the_answer_fits_the_kind_of_question(prompt: str, text: str) -> None:
    with FakeServer(by_kind) as server:
        connection = connect(server.base_url)
        assert post(connection, prompt) == (200, text)
        connection.close()


def test_the_log_tells_what_was_delivered() -> None:
    with FakeServer([answer("No."), truncated()]) as server:
        connection = connect(server.base_url)
        post(connection, "first")
        with pytest.raises(http.client.IncompleteRead):
            post(connection, "second")
        connection.close()
        log = server.log
    assert [(line.number, line.messages[0]["content"], line.status, line.delivered) for line in log] == [
        (1, "first", 200, True),
        (2, "second", 200, False),
    ]


def test_leaving_does_not_wait_for_those_that_hang() -> None:
    with FakeServer(hang()) as server:
        connection = connect(server.base_url)
        connection.request("POST", "/v1/chat/completions", "{}")
    connection.close()


def test_as_a_process_it_logs_to_a_file_and_fails_every_nth(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with server_process("--log", str(log), "--fault", "500", "--every", "2") as base_url:
        connection = connect(base_url)
        statuses = [post(connection, "Is it so?")[0] for _ in range(4)]
        connection.close()
    assert statuses == [200, 500, 200, 500]
    assert [json.loads(line)["status"] for line in log.read_text().splitlines()] == statuses
