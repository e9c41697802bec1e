"""Words that name protected groups: lists as data, found in texts whole and in context."""

from biaslens.usecase.words.lexicon import Found, Lexicon, Mentions
from biaslens.usecase.words.load import ATTRIBUTES, load_words
from biaslens.usecase.words.model import AttributeWords, Row
from biaslens.usecase.words.unawareness import Unawareness, check_unawareness

__all__ = [
    "ATTRIBUTES",
    "AttributeWords",
    "Found",
    "Lexicon",
    "Mentions",
    "Row",
    "Unawareness",
    "check_unawareness",
    "load_words",
]
