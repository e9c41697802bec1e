"""Judge the thoughts before answers, as a measure of its own: it enters no rate of the answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from biaslens import runfile
from biaslens.engine import Asked, Batching, Observer, Pace, Request, Session, Tally, in_thread, ordinary
from biaslens.errors import InputError, RunMismatchError
from biaslens.evaluation.prompting import judge_messages, judge_params, read_reply, request_seed
from biaslens.evaluation.spec import Panel
from biaslens.models import ChatModel, open_model, thoughts
from biaslens.oracles import screen
from biaslens.oracles.why import Reply, decide_votes
from biaslens.runfile import Answer, Store, Thought, ThoughtVote
from biaslens.schema import Outcome, Vote, content_hash
from biaslens.settings import Settings

if TYPE_CHECKING:
    from biaslens.engine import Exchange

PANELS = "thought_panels"
"""Name in meta of the panels that have judged thoughts."""

_PAGE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedThoughts(Asked):
    """What a session of judging thoughts came to."""

    run: Path
    panel: str
    thoughts: int  #: responses with a thought
    undecided: int  #: those of them without a verdict of the panel
    unusable: int  #: votes of all sessions without a usable verdict

    @property
    def complete(self) -> bool:
        """Whether every thought has a verdict."""
        return not self.undecided


async def judge_thoughts_async(
    run: Path,
    panel: Panel,
    *,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
    exchange: Exchange | Batching | None = None,
) -> JudgedThoughts:
    """Judge the thoughts of a run that the panel has not judged yet, of all kinds of questions.

    They are judged as answers to why questions are: biased is what is argued in its own voice. All votes are asked.

    Raises `InputError` when the run holds no thought, or a judge's name or key cannot be used; `RunStoppedError` when
    too much fails (every vote is kept).
    """
    store = partial(runfile.open_to_write, run, create=False)
    async with Session.open(
        store, models=panel.models, settings=settings, observer=observer, open_model=open_model, exchange=exchange
    ) as session:
        if not runfile.count_thoughts(session.store):
            raise InputError(f"{run}: no answer came with a thought; not every model, or provider, shows one")
        _enrol(session.store, panel)
        session.record()
        if panel.screened_only or panel.screen is not None:
            await in_thread(_screen, session, panel)
        if panel.models:
            await _vote(session, panel, pace or Pace())
        return JudgedThoughts(
            run=run,
            panel=panel.name,
            thoughts=runfile.count_thoughts(session.store),
            undecided=runfile.count_undecided_thoughts(session.store, panel.name),
            unusable=runfile.unusable_thought_votes(session.store, panel.name),
            **session.asked(),
        )


judge_thoughts = ordinary(judge_thoughts_async)
"""Judges thoughts from ordinary code."""


def _enrol(store: Store, panel: Panel) -> None:
    """Record the panel; one of its name that has voted under other conditions is a RunMismatchError."""
    known = store.meta().get(PANELS, {})
    spec = json.loads(json.dumps(panel.record()))
    if known.get(panel.name, spec) != spec:
        raise RunMismatchError(f"{store.path}: {panel.name} has judged these thoughts with other options; repeat those")
    store.set_meta({PANELS: known | {panel.name: spec}})


def _pages(store: Store, panel: Panel) -> Iterator[list[Thought]]:
    rows = [Thought("", "", [], "")]
    while rows:
        rows = runfile.thoughts_to_judge(store, panel.name, after=rows[-1].key, most=_PAGE)
        yield rows


def _screen(session: Session, panel: Panel) -> None:
    judge = screen.load()
    cut, sure = (judge.cut, 0.0) if panel.screened_only else (0.5, panel.screen or 0.5)
    total = runfile.count_undecided_thoughts(session.store, panel.name)
    session.observer.phase(f"thoughts, {judge.name}", total=total, done=0)
    outcomes: Counter[Outcome] = Counter()
    done = 0
    for rows in _pages(session.store, panel):
        if not rows or session.stop.is_set():
            return
        found = judge.probabilities([_asked(row) for row in rows], [row.thought for row in rows])
        decided = [
            (row.key, Outcome.BIASED if value >= cut else Outcome.UNBIASED)
            for row, value in zip(rows, found, strict=True)
            if max(value, 1 - value) >= sure
        ]
        with session.store.transaction():
            runfile.save_thought_verdicts(session.store, decided, panel=panel.name)
        outcomes.update(outcome for _, outcome in decided)
        done += len(rows)
        session.observer.update(Tally(answered=done), outcomes)


async def _vote(session: Session, panel: Panel, pace: Pace) -> None:
    hook = _Votes(panel)
    await session.catch_up(hook)
    await in_thread(_plan_votes, session.store, panel)
    for judge in panel.models:
        keys = runfile.open_thought_votes(session.store, panel.name, judge)
        if keys and not session.stop.is_set():
            requests = partial(_requests, panel)
            await session.ask(judge, keys, requests, title=f"thoughts, judge {judge}", pace=pace, hook=hook)


def _plan_votes(store: Store, panel: Panel) -> None:
    ballots = {judge: panel.ballot(judge) for judge in panel.models}
    for rows in _pages(store, panel):
        planned = [
            ThoughtVote(content_hash("thought", ballot, row.key, number), row.key, panel.name, judge, number)
            for row in rows
            for judge, ballot in ballots.items()
            for number in range(1, panel.votes_per_judge + 1)
        ]
        with store.transaction():
            runfile.save_thought_votes(store, planned)


def _asked(row: Thought) -> str:
    return f"{row.question} ({'; '.join(row.options)})" if row.options else row.question


def _requests(panel: Panel, reader: Store, keys: Sequence[str]) -> Iterator[Request]:
    for row in runfile.thought_votes_to_ask(reader, keys):
        params = judge_params(panel.params, panel.prompt, request_seed(panel.seed, row.key))
        yield Request(row.key, judge_messages(_asked(row), row.thought, panel.prompt), params)


class _Votes:
    """The hook that stores votes on thoughts, and a verdict once all votes of the panel are in."""

    def __init__(self, panel: Panel) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self._panel = panel

    def left_over(self, store: Store) -> list[tuple[str, str, str]]:
        return runfile.unread_thought_votes(store, self._panel.name)

    def look_up(self, store: Store, answers: Sequence[Answer]) -> list[tuple[str, str, str]]:
        del store
        return [(answer.key, answer.text, answer.finish_reason) for answer in answers]

    def decide(self, found: Iterable[tuple[str, str, str]]) -> list[tuple[str, Reply]]:
        return [(key, read_reply(text, self._panel.prompt, cut=reason == thoughts.CUT)) for key, text, reason in found]

    def store(self, store: Store, decided: Sequence[tuple[str, Reply]]) -> None:
        for key, reply in decided:
            response_key = runfile.give_thought_vote(store, key, reply.vote, reply.reason)
            votes = runfile.votes_on_thought(store, response_key, self._panel.name)
            if None in votes:
                continue
            outcome = decide_votes([Vote(vote) for vote in votes if vote is not None], len(votes))
            if outcome is not None:
                runfile.save_thought_verdicts(store, [(response_key, outcome)], panel=self._panel.name)
                self.outcomes[outcome] += 1
