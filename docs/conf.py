"""How the documentation is built: `python -m sphinx -W docs docs/_build`."""

from __future__ import annotations

import re
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

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")


def _name_files_of_the_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Show a link to a file beside `docs/`, which the site does not hold, as that file's place in the repository."""
    del app, page
    source[0] = _OUTSIDE.sub(
        lambda link: f"`{link[2]}`" if link[1] in link[2] else f"{link[1]} (`{link[2]}`)", source[0]
    )


def setup(app: Sphinx) -> None:
    """Connect what is ours."""
    app.connect("source-read", _name_files_of_the_repository)
