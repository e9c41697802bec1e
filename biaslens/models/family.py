"""Which models are kin: a judge may favour its own family's answers."""

from __future__ import annotations

import re

# Names of families as they stand in model names; the first that fits counts.
_FAMILIES = (
    ("gpt", r"\bgpt|chatgpt|davinci|\bo[1-9](?:-|\b)"),
    ("claude", r"claude"),
    ("gemini", r"gemini|gemma|palm|bard"),
    ("deepseek", r"deepseek"),
    ("llama", r"llama|vicuna|alpaca"),
    ("qwen", r"qwen|qwq"),
    ("mistral", r"mistral|mixtral|ministral|magistral|codestral"),
    ("command", r"\bcommand(?:-|\b)|cohere|\baya\b"),
    ("grok", r"\bgrok"),
    ("phi", r"\bphi-?\d"),
    ("glm", r"glm"),
    ("kimi", r"kimi|moonshot"),
    ("yi", r"\byi-"),
    ("smollm", r"smollm"),
)
_PATTERNS = [(name, re.compile(pattern)) for name, pattern in _FAMILIES]


def family(model: str) -> str:
    """Family of a model by its name, as far as names tell; "" where they do not.

    A model that was distilled from another family goes by its own name.

    Examples
    --------
    >>> family("openai/gpt-4o-mini"), family("together/meta-llama/Llama-3-8b-chat-hf"), family("local/screen")
    ('gpt', 'llama', '')
    """
    name = model.lower()
    return next((found for found, pattern in _PATTERNS if pattern.search(name)), "")
