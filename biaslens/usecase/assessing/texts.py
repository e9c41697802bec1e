"""Assess generated texts: the way to the metrics, one pass over the responses, the measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from biaslens import embedding
from biaslens.errors import InputError
from biaslens.usecase.assessing.counterfactual import counterfactual_measures
from biaslens.usecase.assessing.indexing import Index
from biaslens.usecase.assessing.measuring import corrected
from biaslens.usecase.assessing.pairing import Cells
from biaslens.usecase.assessing.population import Population
from biaslens.usecase.assessing.spec import Score, TextSpec
from biaslens.usecase.framework import Path, Task, generation_path
from biaslens.usecase.recording import Recorder
from biaslens.usecase.responses import Responses
from biaslens.usecase.result import FEW, Example, Measure, Mention
from biaslens.usecase.words import Lexicon, Unawareness, check_unawareness

_MOST_WORDS = 3


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the responses come to."""

    measures: Sequence[Measure]
    examples: Mapping[str, Sequence[Example]]
    warnings: Sequence[str]


def find_path(
    prompts: Collection[str],
    lexicon: Lexicon,
    *,
    task: Task,
    invariance: bool,
    wanted: Collection[str] | None,
) -> tuple[Path, Unawareness | None]:
    """Walk the decision framework for these prompts; without any, whether they mention groups is not known."""
    found = check_unawareness(prompts, lexicon) if prompts else None
    path = generation_path(
        mentions=None if found is None else in_words(found),
        satisfied=None if found is None else found.satisfied,
        invariance=invariance,
        wanted=wanted,
        task=task,
    )
    return path, found


def in_words(found: Unawareness) -> str:
    """What was found in the prompts, in a line.

    Examples
    --------
    >>> from biaslens.usecase.words import load_words
    >>> in_words(check_unawareness(["Is she qualified?", "Is it raining?"], load_words(["gender"])))
    '1 of 2 prompts: gender in 1 (she 1)'
    """
    if found.satisfied:
        names = ", ".join(name.replace("_", " ") for name in found.attributes)
        return f"none of {found.prompts:,} prompts has a word of {names}"
    said = []
    for name, use in found.attributes.items():
        if use.satisfied:
            continue
        counts: dict[str, int] = {}
        for group in use.groups.values():
            for word, count in group.words.items():
                counts[word] = counts.get(word, 0) + count
        most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        words = ", ".join(f"{word} {count:,}" for word, count in most[:_MOST_WORDS])
        more = ", ..." if len(most) > _MOST_WORDS else ""
        said.append(f"{name.replace('_', ' ')} in {len(use.prompts):,} ({words}{more})")
    return f"{len(found.mentioning):,} of {found.prompts:,} prompts: {'; '.join(said)}"


def mentions(found: Unawareness | None, names: Sequence[str]) -> list[Mention]:
    """Protected words of the prompts, by group; `names` are the ids of the prompts."""
    if found is None:
        return []
    return [
        Mention(attribute, group, use.words, [names[index] for index in use.prompts])
        for attribute, uses in found.attributes.items()
        for group, use in uses.groups.items()
        if use.words
    ]


def groups_compared(
    lexicon: Lexicon, given: Mapping[str, Sequence[str]], found: Unawareness | None, *, named: bool
) -> dict[str, Sequence[str]]:
    """Groups to compare by attribute.

    Parameters
    ----------
    lexicon
        The words; its attributes are those that may be compared.
    given
        What the user says, by attribute.
    found
        What the prompts mention; attributes that they do not mention are left out unless the user named them or
        their groups. Gender stands in where none is left.
    named
        Whether the user named the attributes.

    Raises
    ------
    InputError
        For an attribute or a group that does not exist, or a single group.
    """
    for attribute, groups in given.items():
        if attribute not in lexicon.attributes:
            known = ", ".join(lexicon.attributes)
            raise InputError(f"no attribute {attribute!r} to compare groups of; there are {known}")
        known_groups = lexicon.attributes[attribute].groups
        unknown = [group for group in groups if group not in known_groups]
        if unknown:
            raise InputError(f"no group {unknown[0]!r} of {attribute}; there are {', '.join(known_groups)}")
        if len(set(groups)) < 2:
            raise InputError(f"a comparison of {attribute} needs two groups; there are {', '.join(known_groups)}")
    if found is None:
        wanted: Iterable[str] = lexicon.attributes if named else [*given, "gender"]
    else:
        mentioned = [name for name, use in found.attributes.items() if not use.satisfied]
        wanted = lexicon.attributes if named else [*mentioned, *given] or ["gender"]
    words = lexicon.attributes
    return {name: tuple(dict.fromkeys(given.get(name, words[name].compared))) for name in words if name in set(wanted)}


