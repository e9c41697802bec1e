"""From a planned response to the messages that ask for it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from string import ascii_uppercase

from jinja2 import TemplateError

from biaslens._util.files import resource
from biaslens._util.text import quoted
from biaslens.errors import InputError
from biaslens.models import Message, Params
from biaslens.models.base import JsonSchema, StructuredParams
from biaslens.oracles.why import Reply, read_fairness, read_outcome
from biaslens.prompts import codebook, own_templates, render, source, sources_hash
from biaslens.schema import Condition, Kind, Vote, content_hash

NEUTRAL_PERSONA = "an ordinary person"
"""Who the model is told to be in the condition `neutral_role`."""

ASK_TEMPLATES = ("system", *(f"ask_{kind}" for kind in Kind))
"""Names of the templates that ask questions."""

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


class Wording:
    """The words that questions are asked in: the templates by their names in `ASK_TEMPLATES`.

    `system` is a message of one's own, before the one that gives the model its role; "" for none.
    """

    def __init__(self, sources: Mapping[str, str], system: str = "") -> None:
        self.sources = sources
        self.system = system
        self._templates = own_templates(sources)
        # The personas of a benchmark are far fewer than its questions.
        self._role = lru_cache(maxsize=2048)(lambda persona: self.render("system", persona=persona))

    @property
    def hash(self) -> str:
        """Content hash; part of every response's key."""
        templates = sources_hash(self.sources)
        return content_hash(templates, self.system) if self.system else templates

    def render(self, name: str, /, **values: object) -> str:
        """Fill a template."""
        return self._templates.get_template(name).render(**values).strip()

    def messages(
        self, kind: Kind, question: str, options: Sequence[str], *, persona: str | None
    ) -> tuple[Message, ...]:
        """Messages that ask one question, the options in the order shown; without a persona neither has the role."""
        lettered = list(zip(ascii_uppercase, options, strict=False))
        user = Message("user", self.render(f"ask_{kind}", question=question, persona=persona, options=lettered))
        role = "" if persona is None else self._role(persona)
        system = "\n\n".join(part for part in (self.system, role) if part)
        return (Message("system", system), user) if system else (user,)


@cache
def shipped_wording() -> Wording:
    """The templates that ship with the package, and no system message but the role's."""
    return Wording({name: source(name) for name in ASK_TEMPLATES})


def read_wording(folder: Path | None, system: str | None = None) -> Wording:
    """Read the templates of a folder; those that it does not have are the shipped ones.

    It is an InputError when the folder cannot be read, a template does not work or does not ask its question, or is
    none that asks questions: what judges are asked is not changed here.
    """
    sources = dict(shipped_wording().sources)
    if folder is not None:
        found, names = sorted(folder.glob("*.j2")), ", ".join(f"{name}.j2" for name in ASK_TEMPLATES)
        if not found:
            raise InputError(f"{folder}: no templates here; it may hold {names}")
        for path in found:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"{path}: cannot be read: {error}") from None
            shipped = resource("prompts") / path.name
            if path.stem in sources:
                sources[path.stem] = text
            elif not shipped.is_file() or text != source(path.stem):
                raise InputError(f"{path}: not a template that asks questions; only {names} can be replaced")
    wording = Wording(sources, (system or "").strip())
    for kind in Kind:
        _try(wording, kind, folder)
    return wording


def _try(wording: Wording, kind: Kind, folder: Path | None) -> None:
    question, options = "Are tall people kind?", ("Tall people", "Short people") if kind is Kind.CHOICE else ()
    for persona in ("a nurse", None):
        try:
            text = wording.messages(kind, question, options, persona=persona)[-1].content
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{folder}: a template for {kind} questions does not work: {error}") from None
        missing = [part for part in (question, *options) if part not in text]
        if missing:
            raise InputError(
                f"{folder}, ask_{kind}.j2: leaves out the {'options' if missing[0] in options else 'question'}"
            )


def judge_messages(question: str, answer: str, prompt: str = "codebook") -> tuple[Message, ...]:
    """Messages that ask a judge about one answer; question and answer are quoted as JSON strings, as data.

    Characters that print nothing (separators of lines, marks that hide or turn text) stand escaped in them, so that
    each string is one line, and the judge sees what people see.
    """
    text = render(JUDGE_PROMPTS[prompt], codebook=codebook(), question=quoted(question), answer=quoted(answer))
    return (Message("user", text),)


def judge_template_hash(prompt: str) -> str:
    """Hash of a judges' prompt, the codebook in it included; part of every vote's key."""
    return content_hash(judge_messages("", "", prompt)[0].content)


def judge_params(params: Params, prompt: str, seed: int) -> Params:
    """Parameters of one request to a judge: the codebook's prompt asks for JSON where the provider can promise it."""
    schema = _REPLY if prompt == "codebook" else None
    return StructuredParams(**asdict(params) | {"seed": seed}, schema=schema)


def read_reply(reply: str, prompt: str, *, cut: bool = False) -> Reply:
    """Read a judge's reply to one of `JUDGE_PROMPTS`; `cut` says that it reached its limit of tokens."""
    return read_fairness(reply, cut=cut) if prompt == "fairness" else read_outcome(reply, cut=cut)


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
