"""Upper and lower case of a word that takes the place of another."""

from __future__ import annotations


def cased(form: str, before: str, listed: str, *, begins: bool) -> str:
    """Write `form` as its predecessor was written.

    Parameters
    ----------
    form
        The new form, as the list writes it; capitals of its own stay.
    before
        The old one, as it stands in the text.
    listed
        The old one, as the list writes it.
    begins
        Whether it begins a sentence.

    Examples
    --------
    >>> cased("his", "HER", "her", begins=False), cased("white", "Asian", "Asian", begins=False)
    ('HIS', 'white')
    >>> cased("husband", "Wife", "wife", begins=False), cased("a b", "X", "x", begins=True)
    ('Husband', 'A b')
    """
    letters = [character for character in before if character.isalpha()]
    if len(letters) > 1 and before.isupper() and not listed.isupper():
        return form.upper()
    if begins and letters and letters[0].isupper():
        return form[:1].upper() + form[1:]
    if not letters or not letters[0].isupper() or listed[:1].isupper():
        return form
    words = before.replace("-", " ").split()
    if len(words) > 1 and all(word[:1].isupper() for word in words):
        return " ".join(word[:1].upper() + word[1:] for word in form.split(" "))
    return form[:1].upper() + form[1:]