async def measure_texts(
    responses: Responses, index: Index, spec: TextSpec, score: Score, recorder: Recorder
) -> Measured:
    """Measure everything that applies, in one pass over the responses."""
    population, cells = Population(index, spec, recorder), Cells()
    counterfactual = spec.path.applies("counterfactual")
    for part in responses.parts():
        await population.add(part, score)
        recorder.responses([response for response in part if not index.counts_in(response)], {})
        if counterfactual:
            cells.add(part)
    measures, examples = list(population.measures()), population.examples()
    warnings = list(_warnings(index, spec, foreign=population.foreign, counterfactual=counterfactual))
    if counterfactual and index.groups:
        compared = {name: _there(spec, name, groups) for name, groups in index.groups.items()}
        warnings += _not_compared(index, compared)
        found, more = await counterfactual_measures(cells, replace(spec, compared=compared), score, recorder)
        measures, examples = [*measures, *found], examples | more
    return Measured(measures=corrected(measures), examples=examples, warnings=warnings)


def _there(spec: TextSpec, attribute: str, there: Collection[str]) -> list[str]:
    """Groups to compare of those that there are responses for.

    That is those that are compared anyway, and those that no word list knows; where these are too few, all.
    """
    if spec.only is not None and attribute not in spec.only:
        return []
    known = spec.lexicon.attributes[attribute].groups if attribute in spec.lexicon.attributes else ()
    chosen = [group for group in spec.compared.get(attribute, ()) if group in there]
    chosen += [group for group in there if group not in known]
    return chosen if len(chosen) > 1 else list(there)


def _not_compared(index: Index, compared: Mapping[str, Collection[str]]) -> Iterable[str]:
    for attribute, there in index.groups.items():
        name = attribute.replace("_", " ")
        left = [group for group in there if group not in compared[attribute]]
        if not compared[attribute]:
            yield f"Responses for groups of {name} are not compared, for it is none of the attributes named."
        elif len(there) < 2:
            yield f"Of {name} there are responses for {', '.join(there)} only; a comparison needs two groups."
        elif left:
            yield f"Responses for {', '.join(left)} ({name}) are not compared; --compare names the groups that are."


def _warnings(index: Index, spec: TextSpec, *, foreign: int, counterfactual: bool) -> Iterable[str]:
    count = len(index.units)
    if count < FEW:
        there = "is only 1 prompt" if count == 1 else f"are only {count:,} prompts"
        yield f"There {there}: intervals are rough, and small gaps cannot be seen."
    if index.counts["empty"]:
        are = _responses(index.counts["empty"], "is", "are")
        yield f"{are} empty; empty counts as not toxic and without stereotype."
    if cut := index.counts["cut off at the limit of tokens"]:
        were = _responses(cut, "was", "were")
        yield f"{were} cut off at the limit of tokens; what would have come after is not counted."
    if foreign:
        do = _responses(foreign, "does", "do")
        yield f"{do} not look English; scorers and word lists that know only English misread such texts."
    if counterfactual and not index.groups:
        yield (
            "There are no responses to counterfactual prompts, so nothing is said on whether responses change with the "
            "group: `biaslens counterfactual` makes the prompts, and --model asks them."
        )
    if counterfactual and index.groups and not spec.path.sentiment_only and not embedding.available():
        yield f"Cosine similarity is not measured, for its model is not installed: {embedding.HOW_TO_INSTALL}."
    notes: dict[str, list[str]] = {}
    for kind, scorer in spec.scorers.items():
        if scorer.note and spec.path.applies("counterfactual" if kind == "sentiment" else kind):
            notes.setdefault(scorer.note, []).append(kind)
    for note, kinds in notes.items():
        yield f"{' and '.join(kinds).capitalize()}: {note}"


def _responses(count: int, singular: str, plural: str) -> str:
    return f"1 response {singular}" if count == 1 else f"{count:,} responses {plural}"
