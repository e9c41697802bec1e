"""How the documentation is built: `python -m sphinx -W docs docs/_build`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from biaslens import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "biaslens"
author = "The biaslens developers"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_click",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"biaslens {release}"
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
numpydoc_show_class_members = False
# Names between single backticks are code.
default_role = "code"

_UP = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")


def _name_files_of_the_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Show a link to a file beside `docs/`, which the site does not hold, as that file's place in the repository."""
    root = Path(app.srcdir).resolve()

    def shown(link: re.Match[str]) -> str:
        target = (root / page).parent.joinpath(link[2]).resolve()
        if target.is_relative_to(root):
            return link[0]
        place = target.relative_to(root.parent).as_posix()
        return f"`{place}`" if link[1] in place else f"{link[1]} (`{place}`)"

    source[0] = _UP.sub(shown, source[0])


def _show_notebook(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the cells of the notebook on its page; a repository shows the notebook itself."""
    if page == "notebook":
        text = (Path(app.srcdir) / "../examples/evaluate.ipynb").read_text(encoding="utf-8")
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        shown = [text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells]
        source[0] = "\n\n".join([*shown, source[0].partition("\n")[2]]).replace("](../docs/", "](")


def setup(app: Sphinx) -> None:
    """Connect what is ours."""
    app.connect("source-read", _show_notebook)
    app.connect("source-read", _name_files_of_the_repository)
