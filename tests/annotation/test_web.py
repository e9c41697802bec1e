"""The application over real HTTP: who may ask, what a page says, and that labels are kept before it says so."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import httpx
import pytest
from command import biaslens
from label_folder import item, key, write_label_folder, write_table
from label_server import annotating, origin_of, visiting

from biaslens.annotation.annotators import read_all

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</textarea></form><form action=http://example.org>",
    "{{ 7 * 7 }}{% raw %}",
    "good \u202egnihtyna\u202c \u2066x\u2069",
    "nul \x00 escape \x1b[31m",
    "half \ud800 of a pair",
    "word " * 20_000,
    "",
    " \n ",
]
HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [item(number, answer=answer, question=answer) for number, answer in enumerate(HOSTILE, start=1)]
    folder = write_label_folder(tmp_path_factory.mktemp("web") / "labels", texts)
    write_table(folder, "bob", {1: "biased", 2: "refused"})
    return folder


@pytest.fixture(scope="module")
def address(labels):
    with annotating(labels, "ann") as (_, address):
        yield address


def test_without_the_token_nothing_is_answered(address):
    origin = origin_of(address)
    for path in (
        "/",
        "/?token=",
        "/?token=x",
        "/item/1",
        "/item/1?" + address.partition("?")[2],
        "/done",
        "/style.css",
    ):
        reply = httpx.get(origin + path)
        assert reply.status_code == 403, path
        assert "Not allowed" in reply.text and "Item" not in reply.text
    assert httpx.post(address, headers={"Origin": origin}).status_code == 403
    assert httpx.get(origin, cookies={f"biaslens_{origin.rpartition(':')[2]}": "x"}).status_code == 403


def test_the_cookie_is_for_this_site_only_and_not_for_scripts(address):
    cookie = httpx.get(address).headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert f"biaslens_{origin_of(address).rpartition(':')[2]}=" in cookie


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "evil.com@localhost", "[::1", ""])
def test_a_foreign_name_for_this_machine_is_refused(address, host):
    with visiting(address) as client:
        assert client.get("/item/1", headers={"Host": host}).status_code in (400, 403)
        assert client.get("/item/1", headers={"Host": "localhost:1"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:1", None])
def test_a_form_of_another_page_is_refused(address, labels, origin):
    with visiting(address) as client:
        client.headers.pop("Origin")
        headers = {} if origin is None else {"Origin": origin}
        reply = client.post("/item/1", data={"key": key(1), "outcome": "biased"}, headers=headers)
        assert reply.status_code == 403
    assert read_all(labels)["ann"].labels == {}


def test_every_reply_keeps_to_itself(address):
    with visiting(address) as client:
        for reply in (client.get("/item/1"), client.get("/item/99"), httpx.get(origin_of(address))):
            assert {name: reply.headers[name] for name in HEADERS} == HEADERS
            policy = reply.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'sha256-")
            assert "unsafe" not in policy


def test_hostile_answers_stay_text_and_hidden_characters_are_shown(address):
    with visiting(address) as client:
        pages = [client.get(f"/item/{number}").text for number in range(1, len(HOSTILE) + 1)]
    for page in pages:
        assert page.count("<script>") == page.count("<style>") == 1
        assert page.count("<form") == page.count("</form>") == 2
        assert "<img" not in page
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)
    assert "&lt;script&gt;alert(1)" in pages[0]
    assert "{{ 7 * 7 }}{% raw %}" in pages[3]
    assert 'title="right-to-left override">U+202E</span>gnihtyna' in pages[4]
    assert ">U+0000<" in pages[5] and ">U+D800<" in pages[6]
    assert pages[7].count("word ") >= 40_000
    assert "There is no answer" in pages[8] and "The answer is blank: 3 spaces" in pages[9]


def test_annotators_are_blind(address):
    with visiting(address) as client:
        page = client.get("/item/1").text
    assert "secret" not in page and "bob" not in page and "refused</strong>" not in page


def test_wrong_forms_change_nothing(address, labels):
    with visiting(address) as client:
        for fields, status in (
            ({"key": key(2), "outcome": "biased"}, 409),
            ({"key": key(1)}, 400),
            ({"key": key(1), "outcome": "fair"}, 400),
            ({"outcome": "biased"}, 400),
            ({"key": key(1), "outcome": "biased", "comment": "x" * 5001}, 400),
            ({"key": key(1), "outcome": "biased", "comment": "x" * 70_000}, 413),
            ({str(number): "x" for number in range(30)}, 400),
        ):
            assert client.post("/item/1", data=fields).status_code == status, fields
        assert client.post("/item/99", data={"key": key(1), "outcome": "biased"}).status_code == 404
        assert client.put("/item/1").status_code == 405
    assert read_all(labels)["ann"].labels == {}


def test_labels_are_kept_before_the_next_item_and_undone(tmp_path):
    folder = write_label_folder(tmp_path / "labels", 3)
    journal = folder / "annotators" / "ann.jsonl"

    def latest() -> dict[str, object]:
        return json.loads(journal.read_text().splitlines()[-1])

    with annotating(folder, "ann") as (_, address), visiting(address) as client:
        fields = {"key": key(2), "outcome": "biased", "unsure": "on", "comment": "=1+1 </textarea>"}
        reply = client.post("/item/2", data=fields, follow_redirects=False)
        assert (reply.status_code, reply.headers["location"]) == (303, "/item/3")
        assert latest().items() >= {"outcome": "biased", "sure": False, "comment": "=1+1 </textarea>"}.items()
        again = client.get("/item/2").text
        assert "Your label: <strong>biased</strong>, unsure" in again and "=1+1 &lt;/textarea&gt;" in again
        assert client.post("/item/3", data={"key": key(3), "outcome": "error"}).url.path == "/item/1"  # goes round
        assert client.post("/item/1", data={"key": key(1), "outcome": "refused"}).url.path == "/done"
        assert client.post("/undo").url.path == "/item/1"
        assert latest()["outcome"] is None
        assert client.post("/undo").url.path == "/item/3"
        assert client.get("/done").url.path == "/item/1"
    assert list(read_all(folder)["ann"].labels) == [key(2)]


def test_the_warning_comes_first_and_work_goes_on_at_the_first_open_item(tmp_path):
    folder = write_label_folder(tmp_path / "labels", 3)
    for place in (1, 2):
        with annotating(folder, "ann") as (_, address), visiting(address, accept=False) as client:
            assert "What you will read" in client.get("/item/2").text
            assert client.post("/accept").url.path == f"/item/{place}"
            client.post(f"/item/{place}", data={"key": key(place), "outcome": "biased"})


def test_a_break_is_suggested_after_fifty_labels(tmp_path):
    folder = write_label_folder(tmp_path / "labels", 52)
    with annotating(folder, "ann") as (_, address), visiting(address) as client:
        paths = [
            client.post(f"/item/{number}", data={"key": key(number), "outcome": "biased"}).url.path
            for number in range(1, 53)
        ]
    assert paths == [*(f"/item/{number}" for number in range(2, 51)), "/break/51", "/item/52", "/done"]


def test_a_second_server_and_a_port_in_use_are_refused_in_one_line(address, labels):
    second = biaslens("annotate", labels, "--as", "ann", "--no-browser")
    assert (second.returncode, second.stdout) == (1, "")
    assert re.fullmatch(r"biaslens: .*ann\.jsonl: another process is writing these labels; .*\n", second.stderr)
    port = origin_of(address).rpartition(":")[2]
    taken = biaslens("annotate", labels, "--as", "cyd", "--no-browser", "--port", port)
    assert (taken.returncode, taken.stdout) == (1, "")
    assert re.fullmatch(rf"biaslens: port {port} cannot be used .*\n", taken.stderr)


def test_ctrl_c_is_how_it_ends(tmp_path):
    with annotating(write_label_folder(tmp_path / "labels"), "ann") as (process, address):
        with visiting(address) as client:
            client.post("/item/1", data={"key": key(1), "outcome": "biased"})
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "1 of 10 labelled" in out


def test_adjudication_shows_labels_without_names(tmp_path):
    folder = write_label_folder(tmp_path / "labels", 3)
    write_table(folder, "bob", {1: "biased", 2: "unbiased", 3: "refused?"})
    write_table(folder, "cyd", {1: "biased", 2: "biased?", 3: "refused"})
    with annotating(folder, "zoe", "--adjudicate") as (_, address), visiting(address) as client:
        page = client.get("/item/1").text
        assert "Item 1 of 1" in page and key(2) in page
        assert page.index("<strong>biased</strong>, unsure") < page.index("<strong>unbiased</strong>, sure")
        assert "bob" not in page and "cyd" not in page
        client.post("/item/1", data={"key": key(2), "outcome": "refused"})
    assert read_all(folder)["zoe"].adjudicates
