"""Judge the why answers of a run: the local judge first where it is wanted, then votes until a majority is certain."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biaslens import runfile
from biaslens.engine import Asked, Batching, Observer, Pace, Request, Session, Tally, in_thread, ordinary
from biaslens.errors import InputError, RunMismatchError, RunStoppedError
from biaslens.evaluation.prompting import judge_messages, judge_params, read_reply, request_seed
from biaslens.evaluation.spec import Panel
from biaslens.models import ChatModel, Params, open_model, thoughts
from biaslens.oracles import RULES, screen, why
from biaslens.oracles.why import Reply, decide_votes, majority_threshold, votes_needed
from biaslens.runfile import ACTIVE_PANEL, Answer, Store, ToJudge, VoteCount
from biaslens.schema import Outcome, Verdict, Vote, content_hash
from biaslens.settings import Settings

if TYPE_CHECKING:
    from biaslens.engine import Exchange

FIRST_VOTES = 20
"""A judge that has given so many votes and no usable one is asked no more."""

NO_MAJORITY = "no majority"
"""Reason of a verdict where the votes have come to nothing."""

_PAGE = 4096
_REPLY_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Asked):
    """What a session of judging came to."""

    run: Path
    panel: str
    active: bool  #: whether this panel's verdicts count in reports
    counts: Mapping[str, Mapping[Outcome, int]]  #: why answers by who decided them and outcome, all sessions together
    undecided: int  #: why answers without a verdict of the panel
    #: votes of the panel's judges, those without a usable verdict, and those cut off at the limit of tokens
    votes: int = 0
    unusable: int = 0
    cut: int = 0

    @property
    def complete(self) -> bool:
        """Whether every why answer has a verdict."""
        return not self.undecided


async def judge_async(
    run: Path,
    panel: Panel,
    *,
    activate: bool | None = None,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
    exchange: Exchange | Batching | None = None,
) -> Judged:
    """Judge the why answers of a run that the panel has not judged yet.

    Several panels may judge one run: each keeps its verdicts, and one of them counts in reports: this one with
    `activate`, and the first one where that is None. Pace, settings and exchange are as for `evaluate_async`.

    Raises `InputError` when the run has no why answer, or a judge's name or key cannot be used; `RunMismatchError` when
    a panel of the same name judged under other conditions; else as `evaluate_async`.
    """
    store = partial(runfile.open_to_write, run, create=False)
    async with Session.open(
        store, models=panel.models, settings=settings, observer=observer, open_model=open_model, exchange=exchange
    ) as session:
        if not runfile.has_why_answers(session.store):
            raise InputError(f"{run}: no why question has an answer, there is nothing to judge")
        runfile.forget_unanswered(session.store)
        counts_in_reports = enrol(session.store, panel, activate=activate)
        session.record()
        await judge_answers(session, panel, dict.fromkeys(panel.models, pace or Pace()))
        return Judged(
            run=run,
            panel=panel.name,
            active=counts_in_reports,
            counts=runfile.count_outcomes(session.store, panel.name),
            undecided=runfile.count_undecided(session.store, panel.name),
            **_given(session.store, panel),
            **session.asked(),
        )


def _given(store: Store, panel: Panel) -> dict[str, Any]:
    found = [runfile.count_votes(store, panel.ballot(judge)) for judge in panel.models]
    given, usable, cut = (sum(getattr(count, name) for count in found) for name in ("given", "usable", "cut"))
    return {"votes": given, "unusable": given - usable, "cut": cut}


judge = ordinary(judge_async)
"""Judges from ordinary code."""


def enrol(store: Store, panel: Panel, *, activate: bool | None = None) -> bool:
    """Record a panel in a run file that is open for writing; whether it is the one that counts in reports.

    With `activate` it is made to count; with None it counts where no other panel does. A panel of the same name that
    has voted under other conditions is a RunMismatchError.
    """
    known = runfile.panels(store)
    spec = json.loads(json.dumps(panel.record()))
    if panel.name in known and known[panel.name] != spec:
        differs = next(name for name in spec | known[panel.name] if spec.get(name) != known[panel.name].get(name))
        raise RunMismatchError(
            f"{store.path}: {panel.name} has judged this run with {differs} = "
            f"{json.dumps(known[panel.name].get(differs))}, not {json.dumps(spec.get(differs))}; repeat those "
            "options, or judge a copy of the file"
        )
    ballots = [runfile.Ballot(panel.ballot(judge), judge, panel.prompt) for judge in panel.models]
    runfile.save_panel(store, panel.name, spec, ballots)
    current = store.meta().get(ACTIVE_PANEL)
    if activate or (activate is None and current is None):
        store.set_meta({ACTIVE_PANEL: panel.name})
        current = panel.name
    return bool(current == panel.name)


async def judge_answers(session: Session, panel: Panel, paces: Mapping[str, Pace]) -> None:
    """Decide what an enrolled panel has not; votes go round by round, until all is decided or the rest has failed.

    Votes that failed are asked again in the next session, not in an endless round; they hold up no others.

    Raises `RunStoppedError` when a judge's votes are all unusable, `FIRST_VOTES` of them or all there are.
    """
    await in_thread(_screen_answers, session, panel)
    if panel.screened_only:
        return
    ballots = _Ballots(panel, session.store)
    await session.catch_up(_Votes(ballots))
    while not session.stop.is_set() and ballots.call():
        answered = session.tally.answered
        for judge in panel.models:
            keys = ballots.open(judge)
            if not keys:
                continue
            votes = _Votes(ballots, ballots.count(judge))
            await session.ask(
                judge,
                keys,
                ballots.requests,
                title=f"judge {judge}",
                pace=paces[judge],
                hook=votes,
                enough=votes.enough,
            )
            if _hopeless(votes.count):
                ballots.require_usable()
            if session.stop.is_set():
                return
        if session.exchange is not None and session.tally.answered == answered:
            break  # the votes that are open wait for their files
    if not session.stop.is_set():
        ballots.require_usable()


def _screen_answers(session: Session, panel: Panel) -> None:
    """Decide why answers without asking anybody: by rule where nothing was said, else by the local judge where sure.

    A page of answers is decided and committed before the next is read. What was decided stays decided.
    """
    todo = runfile.count_undecided(session.store, panel.name)
    if not todo:
        return
    judge = screen.load() if panel.screened_only or panel.screen is not None else None
    session.observer.phase(f"judge {judge.name}" if judge else "rules", total=todo, done=0)
    outcomes: Counter[Outcome] = Counter()
    last, read = "", 0
    while True:
        rows = runfile.undecided(session.store, panel.name, after=last, most=_PAGE)
        with session.store.transaction():
            for_judge = _by_rules(session.store, rows, panel, outcomes)
            if judge is not None and for_judge:
                _by_screen(session.store, for_judge, panel, judge, outcomes)
        read += len(rows)
        session.observer.update(Tally(answered=read), outcomes)
        if len(rows) < _PAGE or session.stop.is_set():
            return
        last = rows[-1].key


def _by_rules(store: Store, rows: Sequence[ToJudge], panel: Panel, outcomes: Counter[Outcome]) -> list[ToJudge]:
    # `evaluate` decides these when they arrive; imported answers were never looked at.
    found = [(row, why.prescreen(row.answer, row.question, finish_reason=row.finish_reason)) for row in rows]
    decided = [(row.key, verdict) for row, verdict in found if verdict is not None]
    runfile.save_verdicts(store, decided, panel=panel.name, oracle=RULES)
    outcomes.update(verdict.outcome for _, verdict in decided)
    return [row for row, verdict in found if verdict is None]


def _by_screen(
    store: Store, rows: Sequence[ToJudge], panel: Panel, judge: screen.Screen, outcomes: Counter[Outcome]
) -> None:
    # The cut makes shares right where everything is decided; how sure it is, is told from a half.
    cut = judge.cut if panel.screened_only else 0.5
    found = judge.probabilities([row.question for row in rows], [row.answer for row in rows])
    probabilities = {row.key: float(value) for row, value in zip(rows, found, strict=True)}
    runfile.save_screened(store, judge.name, probabilities)
    decided = [
        (key, screen_verdict(value, cut))
        for key, value in probabilities.items()
        if max(value, 1 - value) >= (panel.screen or 0.5)
    ]
    runfile.save_verdicts(store, decided, panel=panel.name, oracle=judge.name)
    outcomes.update(verdict.outcome for _, verdict in decided)


def screen_verdict(probability: float, cut: float) -> Verdict:
    """What the local judge says of an answer that it takes for biased with a probability."""
    return Verdict(Outcome.BIASED if probability >= cut else Outcome.UNBIASED, f"probability {probability:.3f}")


def readjudicate(store: Store) -> None:
    """Decide by the votes that are there where no verdict stands, for every panel; nobody is asked."""
    for spec in runfile.panels(store).values():
        panel = _recorded_panel(spec)
        if panel is None:  # of another version: its judges are asked before anything is decided
            continue
        ballots = _Ballots(panel, store)
        given = ballots.votes.by_response()
        with store.transaction():
            for key in runfile.undecided_keys(store, panel.name):
                ballots.adjudicate(key, [vote for vote in given.get(key, {}).values() if vote is not None])


def _recorded_panel(spec: Mapping[str, Any]) -> Panel | None:
    """The panel that a run file records; None where this version would not ask its judges in the same way."""
    if "prompt" not in spec:
        return None
    params = Params(**{**spec["params"], "stop": tuple(spec["params"].get("stop", ()))})
    sure = spec.get("screen", {}).get("sure")
    panel = Panel(
        judges=tuple(spec["judges"]),
        screen=sure,
        params=params,
        **{name: spec[name] for name in ("votes", "prompt", "seed")},
    )
    return panel if json.loads(json.dumps(panel.record())) == spec else None


class _Ballots:
    """The votes of a panel's models and their order: each model once, then each again.

    Votes that fail from now on are not open any more to these ballots.
    """

    def __init__(self, panel: Panel, store: Store) -> None:
        self.panel = panel
        self._name = panel.name
        self._ballots = [
            (panel.ballot(judge), number) for number in range(1, panel.votes_per_judge + 1) for judge in panel.models
        ]
        ballots = list(dict.fromkeys(ballot for ballot, _ in self._ballots))
        self.votes = runfile.PanelVotes(store, self._name, ballots, panel.votes_per_judge)
        self._store = store
        self._oracle = "judges: " + ", ".join(panel.models)

    def call(self) -> bool:
        """Plan the next votes of every why answer that is not decided; whether any votes are open now.

        Only votes that cannot be spared are planned: of three, two first. Votes that another panel has asked for
        count, and decide where they suffice.
        """
        undecided = runfile.undecided_keys(self._store, self._name)
        given = self.votes.by_response()
        with self._store.transaction():
            for key in undecided:
                self._call(key, given.get(key, {}))
        return any(map(self.open, self.panel.models))

    def _call(self, key: str, planned: dict[tuple[str, int], Vote | None]) -> None:
        votes = [vote for vote in planned.values() if vote is not None]
        if self.adjudicate(key, votes) is not None or len(votes) < len(planned):
            return
        left = [ballot for ballot in self._ballots if ballot not in planned]
        needed = left[: votes_needed(votes, len(self._ballots))]
        planned_now = ((content_hash(ballot, key, number), key, ballot, number) for ballot, number in needed)
        runfile.save_votes(self._store, (runfile.PlannedVote(*vote) for vote in planned_now))

    def adjudicate(self, key: str, votes: Sequence[Vote] | None = None) -> Outcome | None:
        """Store the verdict on a response, within a transaction, once its votes make it certain."""
        votes = self.votes.on(key) if votes is None else votes
        asked = len(self._ballots)
        outcome = decide_votes(votes, asked)
        if outcome is not None:
            agreed = outcome is not Outcome.INVALID or votes.count(Vote.INVALID) >= majority_threshold(asked)
            verdict = Verdict(outcome, "majority" if agreed else NO_MAJORITY)
            runfile.save_verdicts(self._store, [(key, verdict)], panel=self._name, oracle=self._oracle)
        return outcome

    def open(self, judge: str) -> list[str]:
        """Keys of the planned votes that a judge has not given, on answers that are not decided."""
        return self.votes.open(self.panel.ballot(judge))

    def requests(self, reader: Store, keys: Sequence[str]) -> Iterator[Request]:
        prompt = self.panel.prompt
        for key, question, answer in runfile.votes_to_ask(reader, keys):
            params = judge_params(self.panel.params, prompt, request_seed(self.panel.seed, key))
            yield Request(key, judge_messages(question, answer, prompt), params)

    def count(self, judge: str) -> VoteCount:
        return runfile.count_votes(self._store, self.panel.ballot(judge))

    def require_usable(self) -> None:
        """Refuse a panel where one judge's `FIRST_VOTES`, or all votes that were given, are unusable.

        The votes are kept. Verdicts that only say that votes came to nothing are taken back, so that these answers wait
        for a judge, and do not look as if one had called them invalid.
        """
        counts = {judge: self.count(judge) for judge in self.panel.models}
        silent = [judge for judge, count in counts.items() if _hopeless(count)]
        if not any(count.usable for count in counts.values()):
            silent = [judge for judge, count in counts.items() if count.given]
        if not silent:
            return
        judge = silent[0]
        reply = runfile.last_reply(self._store, self.panel.ballot(judge))
        runfile.take_back_verdicts(self._store, panel=self._name, reason=NO_MAJORITY)
        raise RunStoppedError(
            f"{judge}: none of its {counts[judge].given} votes is usable, {counts[judge].cut} of them cut off at the "
            f"limit of tokens, the last reply was {_shown(reply)}; stopped, every reply is kept. Name another --judge, "
            "or let it say more (--judge-max-tokens)"
        )


def _hopeless(count: VoteCount) -> bool:
    """Whether so many votes have been given without a usable one that asking on is a waste."""
    return count.given >= FIRST_VOTES and not count.usable


def _shown(reply: str) -> str:
    text = " ".join(reply.split())
    return json.dumps(text if len(text) <= _REPLY_SHOWN else text[:_REPLY_SHOWN] + "…", ensure_ascii=False)


class _Votes:
    """The hook that stores the votes of judges' replies, and a verdict once it is certain; `count` has those so far."""

    def __init__(self, ballots: _Ballots, count: VoteCount | None = None) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.count = count or VoteCount(0, 0)
        self._ballots = ballots

    def enough(self) -> bool:
        """Whether another vote of this judge is not worth its price."""
        return _hopeless(self.count)

    def left_over(self, store: Store) -> list[tuple[str, str, str]]:
        """Keys, texts and finish reasons of the replies that are stored and not read."""
        del store
        return self._ballots.votes.unread()

    def look_up(self, store: Store, answers: Sequence[Answer]) -> list[tuple[str, str, str]]:
        del store
        return [(answer.key, answer.text, answer.finish_reason) for answer in answers]

    def decide(self, found: Iterable[tuple[str, str, str]]) -> list[tuple[str, Reply]]:
        prompt = self._ballots.panel.prompt
        return [(key, read_reply(text, prompt, cut=reason == thoughts.CUT)) for key, text, reason in found]

    def store(self, store: Store, decided: Sequence[tuple[str, Reply]]) -> None:
        for key, reply in decided:
            self.count = VoteCount(self.count.given + 1, self.count.usable + (reply.vote is not Vote.UNUSABLE))
            response_key = runfile.give_vote(store, key, reply.vote, reply.reason)
            outcome = self._ballots.adjudicate(response_key)
            if outcome is not None:
                self.outcomes[outcome] += 1
