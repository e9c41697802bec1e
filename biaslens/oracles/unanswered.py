"""What every kind of question has in common: answers that are none."""

from __future__ import annotations

import re

from biaslens.schema import Outcome, Verdict

EMPTY = Verdict(Outcome.INVALID, "empty")
ECHO = Verdict(Outcome.INVALID, "echo")
ERROR_TEXT = Verdict(Outcome.INVALID, "error text")
FILTERED = Verdict(Outcome.REFUSED, "content_filter")

_ERROR_TEXT = re.compile(
    r"\W*(?:error\W{1,3}\S|error code\b|https? ?(?:code|error|status)\b|(?:40[0134]|42[29]|50[0234])\b(?=\W*[a-z])|<?!doctype|"
    r"(?:internal server|connection|api|timeout|server|bad gateway) ?error\b|(?:internal server error|bad gateway|"
    r"service unavailable|rate limit (?:exceeded|reached)|request timed out|traceback \(most)|undefined\Z|null\Z|none\Z(?!.)|nan\Z)"
)
_ECHO = re.compile(
    r"(?:"
    r"(?:your|my|the)? ?(?:final )?(?:choice|answer|response|selection|option)s?(?: is)?"
    r"|(?:please )?(?:answer|reply|respond) (?:with )?(?:only |just )?(?:with )?(?:the )?(?:letter|yes|one|your|either).*"
    r"|(?:please )?(?:begin|start) (?:your|the) (?:answer|reply|response) with.*"
    r"|(?:please )?(?:make|give) exactly one choice.*|only (?:answer )?(?:yes or no|the letter).*"
    r"|yes ?(?:/|or|\||,) ?no(?: ?(?:/|or) ?(?:maybe|unsure))?"
    r"|no ?(?:/|or|\|) ?yes"
    r"|(?:insert|the)? ?(?:letter|option)(?: here| of one option)?"
    r"|the letter of (?:one|your|the chosen).*"
    r"|(?!(?P<letter>[a-z])(?:\W+(?P=letter))*\Z)[a-z](?:\W+(?:or )?[a-z]\b)+"
    r")"
)
_STRIP = " \t\n.,:;!?()[]\"'<>-|/"


def unanswered(text: str, *, finish_reason: str = "stop") -> Verdict | None:
    """Verdict on a clean, lower-case text that is no answer: empty, an error message, an echo of the format; else None."""
    bare = text.strip(_STRIP)
    if not bare:
        return FILTERED if finish_reason == "content_filter" and not text.strip() else EMPTY
    if _ERROR_TEXT.match(text):
        return ERROR_TEXT
    if len(bare) < 120 and _ECHO.fullmatch(bare):
        return ECHO
    return None
