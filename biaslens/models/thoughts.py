"""Tell a model's thought from its answer.

Servers that know their model send the two in fields of their own. Others send what the model wrote, with the marks of
its family in it, or with some of them: a chat template that opens the thought leaves the model to close it, and a limit
of tokens may come first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

CUT = "length"
"""Finish reason of an answer that was ended at its limit of tokens."""

FILTERED = "content_filter"
"""Finish reason of an answer that the provider's filter withheld, or broke off."""

REFUSED = "refusal"
"""Finish reason of an answer that the provider marks as a refusal; its text is what it says instead."""

_FINISH = {
    # Mistral, Cohere, Gemini, Anthropic, the Responses API
    **dict.fromkeys(("model_length", "max_tokens", "max_output_tokens", "error_limit"), CUT),
    # Gemini's reasons, Anthropic's and Bedrock's stop reasons, Zhipu's, Together's
    **dict.fromkeys(
        (
            "safety", "prohibited_content", "blocklist", "spii", "recitation", "image_safety", "guardrail_intervened",
            "content_filtered", "sensitive", "moderation", "error_toxic", "model_armor",
        ),
        FILTERED,
    ),
}  # fmt: skip


def finish(reason: str) -> str:
    """Name of a finish reason: `CUT` and `FILTERED` for all that providers call them, others as they are.

    >>> finish("MAX_TOKENS"), finish("SAFETY"), finish("stop")
    ('length', 'content_filter', 'stop')
    """
    return _FINISH.get(reason.lower(), reason)


class Told(NamedTuple):
    """An answer, and the thought before it; "" for none."""

    answer: str
    thought: str


_NAMES = (
    r"(?:(?:[a-z]{1,8}:)?think(?::[a-z]{1,12})?|thinking|thoughts?|reason(?:ing)?|reflection|scratchpad|"
    r"inner_monologue|longcat_think)"
)
# By family: what begins a thought, and what ends it.
_PAIRS = (
    # DeepSeek, Qwen, GLM, Nemotron, Phi, ERNIE; MiniMax and Seed with a prefix; EXAONE and Gemini; Nova; LongCat
    (rf"<{_NAMES}(?:\s[^<>]{{0,80}})?>", rf"</{_NAMES}>"),
    (r"\[THINK\]", r"\[/THINK\]"),  # Magistral, Ministral
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # Open Thinker, Sky-T1
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Command
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<\|channel>\s*thought\b", r"<channel\|>"),  # Gemma 4
    (r"<unused94>(?:\s*thought\b)?", r"<unused95>"),  # MedGemma
    (
        r"(?:<\|begin\|>\s*assistant\s*)?<\|think\|>",
        r"<\|/think\|>|<\|end\|>(?=\s*<\|(?:begin\|>\s*assistant|content\|>))",
    ),  # Solar
    (r"""<details\b[^<>]{0,80}type=["']reasoning["'][^<>]{0,80}>""", r"</details>"),  # Open WebUI
    (r"\A\s*Here(?:'s| is) my thought process:", r"(?<!\w)Here(?:'s| is) my response:"),  # Granite
)
# Quoted in code, a mark is none.
_MARK = re.compile(
    "|".join(f"(?P<begin{i}>{begin})|(?P<end{i}>{end})" for i, (begin, end) in enumerate(_PAIRS)).join(
        ("(?<!`)(?:", ")(?!`)")
    )
)

_HARMONY = re.compile(
    r"(?:<\|start\|>[^<]{0,80}|\bassistant\s{0,3})?<\|channel\|>\s*(?P<channel>\w+)[^<]{0,80}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
# The same where the server has dropped the special tokens.
_BARE_HARMONY = re.compile(
    r"\A\s*(?:analysis(?=[A-Z\"'“]|\s)(?P<thought>.*?))?(?:assistant\s*final(?P<answer>.*))?\Z", re.DOTALL
)
_BARE_CHANNEL = re.compile(r"\A\s*thought\s*\n")
_LONGEST_BARE = 60
"""Most characters of an answer after a "thought" that lost its marks: more may be the thought itself."""

_AROUND_ANSWERS = re.compile(
    r"</?(?:answer|response|output|final_answer|final)>|<\|(?:begin|end)_of_(?:solution|box|answer)\|>|"
    r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>|(?:<\|begin\|>\s*assistant\s*)?<\|content\|>"
)
_LAST = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|eom_id|return|end|endoftext|end_of_text|assistant_end|user|END_OF_TURN_TOKEN)\|>|</s>|"
    r"<end_of_turn>|<turn\|>|<｜end▁of▁sentence｜>|<\|eos\|>|\[EOS\])+\Z"
)

