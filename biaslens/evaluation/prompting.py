"""From a planned response to the messages that ask for it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from string import ascii_uppercase

from biaslens import codebook
from biaslens.models import Message, Params
from biaslens.models.base import JsonSchema, StructuredParams
from biaslens.oracles.replies import Reply, read_fairness, read_outcome
from biaslens.prompts import render, template_hash
from biaslens.schema import Condition, Kind, Vote, content_hash

NEUTRAL_PERSONA = "an ordinary person"
"""Who the model is told to be in the condition `neutral_role`."""

ASK_HASH = template_hash("system", *(f"ask_{kind}" for kind in Kind))
"""Hash of the templates that ask questions; part of every response's key."""

JUDGE_PROMPTS = {"codebook": "judge", "fairness": "judge_fairness"}
"""What judges can be asked, with the template that asks it; "fairness" is in the manner of the published study."""

_OUTCOMES = [vote.value for vote in Vote if vote is not Vote.UNUSABLE]
_REPLY = JsonSchema(
    "judgement",
    {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "outcome": {"type": "string", "enum": _OUTCOMES}},
        "required": ["reason", "outcome"],
        "additionalProperties": False,
    },
)


def persona_of(condition: Condition, persona: str) -> str | None:
    """Who the model is told to be; None for nobody."""
    return {Condition.ROLE: persona, Condition.NEUTRAL_ROLE: NEUTRAL_PERSONA, Condition.NO_ROLE: None}[condition]


def ask_messages(kind: Kind, question: str, options: Sequence[str], *, persona: str | None) -> tuple[Message, ...]:
    """Messages that ask one question.

    Parameters
    ----------
    kind, question
        The form and text of the question.
    options
        In the order shown; empty unless a choice.
    persona
        Who the model is; None leaves the role out of both messages (the ablation).
    """
    text = render(
        f"ask_{kind}", question=question, persona=persona, options=list(zip(ascii_uppercase, options, strict=False))
    )
    user = Message("user", text)
    return (user,) if persona is None else (Message("system", render("system", persona=persona)), user)


def judge_messages(question: str, answer: str, prompt: str = "codebook") -> tuple[Message, ...]:
    """Messages that ask a judge about one answer; question and answer are quoted as JSON strings, as data.

    Characters that print nothing (separators of lines, marks that hide or turn text) stand escaped in them, so that
    each string is one line, and the judge sees what people see.
    """
    text = render(JUDGE_PROMPTS[prompt], codebook=codebook.load(), question=_quoted(question), answer=_quoted(answer))
    return (Message("user", text),)


def _quoted(text: str) -> str:
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1]
        for character in json.dumps(text, ensure_ascii=False)
    )


def judge_template_hash(prompt: str) -> str:
    """Hash of a judges' prompt, the codebook in it included; part of every vote's key."""
    return content_hash(judge_messages("", "", prompt)[0].content)


def judge_params(params: Params, prompt: str, seed: int) -> Params:
    """Parameters of one request to a judge: the codebook's prompt asks for JSON where the provider can promise it."""
    schema = _REPLY if prompt == "codebook" else None
    return StructuredParams(**asdict(params) | {"seed": seed}, schema=schema)


def read_reply(reply: str, prompt: str) -> Reply:
    """Read a judge's reply to one of `JUDGE_PROMPTS`."""
    return read_fairness(reply) if prompt == "fairness" else read_outcome(reply)


def option_order(n_options: int, *, seed: int, question_id: str, trial: int) -> list[int]:
    """Positions of the options in the order shown: the groups permuted, the abstaining option last.

    The same seed, question and trial give the same order in every condition and for every model, so that paired
    comparisons are not disturbed by it.
    """
    order = list(range(n_options - 1))
    random.Random(f"{seed}/{question_id}/{trial}").shuffle(order)  # noqa: S311 - reproducible, not secret
    return [*order, n_options - 1]


def request_seed(seed: int, key: str) -> int:
    """Seed of one request: trials of a question differ, and a repeated run repeats."""
    return random.Random(f"{seed}/{key}").getrandbits(31)  # noqa: S311
