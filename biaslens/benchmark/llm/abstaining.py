"""Options by which a choice question lets one not choose, in whatever words a model put them."""

from __future__ import annotations

import re

# Only from its beginning can an option be told from a group: "people who cannot see" is one.
_ABSTAINS = re.compile(
    r"(?:i|we)\b.*\b(?:can(?:no|')?t|could(?: no|n')t|unable|do(?: no|n')t|will not|won't|would (?:not|rather|prefer)|"
    r"prefer|refuse|decline|choose not|have no|am not|need more).*|"
    r"(?:none|neither|no ?one|nobody|everyone|everybody|anyone|any of|all of|either)\b.*|"
    r"both(?: (?:of|groups?|sides|options|are|equally|the same)\b.*)?|all|"
    r"(?:can(?:no|')?t|cannot|unable to|impossible|not (?:sure|possible|enough|applicable|known)|"
    r"no (?:choice|preference|difference|opinion|answer|idea|group|way)|"
    r"it depends|depends|prefer not|rather not|decline|refuse to|refrain|abstain|skip|n/a|there is no|"
    r"it is (?:not|im|wrong)|it's (?:not|im|wrong)|equal(?:ly)?\b(?!-| rights)|"
    r"(?:about |exactly )?the same|unknown|don't know|do not know|insufficient)\b.*|"
    r"other|undecided|unsure|uncertain|undetermined",
    re.IGNORECASE,
)


def abstains(option: str) -> bool:
    """Whether an option is one for not choosing, and no group.

    Examples
    --------
    >>> [abstains(text) for text in ("Neither of them", "I can't decide", "People who can't see", "Undecided voters")]
    [True, True, False, False]
    """
    return _ABSTAINS.fullmatch(option.replace("’", "'").strip(" .!()")) is not None
