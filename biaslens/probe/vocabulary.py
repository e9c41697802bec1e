"""Which tokens stand for the beginning of a text and for the three labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from biaslens.errors import InputError
from biaslens.probe.labels import NAMES

_CARRIERS = ("It is a text.", "This is so good", "the end")
"""Texts after which a label word is tokenised; where one of them merges with the word, the next is tried."""


@dataclass(frozen=True, slots=True)
class LabelWords:
    """The words of the labels in their order, and the one token of each that the model is asked for."""

    words: tuple[str, str, str]
    ids: tuple[int, int, int]
    note: str = ""


def beginning(tokenizer: Any) -> tuple[int, str]:  # noqa: ANN401 - transformers' tokenizers share no public type
    """Token whose embedding the prompt starts from, and a note where it is not the beginning-of-sequence token.

    A tokenizer without that token gives its end-of-sequence token, which stands between documents and so before a
    text, or else its separator, padding or unknown token, or else the first of the vocabulary.
    """
    if tokenizer.bos_token_id is not None:
        return int(tokenizer.bos_token_id), ""
    for kind in ("eos", "cls", "sep", "pad", "unk"):
        found = getattr(tokenizer, f"{kind}_token_id", None)
        if found is not None:
            token = getattr(tokenizer, f"{kind}_token")
            return int(found), f"the tokenizer has no beginning-of-sequence token; its {kind} token {token!r} is used"
    token = tokenizer.convert_ids_to_tokens(0)
    return 0, f"the tokenizer has no beginning-of-sequence token; the first of its vocabulary, {token!r}, is used"


def label_words(tokenizer: Any, words: Sequence[str] = NAMES) -> LabelWords:  # noqa: ANN401 - see above
    """Find the tokens of the label words as they are tokenised after a text, a space in front.

    Parameters
    ----------
    tokenizer
        Of transformers.
    words
        For negative, neutral and positive, in this order.

    Raises
    ------
    InputError
        When there are not three words, or two of them begin with the same token, so that one token cannot tell them
        apart.
    """
    if len(words) != len(NAMES) or not all(word.strip() for word in words):
        raise InputError(f"--label-words {','.join(words)}: give three, for {', '.join(NAMES)} in this order")
    negative, neutral, positive = (word.strip() for word in words)
    shown = (negative, neutral, positive)
    tokens = [_after_text(tokenizer, word) for word in shown]
    first = (tokens[0][0], tokens[1][0], tokens[2][0])
    if len(set(first)) < len(first):
        pieces = "; ".join(
            f"{word} = {' '.join(map(repr, tokenizer.convert_ids_to_tokens(ids)))}"
            for word, ids in zip(shown, tokens, strict=True)
        )
        raise InputError(
            f"label words that begin with the same token ({pieces}); give others with --label-words, "
            f"for {', '.join(NAMES)} in this order"
        )
    long = [word for word, ids in zip(shown, tokens, strict=True) if len(ids) > 1]
    note = f"of label words of several tokens, the first is asked for: {', '.join(long)}" if long else ""
    return LabelWords(shown, first, note)


def _after_text(tokenizer: Any, word: str) -> list[int]:  # noqa: ANN401 - see above
    for carrier in _CARRIERS:
        before = tokenizer(carrier, add_special_tokens=False)["input_ids"]
        both: list[int] = tokenizer(f"{carrier} {word}", add_special_tokens=False)["input_ids"]
        if both[: len(before)] == before and len(both) > len(before):
            return both[len(before) :]
    raise InputError(f"label word {word!r}: this tokenizer merges it with the text before it; give other --label-words")
