"""The viewer over HTTP: who may ask, what is shown, that nothing an answer holds is markup, and runs that grow."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx
import pytest
from browser import browser
from label_server import origin_of, serving, visiting
from run_files import ASKED, Asked, write_run
from starlette.testclient import TestClient

from biaslens.report.view import live as viewing
from biaslens.report.view.app import create_app
from biaslens.report.view.index import index_words
from biaslens.report.view.live import Viewer
from biaslens.runfile import Answer, Store

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</textarea></form>{{ 7 * 7 }}{% raw %}",
    "good \u202egnihtyna\u202c",
    "nul \x00 escape \x1b[31m",
    "word " * 200_000,
    " \n ",
    "x" * 100_000,
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    asked = [
        Asked(
            "age", f"R{number} {text[:50]}", "why", ("biased",), text=text[:200], answer=text, groups=(text[:50], "b"),
            target="age", votes=("biased", "unbiased", "unusable"),
        )
        for number, text in enumerate(HOSTILE)
    ]  # fmt: skip
    return write_run(tmp_path / "run.sqlite", asked)


def client_of(*paths: Path, accept: bool = True) -> TestClient:
    viewer = Viewer(paths)
    for run in viewer.shown.answers.runs:
        index_words(run)
    viewer.accepted = accept
    return TestClient(create_app(viewer)[0], follow_redirects=True)


def links(text: str, start: str) -> list[str]:
    return [found.replace("&amp;", "&") for found in re.findall(r'href="([^"]+)"', text) if found.startswith(start)]


def test_the_warning_comes_first_and_leads_on_to_what_was_asked_for(run):
    client = client_of(run, accept=False)
    page = client.get("/answers?outcome=biased")
    assert "Before you look" in page.text and "An answer." not in page.text
    assert 'value="/answers?outcome=biased"' in page.text
    page = client.post("/accept", data={"after": "/answers?outcome=biased"})
    assert str(page.url).endswith("/answers?outcome=biased") and "11 answers" in page.text
    assert client.post("/accept", data={"after": "//example.org/"}).url.path == "/"


def test_every_number_of_the_overview_leads_to_its_answers(run):
    client = client_of(run)
    page = client.get("/").text
    assert "11" in page and "50.0 %" in page
    for address in links(page, "/answers?"):
        said = re.search(re.escape(address.replace("&", "&amp;")) + r'">([^<]+)<', page)
        assert said is not None
        count = re.search(r"\d+$", said[1])
        shown = client.get(address).text
        if count:
            assert f"{count[0]} answer" in shown, address


def test_every_rate_leads_to_as_many_answers_as_it_counts(run, tmp_path):
    other = write_run(tmp_path / "other.sqlite", [one for one in ASKED if one.kind == "yes_no"], model="openai/other")
    client = client_of(run, other)
    page = client.get("/rates?condition=role").text
    assert "openai/gpt-4o-mini" in page and "50.0 %" in page
    # By the table above ASKED: 27 trials of 9 questions, of which 3 are biased.
    biased = re.search(r'href="(/matrix\?[^"]*question=biased)">3</a> of 9', page)
    assert biased is not None and "3 questions" in client.get(biased[1].replace("&amp;", "&")).text
    whole = re.search(r'href="(/answers\?[^"]*model=openai%2Fgpt-4o-mini)">50.0 %', page)
    assert whole is not None and "27 answers" in client.get(whole[1].replace("&amp;", "&")).text
    # Of the six yes/no questions both models were asked, two are biased for both: BBU and BBB.
    triggers = re.search(r'href="(/matrix\?[^"]*triggers=2\+of\+2)">2</a>', page)
    assert triggers is not None and "2 questions" in client.get(triggers[1].replace("&amp;", "&")).text


def test_filters_say_how_many_and_keep_their_word(run):
    client = client_of(run)
    page = client.get("/answers").text
    for address in links(page, "/answers?")[:40]:
        assert client.get(address).status_code == 200
    (count,) = re.findall(r">Teenagers</bdi></span> <span class=\"count\">(\d+)", page)
    assert f"{count} answers" in client.get("/answers?role=Teenagers").text


def test_an_answer_shows_everything_that_is_known_of_it(tmp_path):
    asked = Asked(
        "age", "Elders", "choice", ("biased", "unbiased"), answer="Let me see. (A)", choice=(1, None),
        text="Who is slow?", options=("The old", "The young", "Neither"), option_order=(1, 0, 2),
        groups=("the old", "the young"),
        picks="The young", disfavoured="the young", target="age", encounter="e",
    )  # fmt: skip
    why = Asked("age", "Elders", "why", ("biased",), encounter="e", target="age", votes=("biased", "unbiased", None))
    client = client_of(write_run(tmp_path / "run.sqlite", [asked, why]))
    address = links(client.get("/answers?outcome=biased&kind=choice").text, "/answer/")[0]
    page = client.get(address).text
    assert "one of the Elders" in page and "Who is slow?" in page
    assert page.index("The young") < page.index("The old")  # as it was shown
    assert "the one the prejudice picks" in page
    assert "the why question of this encounter" in page
    assert page.count('class="trial"') == 3
    address = links(client.get("/answers?kind=why").text, "/answer/")[0]
    page = client.get(address).text
    assert page.count("judge/one") == 3 and "not asked yet" in page


def test_the_neighbours_of_an_answer_are_those_that_were_found(run):
    client = client_of(run)
    address, seen = links(client.get("/answers?outcome=biased").text, "/answer/")[0], []
    while address:
        page = client.get(address).text
        seen.append(address)
        assert 'class="chip biased"' in page
        address = next(iter(re.findall(r'<a href="([^"]+)" rel="next"', page)), "").replace("&amp;", "&")
    assert len(set(seen)) == 11


def test_a_run_with_nothing_in_it_has_pages_too(tmp_path):
    client = client_of(write_run(tmp_path / "run.sqlite"))
    for address in ("/", "/answers", "/matrix", "/rates", "/live", "/objections.csv"):
        assert client.get(address).status_code == 200, address
    assert "0 answers" in client.get("/answers").text


def test_hostile_answers_stay_text(hostile):
    client = client_of(hostile)
    addresses = links(client.get("/answers").text, "/answer/")
    assert len(addresses) == len(HOSTILE)
    for address in ["/", "/answers", "/matrix", "/values/role", "/values/groups", *addresses]:
        page = client.get(address)
        assert page.status_code == 200
        assert page.text.count("<script>") == page.text.count("<style>") == 1, address
        assert "<img" not in page.text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page.text)
        assert "7 * 7 }}" in page.text or "{{" not in page.text
        for found in re.findall(r"<form[^>]*action=\"([^\"]*)\"", page.text):
            assert found.startswith("/")
    assert len(client.get("/answers").content) < 200_000


@pytest.mark.parametrize(
    ("address", "status", "says"),
    [
        ("/answers?role=Nobody", 400, "role=Nobody"),
        ("/answers?sort=x", 400, "sort=x"),
        ("/answer/0/nothing", 404, "No run"),
        ("/answer/7/nothing", 404, "No run"),
        ("/answer/0/%C3%A9", 404, "No run"),
        ("/values/nothing", 404, "no such column"),
        ("/nothing", 404, "Not Found"),
    ],
)
def test_what_is_not_there_is_said(run, address, status, says):
    reply = client_of(run).get(address)
    assert reply.status_code == status
    assert says in reply.text


def test_objections_are_kept_shown_and_exported(run):
    client = client_of(run)
    address = links(client.get("/answers?outcome=biased").text, "/answer/")[0]
    key = address.split("/")[3].partition("?")[0]
    page = client.post(f"/object/0/{key}?outcome=biased", data={"outcome": "unbiased", "reason": "=no"})
    assert "You say:" in page.text and str(page.url).endswith("#objection")
    assert "you say unbiased" in client.get("/answers?outcome=biased").text
    rows = client.get("/objections.csv").text.splitlines()
    assert len(rows) == 2 and rows[1].endswith(",unbiased,'=no")
    assert client.post(f"/object/0/{key}", data={"outcome": "error"}).status_code == 400
    client.post(f"/object/0/{key}", data={"outcome": ""})
    assert len(client.get("/objections.csv").text.splitlines()) == 1


def test_a_run_that_grows_is_read_again(run, monkeypatch):
    monkeypatch.setattr(viewing, "REFRESH_SECONDS", 0.0)
    client = client_of(run)
    first = client.get("/live").json()
    assert first["runs"] == [{"planned": 27, "asked": 26}]
    with Store(run, write=True) as store:
        (key,) = store.column(
            "SELECT key FROM plan WHERE key NOT IN (SELECT key FROM answers) AND key NOT IN (SELECT key FROM failures)"
        )
        store.keep(Answer(key, "m", "Zebra", "stop", "m", 1, 1, None, 1.0, 1, "2026-01-01T00:00:00+00:00"))
        for _ in range(200):
            now = client.get("/live").json()
            if now["runs"] == [{"planned": 27, "asked": 27}]:
                break
            time.sleep(0.02)
        assert now["version"] > first["version"] and now["runs"][0]["asked"] == 27
        for _ in range(200):
            found = client.get("/answers?q=zebra")
            if "1 answer<" in found.text:
                break
            time.sleep(0.02)
        assert "Zebra" in found.text


def test_the_command_serves_those_who_have_the_token(run):
    with serving("view", str(run)) as (process, address):
        origin = origin_of(address)
        assert httpx.get(f"{origin}/answers").status_code == 403
        with visiting(address) as client:
            reply = client.get("/answers")
            assert "27 answers" in reply.text
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            foreign = client.post("/object/0/x", data={"outcome": "biased"}, headers={"Origin": "http://example.org"})
            assert foreign.status_code == 403
        process.kill()
        process.wait()
    with serving("view", str(run)) as (_, address), visiting(address) as client:
        assert "27 answers" in client.get("/answers").text


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_by_keyboard_alone_in_a_browser(hostile, tmp_path, width, dark):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    many = [Asked("age", f"Role {n:02}", "yes_no", ("biased", "unbiased", "biased"), number=n) for n in range(30)]
    other = write_run(tmp_path / "other.sqlite", [*many, *ASKED], model="openai/other")
    with serving("view", str(hostile), str(other)) as (_, address), browser(width=width, dark=dark) as opened:
        page = opened.page
        page.on("dialog", lambda _: pytest.fail("a script of an answer was run"))
        page.route(f"{origin_of(address)}/**", lambda route: route.continue_())
        page.goto(address)
        page.wait_for_selector("button.go:focus")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Where to begin")
        for path in ("/", "/answers", "/matrix", "/rates?model=openai/other", "/values/role"):
            page.goto(origin_of(address) + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            faults = axe.run(page).response["violations"]
            assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == [], path
        page.goto(f"{origin_of(address)}/answers?outcome=biased")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        page.wait_for_url("**/answer/**")
        first = page.url
        assert axe.run(page).response["violations"] == []
        page.keyboard.press("j")
        page.wait_for_function(f"location.href !== {first!r}")
        page.keyboard.press("u")
        page.wait_for_url("**/answers?outcome=biased")
        page.keyboard.press("/")
        page.keyboard.type("anything else")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Escape")
        assert opened.errors == []
        assert all(request.startswith(origin_of(address)) for request in opened.requests)
