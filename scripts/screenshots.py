"""Take the pictures in docs/images from a run, in headless Chromium.

bash scripts/demo.sh && .venv/bin/python scripts/screenshots.py runs/demo.sqlite
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).resolve().parents[1] / "docs" / "images"
BIASLENS = Path(sys.executable).with_name("biaslens")


def main() -> None:
    """Open the viewer and the page of a run, and take a picture of each view."""
    if len(sys.argv) != 2:
        sys.exit("give one run file")
    run = Path(sys.argv[1])
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("no Chromium on this machine")
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        _viewer(page, run)
        subprocess.run([BIASLENS, "page", run, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        page.goto((Path(folder) / "index.html").as_uri())
        page.screenshot(path=OUT / "page.png")
        browser.close()
    for picture in OUT.glob("*.png"):  # few colours look the same and take a third of the space
        Image.open(picture).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(picture, optimize=True)


def _viewer(page: Page, run: Path) -> None:
    served = subprocess.Popen([BIASLENS, "view", run, "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        assert served.stdout is not None
        served.stdout.readline()
        address = served.stdout.readline().strip()
        origin = address.partition("/?")[0]
        page.goto(address)
        page.click("button.go")
        page.wait_for_selector("text=Where to begin")
        for name, path in (("answers", "/answers?outcome=biased"), ("matrix", "/matrix"), ("rates", "/rates")):
            page.goto(origin + path)
            page.screenshot(path=OUT / f"view-{name}.png")
        page.goto(f"{origin}/answers?kind=yes/no&outcome=biased")
        page.locator("a.entry").first.click()
        page.wait_for_url("**/answer/**")
        page.screenshot(path=OUT / "view-answer.png")
    finally:
        served.kill()
        served.wait()


if __name__ == "__main__":
    main()
