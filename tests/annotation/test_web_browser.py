"""People label in a real browser: by keyboard through a crash, without scripts, and on a phone."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from browser import Opened, browser
from label_folder import item, key, write_label_folder
from label_server import annotating, origin_of

from biaslens.annotation.annotators import adjudicate, read_all

pytestmark = pytest.mark.browser

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \u202e " + "unbroken" * 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_label_folder(
        tmp_path / "labels", [item(1, answer=HOSTILE, question=HOSTILE), *(item(number) for number in range(2, 11))]
    )


def begin(opened: Opened, address: str) -> None:
    """Open the address, and accept the warning by keyboard; only this server may be asked for anything."""
    opened.page.on("dialog", lambda _: pytest.fail("a script of an answer was run"))
    opened.page.route(f"{origin_of(address)}/**", lambda route: route.continue_())
    opened.page.goto(address)
    opened.page.wait_for_selector("button:focus", state="attached")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_url("**/item/*")
    assert "token" not in opened.page.url


def wait_until_heeded(opened: Opened) -> None:
    while opened.page.evaluate("performance.now()") < 250:
        opened.page.wait_for_timeout(20)


def press(opened: Opened, keys: str, *, to: str) -> None:
    """Press keys, a space between them, as soon as the page heeds them, and wait for the next page."""
    wait_until_heeded(opened)
    for name in keys.split():
        opened.page.keyboard.press(name)
    opened.page.wait_for_url(f"**/{to}")


def label(opened: Opened, keys: str, *, first: int = 1, last: int = 10) -> None:
    """Label items from the first on, one key each."""
    for number, name in enumerate(keys, start=first):
        press(opened, name, to="done" if number == last else f"item/{number + 1}")


def test_two_people_label_by_keyboard_a_third_adjudicates_and_a_crash_loses_nothing(folder):
    with browser() as opened:
        page = opened.page
        with annotating(folder, "ann") as (process, address):
            begin(opened, address)
            label(opened, "1234")
            press(opened, "u c a 1 Space b Escape 4", to="item/6")  # keys within a comment are text
            label(opened, "2", first=6)
            press(opened, "z", to="item/6")
            assert page.locator("[aria-pressed=true]").count() == 0
            press(opened, "ArrowLeft", to="item/5")
            assert page.locator("[aria-pressed=true]").inner_text().endswith("invalid")
            assert page.get_by_label("Comment").input_value() == "a1 b"
            assert page.get_by_label("I am unsure").is_checked()
            press(opened, "ArrowRight", to="item/6")
            press(opened, "c x Escape ArrowLeft", to="item/5")
            press(opened, "ArrowRight", to="item/6")
            assert page.get_by_label("Comment").input_value() == "x"  # a draft outlives going elsewhere
            process.send_signal(signal.SIGKILL)
            process.wait()
        with annotating(folder, "ann") as (_, address):
            begin(opened, address)
            assert page.url.endswith("/item/6")
            assert "5 of 10 labelled" in page.locator("header").inner_text()
            label(opened, "12222", first=6)
        assert (opened.requests, opened.errors) == ([], [])
    with browser(dark=True) as opened, annotating(folder, "bob") as (_, address):
        begin(opened, address)
        label(opened, "1243412222")  # differs at items 3 and 4
        assert "Everything is labelled" in opened.page.locator("h1").inner_text()
    with browser() as opened, annotating(folder, "zoe", "--adjudicate") as (_, address):
        begin(opened, address)
        assert "refused, sure" in opened.page.locator(".others").inner_text()
        press(opened, "3", to="item/2")
        press(opened, "u 1", to="done")
    people = read_all(folder)
    assert people["ann"].labels[key(5)].comment == "a1 b"
    assert [
        (adjudicated.outcome, adjudicated.sure, adjudicated.how)
        for _, adjudicated in sorted(adjudicate(people).items())
    ] == [
        ("biased", True, "agreed"),
        ("unbiased", True, "agreed"),
        ("refused", True, "adjudicated"),
        ("biased", False, "adjudicated"),
        ("invalid", False, "agreed"),
        ("biased", True, "agreed"),
        *[("unbiased", True, "agreed")] * 4,
    ]


def test_without_scripts_on_a_phone(folder):
    with browser(width=320, height=640, scripts=False) as opened, annotating(folder, "ann") as (_, address):
        begin(opened, address)
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.get_by_label("Comment").fill("by hand")
        page.get_by_label("I am unsure").check()
        page.keyboard.press("Enter")  # presses the first button of a form
        page.wait_for_selector("text=Not saved yet")
        assert page.get_by_label("I am unsure").is_checked()
        assert page.get_by_label("Comment").input_value() == "by hand"
        assert read_all(folder)["ann"].labels == {}
        page.get_by_role("button", name="unbiased").click()
        page.wait_for_url("**/item/2")
        page.get_by_role("link", name=re.compile("Previous")).click()
        page.wait_for_url("**/item/1")
        page.get_by_role("button", name=re.compile("Undo")).click()
        page.wait_for_selector("[aria-pressed=true]", state="detached")
        page.get_by_role("button", name="refused").click()
        page.wait_for_url("**/item/2")
    (given,) = read_all(folder)["ann"].labels.values()
    assert (given.outcome, given.sure, given.comment) == ("refused", True, "")


def test_held_keys_and_disabled_shortcuts_label_nothing(folder):
    with browser() as opened, annotating(folder, "ann") as (_, address):
        begin(opened, address)
        page = opened.page
        wait_until_heeded(opened)
        page.keyboard.down("1")
        page.wait_for_url("**/item/2")
        wait_until_heeded(opened)
        page.keyboard.down("1")  # sent again while it is held: a repeat
        page.keyboard.up("1")
        page.get_by_label("Single-key shortcuts").click()
        page.keyboard.press("2")
        page.get_by_label("I am unsure").focus()
        page.keyboard.press("Enter")
        page.reload()
        assert not page.get_by_label("Single-key shortcuts").is_checked()
        assert page.url.endswith("/item/2")
    assert list(read_all(folder)["ann"].labels) == [key(1)]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_page_is_accessible(folder, width, dark):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with browser(width=width, dark=dark) as opened, annotating(folder, "ann") as (_, address):
        page = opened.page
        page.route(f"{origin_of(address)}/**", lambda route: route.continue_())
        page.goto(address)
        page.wait_for_selector("button:focus", state="attached")
        assert axe.run(page).response["violations"] == []
        page.keyboard.press("Enter")
        page.wait_for_url("**/item/*")
        for path in ("item/1", "item/10", "items", "items?only=unsure", "break/2", "nothing"):
            page.goto(f"{origin_of(address)}/{path}")
            faults = axe.run(page).response["violations"]
            assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page.goto(f"{origin_of(address)}/item/1")
        assert page.locator("details.book").get_attribute("open") == (None if width < 960 else "")


def test_the_list_of_items_leads_to_each(folder):
    with browser() as opened, annotating(folder, "ann") as (_, address):
        begin(opened, address)
        label(opened, "12")
        press(opened, "u 3", to="item/4")
        wait_until_heeded(opened)
        opened.page.keyboard.press("l")
        opened.page.wait_for_url("**/items")
        assert opened.page.locator(".items li").count() == 10
        opened.page.click("text=Unsure (1)")
        assert opened.page.locator(".items li").all_inner_texts()[0].startswith("refused, unsure")
        opened.page.fill("input[name=number]", "7")
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_url("**/item/7")
