"""The viewer: every answer of some runs, in a browser on this machine. It never writes into a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlencode

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from biaslens import runfile
from biaslens.analysis.frame import BIASED, NOTHING, STATES, VALID
from biaslens.errors import BiasLensError, InputError
from biaslens.models import thoughts
from biaslens.report.page import environment
from biaslens.report.page.server import serve
from biaslens.report.table import between, percent
from biaslens.report.view.audit import LONGEST_REASON, Objections, as_csv
from biaslens.report.view.detail import read_detail
from biaslens.report.view.index import Answers, RunColumns, index_words, open_run, run_names, state_of
from biaslens.report.view.query import DIFFER, SORTS, Selection, Wanted, matrix, page, rate_of, select
from biaslens.runfile import Store
from biaslens.schema import Condition, Outcome

VALUES_SHOWN = 8
"""Values of a column that the list offers; the others are on a page of their own."""

LONGEST = 700
"""Characters of an answer that the list shows."""

REFRESH_SECONDS = 3.0
"""How often a run that is being written is read again, at most."""

_MATRIX_ROWS = 60
_DESIGN = frozenset(
    ("model", "condition", "kind", "attribute", "target", "role", "groups", "theme", "against", "stereotype")
)
_MARKS = {"biased": "B", "unbiased": "U", "refused": "R", "invalid": "I", "error": "E", "unjudged": "?", "unasked": "·"}
_CONDITIONS = tuple(Condition)
_UNASKED = STATES.index("unasked")


@dataclass(frozen=True)
class Shown:
    """What is looked at now: the answers, and a number that grows whenever they are read again.

    `progress` is how many answers each run plans, and has asked.
    """

    answers: Answers
    version: int
    progress: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, runs: Sequence[RunColumns], version: int) -> Self:
        """Prepare what the first page needs, so that it is there at once."""
        answers = Answers(runs)
        _ = answers.columns, answers.doubt, answers.by_number
        return cls(answers, version, [(len(run.key), int((run.state != _UNASKED).sum())) for run in runs])


class Viewer:
    """Runs that are looked at; those that another process adds to are read again from time to time."""

    def __init__(self, paths: Sequence[Path], *, tell: Callable[[str], None] = lambda _: None) -> None:
        self.paths = list(paths)
        self._states = [state_of(path) for path in paths]
        runs = []
        for path in paths:
            tell(f"{path}: reading")
            runs.append(open_run(path))
        self.shown = Shown.of(runs, 0)
        self.objections = [Objections(path) for path in paths]
        self.accepted = False
        self._reading = threading.Lock()
        self._read_at = time.monotonic()
        threading.Thread(target=self._index, daemon=True).start()

    def _index(self) -> None:
        for run in self.shown.answers.runs:
            with suppress(BiasLensError):  # searching says what is wrong
                index_words(run)

    def refresh(self) -> None:
        """Begin to read again what has changed, unless that is being done or was done a moment ago."""
        if time.monotonic() - self._read_at < REFRESH_SECONDS or not self._reading.acquire(blocking=False):
            return
        states = [state_of(path) for path in self.paths]
        if states == self._states:
            self._reading.release()
            return
        threading.Thread(target=self._read_again, args=(states,), daemon=True).start()

    def _read_again(self, states: list[str]) -> None:
        try:
            runs = [
                run if before == now else open_run(run.info.path)
                for run, before, now in zip(self.shown.answers.runs, self._states, states, strict=True)
            ]
            self.shown = Shown.of(runs, self.shown.version + 1)
            self._states = states
            self._index()
        except BiasLensError:
            pass  # what was read before is still true; the next look tries again
        finally:
            self._read_at = time.monotonic()
            self._reading.release()


def create_app(viewer: Viewer) -> tuple[Starlette, str]:
    """Make the application, and the content security policy under which its pages work."""
    handlers = _Handlers(viewer)
    app = Starlette(
        routes=[
            Route("/", handlers.overview),
            Route("/accept", handlers.accept, methods=["POST"]),
            Route("/answers", handlers.answers),
            Route("/values/{name}", handlers.values),
            Route("/answer/{run:int}/{key}", handlers.answer),
            Route("/matrix", handlers.matrix),
            Route("/object/{run:int}/{key}", handlers.object, methods=["POST"]),
            Route("/objections.csv", handlers.objections),
            Route("/live", handlers.live),
        ],
        exception_handlers={HTTPException: handlers.problem, BiasLensError: handlers.failure},
        max_body_size=64 * 1024,
    )
    return app, handlers.policy


def view(
    paths: Sequence[Path], *, port: int, open_browser: bool, tell: Callable[[str], None], note: Callable[[str], None]
) -> None:
    """Serve the answers of some runs until interrupted.

    `tell` gets the address, `note` what is being read before it can be opened.

    Raises `StorageError` where a run cannot be read; `InputError` when the port cannot be used.
    """
    viewer = Viewer(paths, tell=note)
    app, policy = create_app(viewer)
    serve(app, policy=policy, port=port, open_browser=open_browser, tell=tell)


class _Handlers:
    """Answers to requests, each in a thread of its own."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._environment = environment("biaslens.report.view", marks=_MARKS, sorts=SORTS, differs=DIFFER)
        self.policy = f"{self._environment.globals['policy']}; img-src data:; connect-src 'self'"

    def _show(self, template: str, request: Request, *, status: int = 200, **values: Any) -> Response:  # noqa: ANN401
        shown = values.pop("shown", self._viewer.shown)
        wanted = values.setdefault("wanted", Wanted())
        values.setdefault("names", run_names(shown.answers.runs))
        text = self._environment.get_template(f"{template}.html.j2").render(
            version=shown.version, path=request.url.path, wanted_address=wanted.address, **values
        )
        return HTMLResponse(text, status)

    def _begun(self) -> Shown:
        if not self._viewer.accepted:
            raise HTTPException(303)
        self._viewer.refresh()
        return self._viewer.shown

    def overview(self, request: Request) -> Response:
        if not self._viewer.accepted:
            return self._show("warning", request, after=request.query_params.get("after", "/"))
        shown = self._begun()
        return self._show(
            "overview", request, shown=shown, runs=[self._run(shown, n) for n in range(len(shown.answers.runs))]
        )

    def _run(self, shown: Shown, number: int) -> dict[str, Any]:
        answers, run = shown.answers, shown.answers.runs[number]
        mine = answers.run == number
        conditions = []
        for code in np.unique(run.condition):
            mask = mine & (answers.condition == code)
            state = answers.state[mask]
            counts = np.bincount(state, minlength=len(STATES)).tolist()
            rate = rate_of(answers, mask)
            said = answers.columns["condition"].values[code]
            chosen = {"model": (run_names(answers.runs)[number],), "condition": (said,)}
            conditions.append(
                {
                    "name": said,
                    "planned": len(state),
                    "asked": len(state) - counts[_UNASKED],
                    "valid": sum(count for count, valid in zip(counts, VALID, strict=True) if valid),
                    "biased": counts[BIASED],
                    "rate": rate.value,
                    "low": rate.low,
                    "high": rate.high,
                    "outcomes": [
                        (name, count, Wanted({**chosen, "outcome": (name,)}).address)
                        for name, count in zip(map(str, STATES), counts, strict=True)
                        if count
                    ],
                    "address": Wanted(chosen).address,
                }
            )
        return {
            "name": run_names(answers.runs)[number],
            "file": run.info.path.name,
            "benchmark": run.info.benchmark_version,
            "panel": run.info.panel,
            "conditions": conditions,
            "dollars": run.dollars,
            "objections": len(self._viewer.objections[number].standing),
        }

    async def accept(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        self._viewer.accepted = True
        after = form.get("after", ["/"])[0]
        return RedirectResponse(after if after.startswith("/") and not after.startswith("//") else "/", 303)

    def answers(self, request: Request) -> Response:
        shown = self._begun()
        wanted = _wanted(request)
        selection = select(shown.answers, wanted)
        found = page(shown.answers, selection, wanted)
        return self._show(
            "answers",
            request,
            shown=shown,
            wanted=wanted,
            total=selection.total,
            columns=self._columns(shown.answers, selection, wanted),
            blocks=self._blocks(shown.answers, found.rows.tolist(), wanted),
            rate=self._rate(shown.answers, selection, wanted),
            first=found.before + 1,
            last=found.before + len(found.rows),
            following=None if found.following is None else replace(wanted, after=found.following).address,
            start=replace(wanted, after=NOTHING).address,
            sort_links=[
                (name, said, replace(wanted, sort=name, after=NOTHING).address) for name, said in SORTS.items()
            ],
        )

    def _rate(self, answers: Answers, selection: Selection, wanted: Wanted) -> str | None:
        """The rate of what is chosen, where it is chosen by what was asked and not by what was answered."""
        if wanted.words or not wanted.chosen.keys() <= _DESIGN or not selection.total:
            return None
        found = rate_of(answers, selection.mask)
        ends = "" if np.isnan(found.low) else f" ({between(found.low, found.high)})"
        return percent(found.value) + ends

    def _columns(self, answers: Answers, selection: Selection, wanted: Wanted) -> list[dict[str, Any]]:
        made = []
        for name, column in answers.columns.items():
            counts, chosen = selection.counts[name], wanted.chosen.get(name, ())
            few = len(column.values) <= 2 * VALUES_SHOWN
            order = range(len(counts)) if few else sorted(range(len(counts)), key=lambda n: -counts[n])
            places = [n for n in order if counts[n] or column.values[n] in chosen]
            first = places if few else places[:VALUES_SHOWN]
            first = [*first, *(n for n in places if column.values[n] in chosen and n not in first)]
            values = [
                {
                    "value": column.values[n],
                    "count": int(counts[n]),
                    "on": column.values[n] in chosen,
                    "address": wanted.toggled(name, column.values[n]).address,
                }
                for n in first
            ]
            if len(places) > 1 or chosen:
                made.append(
                    {
                        "name": name, "title": column.title, "values": values, "more": len(places) - len(first),
                        "open": bool(chosen) or name in ("model", "outcome", "condition", "kind", "attribute"),
                    }
                )  # fmt: skip
        return made

    def values(self, request: Request) -> Response:
        shown = self._begun()
        wanted = _wanted(request)
        column = shown.answers.columns.get(request.path_params["name"])
        if column is None:
            raise HTTPException(404, "There is no such column.")
        counts = select(shown.answers, wanted).counts[column.name]
        order = sorted(np.flatnonzero(counts), key=lambda n: (-counts[n], column.values[n]))
        chosen = wanted.chosen.get(column.name, ())
        values = [
            (
                column.values[n],
                int(counts[n]),
                column.values[n] in chosen,
                wanted.toggled(column.name, column.values[n]).address,
            )
            for n in order
        ]
        return self._show("values", request, shown=shown, wanted=wanted, column=column, values=values)

    def _blocks(self, answers: Answers, rows: Sequence[int], wanted: Wanted) -> list[dict[str, Any]]:
        """Answers shown under their question: those to one question of one run and condition together."""
        told = self._told(answers, rows)
        blocks: list[dict[str, Any]] = []
        for row in map(int, rows):
            run, group = int(answers.run[row]), int(answers.group[row])
            key = answers.key[row].decode()
            of = told[run].get(key)
            if of is None:
                continue
            if not blocks or blocks[-1]["group"] != group:
                blocks.append(
                    {
                        "group": group,
                        "run": run,
                        "question": of["question"],
                        "persona": of["persona"] if of["condition"] == Condition.ROLE else None,
                        "options": of["options"],
                        "condition": answers.columns["condition"].values[answers.condition[row]],
                        "kind": of["kind"].replace("_", "/"),
                        "attribute": of["attribute"],
                        "answers": [],
                    }
                )
            text = of["answer"] or ""
            blocks[-1]["answers"].append(
                {
                    "address": f"/answer/{run}/{key}?{replace(wanted, after=NOTHING).address}",
                    "trial": of["trial"],
                    "state": str(STATES[answers.state[row]]),
                    "reason": of["reason"],
                    "text": text[:LONGEST],
                    "left": len(text) - LONGEST,
                    "cut": of["finish_reason"] == thoughts.CUT,
                    "objection": self._viewer.objections[run].standing.get(key),
                }
            )
        return blocks

    def _told(self, answers: Answers, rows: Sequence[int]) -> list[Mapping[str, Mapping[str, Any]]]:
        found: list[Mapping[str, Mapping[str, Any]]] = []
        for number, run in enumerate(answers.runs):
            keys = [answers.key[row].decode() for row in rows if answers.run[row] == number]
            if not keys:
                found.append({})
                continue
            with Store(run.info.path, checked=True) as store:
                found.append(runfile.viewed_texts(store, keys))
        return found

    def answer(self, request: Request) -> Response:
        shown = self._begun()
        answers = shown.answers
        run, row = self._place(answers, request)
        wanted = _wanted(request)
        info = answers.runs[run].info
        key = request.path_params["key"]
        with Store(info.path, checked=True) as store:
            detail = read_detail(store, info, key)
        assert detail is not None
        return self._show(
            "answer",
            request,
            shown=shown,
            wanted=wanted,
            detail=detail,
            told=detail.told,
            run=run,
            key=key,
            state=str(STATES[answers.state[row]]),
            info=info,
            condition=answers.columns["condition"].values[answers.condition[row]],
            trials=self._siblings(answers, wanted, np.flatnonzero(answers.group == answers.group[row]).tolist(), row),
            related=self._related(answers, wanted, row),
            outcomes=[outcome for outcome in Outcome if outcome is not Outcome.ERROR],
            objection=self._viewer.objections[run].standing.get(key),
            longest_reason=LONGEST_REASON,
            **self._neighbours(answers, wanted, row),
        )

    def _place(self, answers: Answers, request: Request) -> tuple[int, int]:
        run = request.path_params["run"]
        row = answers.row_of(run, request.path_params["key"]) if run < len(answers.runs) else None
        if row is None:
            raise HTTPException(404, "No run that is open here plans this answer.")
        return run, row

    def _neighbours(self, answers: Answers, wanted: Wanted, row: int) -> dict[str, Any]:
        """The answers before and after one among those wanted."""
        rows = np.flatnonzero(select(answers, wanted).mask)
        if wanted.sort != "reading":
            by = answers.doubt if wanted.sort == "doubt" else answers.at
            rows = rows[(-by[rows]).argsort(kind="stable")]
        at = np.flatnonzero(rows == row)
        if not len(at):
            return {"previous": None, "following": None, "position": None, "total": len(rows)}
        place = int(at[0])
        return {
            "previous": self._to(answers, wanted, int(rows[place - 1])) if place else None,
            "following": self._to(answers, wanted, int(rows[place + 1])) if place + 1 < len(rows) else None,
            "position": place + 1,
            "total": len(rows),
        }

    def _to(self, answers: Answers, wanted: Wanted, row: int) -> str:
        return f"/answer/{int(answers.run[row])}/{answers.key[row].decode()}?{replace(wanted, after=NOTHING).address}"

    def _siblings(
        self, answers: Answers, wanted: Wanted, rows: Sequence[int], this: int | None = None
    ) -> list[dict[str, Any]]:
        return [
            {
                "trial": int(answers.trial[row]),
                "state": str(STATES[answers.state[row]]),
                "address": self._to(answers, wanted, int(row)),
                "here": row == this,
            }
            for row in rows
        ]

    def _related(self, answers: Answers, wanted: Wanted, row: int) -> list[dict[str, Any]]:
        """The same question in other runs and conditions, its mirrors, and the other forms of its encounter."""
        question = int(answers.question[row])
        this = answers.questions[question]
        same = [("the same question", question)]
        if this.mirror_of in answers.place:
            same.append(("the question it mirrors", answers.place[this.mirror_of]))
        for number in answers.of_role(question):
            one = answers.questions[number]
            if one.mirror_of == this.question_id:
                same.append(("its mirror", number))
            elif this.encounter and one.encounter == this.encounter and number != question and not one.mirror_of:
                same.append((f"the {one.kind.replace('_', '/')} question of this encounter", number))
        related = []
        for said, number in same:
            for start in np.flatnonzero(answers.question[answers.starts] == number):
                group = int(start)
                rows = range(int(answers.starts[group]), int(answers.starts[group] + answers.sizes[group]))
                if group != answers.group[row]:
                    first = int(answers.starts[group])
                    related.append(
                        {
                            "what": said,
                            "model": run_names(answers.runs)[int(answers.run[first])],
                            "condition": answers.columns["condition"].values[answers.condition[first]],
                            "trials": self._siblings(answers, wanted, rows),
                        }
                    )
        return related

    def matrix(self, request: Request) -> Response:
        shown = self._begun()
        answers, wanted = shown.answers, _wanted(request)
        found = matrix(answers, wanted)
        start = int(np.searchsorted(found.questions, wanted.after, side="right"))
        part = found.questions[start : start + _MATRIX_ROWS]
        texts = self._texts(answers, part.tolist())
        rows = []
        for question in map(int, part):
            one = answers.questions[question]
            cells: list[dict[str, object] | None] = []
            for group in found.groups[question]:
                if group == NOTHING:
                    cells.append(None)
                    continue
                first = int(answers.starts[group])
                states = [str(STATES[code]) for code in answers.state[first : first + int(answers.sizes[group])]]
                cells.append({"states": states, "address": self._to(answers, wanted, first)})
            rows.append(
                {
                    "role": one.role,
                    "kind": one.kind.replace("_", "/"),
                    "text": texts.get(one.question_id, ""),
                    "cells": cells,
                }
            )
        more = start + len(part) < len(found.questions)
        names = run_names(answers.runs)
        return self._show(
            "matrix",
            request,
            shown=shown,
            wanted=wanted,
            rows=rows,
            total=len(found.questions),
            first=start + 1,
            last=start + len(part),
            heads=[(names[run], answers.columns["condition"].values[condition]) for run, condition in found.pairs],
            columns=self._columns(answers, select(answers, wanted), wanted),
            following=replace(wanted, after=int(part[-1])).address if more else None,
            start=replace(wanted, after=NOTHING).address,
            differ_links=[
                ("", "all questions", replace(wanted, differ="", after=NOTHING).address),
                *((name, said, replace(wanted, differ=name, after=NOTHING).address) for name, said in DIFFER.items()),
            ],
        )

    def _texts(self, answers: Answers, questions: Sequence[int]) -> dict[str, str]:
        ids = [answers.questions[number].question_id for number in questions]
        texts: dict[str, str] = {}
        for run in answers.runs:
            missing = [question for question in ids if question not in texts]
            if missing:
                with Store(run.info.path, checked=True) as store:
                    texts |= {found: text for found, text, _ in runfile.question_texts(store, missing)}
        return texts

    async def object(self, request: Request) -> Response:
        self._begun()
        run, _ = self._place(self._viewer.shown.answers, request)
        form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
        key, outcome = request.path_params["key"], form.get("outcome", [""])[0]
        try:
            await run_in_threadpool(self._viewer.objections[run].add, key, outcome, form.get("reason", [""])[0])
        except InputError as error:
            raise HTTPException(400, str(error)) from None
        query = urlencode(parse_qsl(request.url.query))
        return RedirectResponse(f"/answer/{run}/{key}?{query}#objection", 303)

    def objections(self, request: Request) -> Response:
        shown = self._begun()
        del request
        parts: list[str] = []
        for run, objections in zip(shown.answers.runs, self._viewer.objections, strict=True):
            with Store(run.info.path, checked=True) as store:
                told = runfile.viewed_texts(store, list(objections.standing))
            text = as_csv(objections.standing.values(), told)
            parts.append(text if not parts else text.partition("\n")[2])
        return Response(
            "".join(parts), media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="objections.csv"'},
        )  # fmt: skip

    def live(self, request: Request) -> Response:
        del request
        if not self._viewer.accepted:
            return JSONResponse({"version": 0, "runs": []})
        self._viewer.refresh()
        shown = self._viewer.shown
        runs = [{"planned": planned, "asked": asked} for planned, asked in shown.progress]
        return JSONResponse({"version": shown.version, "runs": runs})

    async def problem(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 303:
            target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/?{urlencode({'after': target})}", 303)
        return self._show("problem", request, status=error.status_code, message=error.detail, code=error.status_code)

    async def failure(self, request: Request, error: Exception) -> Response:
        status = 400 if isinstance(error, InputError) else 500
        return self._show("problem", request, status=status, message=str(error), code=status)


def _wanted(request: Request) -> Wanted:
    return Wanted.parse(parse_qsl(request.url.query, keep_blank_values=True))
