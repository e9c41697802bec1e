"""What every page has in common: where templates lie, the skeleton, and the stylesheet."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from biaslens._util.text import UNUSUAL
from biaslens.benchmark.files import CANARY

_HERE = "biaslens.report.page"


# Joiners shape letters and emoji; the rest of these are visible signs in front of digits.
_SHOWN_ALREADY = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")


def visible(text: str) -> Markup:
    r"""Escape a text, and put a mark in place of every character that cannot be seen.

    Those are control and format characters, such as a right-to-left override, and lone halves of surrogate pairs.
    Line breaks and tabs stay.

    >>> visible("<b>\u202e")
    Markup('&lt;b&gt;<span class="mark" title="right-to-left override">U+202E</span>')
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    # Escaping leaves what it is looked for alone, and marks must not be escaped.
    return Markup(UNUSUAL.sub(_mark, str(escape(plain))))  # noqa: S704 - escaped just now


def _mark(found: re.Match[str]) -> str:
    char = found[0]
    if char in _SHOWN_ALREADY or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    name = unicodedata.name(char, "control character").lower()
    return f'<span class="mark" title="{name}">U+{ord(char):04X}</span>'


def environment(package: str = _HERE, *, script: str = "script.js", **values: Any) -> Environment:  # noqa: ANN401 - template values
    """Make the environment of some pages: style and script are inside each page, and nothing else is loaded.

    Templates are looked for in `package` before those that all pages share, and so are its ``style.css``, which
    follows the common one, and its script. What models and people wrote goes through the filter `visible`. Beside
    `values` templates get `style`, `script`, and `policy`, the content security policy under which these two work; and
    the benchmark's `canary`, since pages quote its questions.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(_HERE, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    styles, code = (_sources(made, *names) for names in (("common.css", "style.css"), (script,)))
    made.globals |= values | {
        "style": Markup(styles),  # noqa: S704 - our own files
        "script": Markup(code),  # noqa: S704
        "canary": CANARY,
        "policy": f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(code)}'",
    }
    return made


def markdown(package: str, template: str, **values: object) -> str:
    """Fill a template of a package that is Markdown: what stands in it is escaped where that is needed."""
    made = Environment(  # noqa: S701 - not markup
        loader=PackageLoader(package, "."), undefined=StrictUndefined, trim_blocks=True
    )
    return made.get_template(template).render(**values)


def _sources(made: Environment, *names: str) -> str:
    assert made.loader is not None
    return "".join(made.loader.get_source(made, name)[0] for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