_LONGEST_LAST = 200


def split(content: str, thought: str = "", *, cut: bool = False, opened: bool = False) -> Told:
    r"""Tell an answer from the thought before it, as far as the marks of any known family tell.

    What a mark ends is a thought, whether or not one begins it; what begins and does not end is one too. Without a mark
    all is the answer, with two exceptions. `opened` says that the model's chat template opens the thought, so that a
    `cut` answer without a mark never came out of it; one whose marks a server has dropped is a thought as a whole where
    nothing tells how far it goes. `thought` is what came in a field of its own.

    >>> split("<think>A or B?</think>\n(C)")
    Told(answer='(C)', thought='A or B?')
    >>> split("The user asks for a letter. A or B?</think>(C)").answer
    '(C)'
    >>> split("<think>Yes or no? They say yes", cut=True).answer
    ''
    """
    if thought.strip():
        told = _by_marks(content)
        return Told(told.answer, _joined(thought, told.thought))
    told = _by_marks(content)
    if cut and opened and not told.thought and told.answer == content.strip():
        return Told("", told.answer)
    return told


def _by_marks(content: str) -> Told:
    if "<|channel|>" in content:
        found: Told | None = _harmony(content)
    else:
        marked = "<" in content or "◁" in content or "THINK]" in content or content.lstrip().startswith("Here")
        found = _bare(content) or (_pairs(content) if marked else None)
    if found is None or (not found.thought and found.answer == content):
        return Told(_last_off(content), "")
    return Told(_plain(found.answer), found.thought.strip())


def _pairs(content: str) -> Told | None:
    answer: list[str] = []
    thought: list[str] = []
    at, inside = 0, False
    for mark in _MARK.finditer(content):
        part = content[at : mark.start()]
        begins = str(mark.lastgroup).startswith("begin")
        if inside:
            thought.append(part)
            inside = begins
        elif begins:
            answer.append(part)
            inside = True
        else:  # the beginning was the prompt's
            thought += [*answer, part]
            answer = []
        at = mark.end()
    if not at:
        return None
    (thought if inside else answer).append(content[at:])
    return Told("\n".join(filter(str.strip, answer)), _joined(*thought))


def _harmony(content: str) -> Told:
    """Read OpenAI's format: the channel "final" is the answer, all others and what stands before them is thought."""
    heads = list(_HARMONY.finditer(content))
    if not heads:  # cut within the head of a message
        return Told("", content[: content.find("<|channel|>")])
    parts: dict[bool, list[str]] = {True: [], False: [_HARMONY_END.split(content[: heads[0].start()])[0]]}
    for head in heads:
        end = _HARMONY_END.search(content, head.end())
        parts[head["channel"] == "final"].append(content[head.end() : end.start() if end else None])
    return Told("\n".join(parts[True]), _joined(*parts[False]))


def _bare(content: str) -> Told | None:
    """Read what a server has left of a family's marks when it dropped the special tokens."""
    harmony = _BARE_HARMONY.match(content)
    thought = harmony["thought"] or "" if harmony else ""
    if harmony and (harmony["answer"] is not None or thought[:1].strip()):
        return Told(harmony["answer"] or "", thought)
    channel = _BARE_CHANNEL.match(content)
    if channel:
        rest = content[channel.end() :].strip()
        return Told(rest, "") if len(rest) <= _LONGEST_BARE and "\n" not in rest else Told("", rest)
    return None


def _plain(answer: str) -> str:
    return _last_off(_AROUND_ANSWERS.sub("\n", answer)).strip()


def _last_off(text: str) -> str:
    last = _LAST.search(text, max(0, len(text) - _LONGEST_LAST)) if "<" in text or "[EOS]" in text else None
    return text[: last.start()] if last else text


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())
