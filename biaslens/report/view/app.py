"""The viewer: every answer of some runs, in a browser on this machine. It never writes into a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
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
from biaslens.report.page import environment
from biaslens.report.page.server import serve
from biaslens.report.table import FEWEST
from biaslens.report.view.answers import MARKS, Answers, run_names
from biaslens.report.view.detail import matrix_rows, neighbours, read_detail, related
from biaslens.report.view.listing import (
    DESIGN,
    blocks_shown,
    columns_shown,
    rate_text,
    rates_of,
    trials_shown,
    values_shown,
)
from biaslens.report.view.live import LONGEST_REASON, UNASKED, Shown, Viewer, as_csv
from biaslens.report.view.query import DIFFER, SORTS, Wanted, matrix, page, rate_of, select
from biaslens.runfile import Store
from biaslens.schema import Outcome

_MATRIX_ROWS = 60
_VALID = tuple(str(state) for state, valid in zip(STATES, VALID, strict=True) if valid)


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
            Route("/rates", handlers.rates),
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
        self._known: tuple[int, list[dict[str, Any]]] = (NOTHING, [])
        self._environment = environment("biaslens.report.view", marks=MARKS, sorts=SORTS, differs=DIFFER)
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
        return self._show("overview", request, shown=shown, runs=self._runs(shown))

    def _runs(self, shown: Shown) -> list[dict[str, Any]]:
        version, runs = self._known
        if version != shown.version:
            runs = [self._run(shown, number) for number in range(len(shown.answers.runs))]
            self._known = shown.version, runs
        objections = [len(of.standing) for of in self._viewer.objections]
        return [run | {"objections": count} for run, count in zip(runs, objections, strict=True)]

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
                    "asked": len(state) - counts[UNASKED],
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
                    "valid_address": Wanted({**chosen, "outcome": _VALID}).address,
                }
            )
        return {
            "name": run_names(answers.runs)[number],
            "file": run.info.path.name,
            "benchmark": run.info.benchmark_version,
            "panel": run.info.panel,
            "conditions": conditions,
            "dollars": run.dollars,
        }

    async def accept(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        self._viewer.accepted = True
        after = form.get("after", ["/"])[0]
        return RedirectResponse(after if after.startswith("/") and not after.startswith("//") else "/", 303)

    def answers(self, request: Request) -> Response:
        shown = self._begun()
        answers, wanted = shown.answers, _wanted(request)
        selection = select(answers, wanted)
        found = page(answers, selection, wanted)
        return self._show(
            "answers",
            request,
            shown=shown,
            wanted=wanted,
            total=selection.total,
            columns=columns_shown(answers, selection, wanted),
            blocks=blocks_shown(answers, found.rows.tolist(), wanted, self._viewer.objections),
            rate=rate_text(answers, selection, wanted),
            first=found.before + 1,
            last=found.before + len(found.rows),
            following=None if found.following is None else replace(wanted, after=found.following).address,
            start=replace(wanted, after=NOTHING).address,
            sort_links=[
                (name, said, replace(wanted, sort=name, after=NOTHING).address) for name, said in SORTS.items()
            ],
        )

    def values(self, request: Request) -> Response:
        shown = self._begun()
        wanted, name = _wanted(request), request.path_params["name"]
        if name not in shown.answers.columns:
            raise HTTPException(404, "There is no such column.")
        values = values_shown(shown.answers, wanted, name)
        column = shown.answers.columns[name]
        return self._show("values", request, shown=shown, wanted=wanted, column=column, values=values)

    def answer(self, request: Request) -> Response:
        shown = self._begun()
        answers, wanted = shown.answers, _wanted(request)
        run, row = self._place(answers, request)
        info, key = answers.runs[run].info, request.path_params["key"]
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
            trials=trials_shown(answers, wanted, np.flatnonzero(answers.group == answers.group[row]).tolist(), row),
            related=related(answers, wanted, row),
            outcomes=[outcome for outcome in Outcome if outcome is not Outcome.ERROR],
            objection=self._viewer.objections[run].standing.get(key),
            longest_reason=LONGEST_REASON,
            **neighbours(answers, wanted, row),
        )

    def _place(self, answers: Answers, request: Request) -> tuple[int, int]:
        run = request.path_params["run"]
        row = answers.row_of(run, request.path_params["key"]) if run < len(answers.runs) else None
        if row is None:
            raise HTTPException(404, "No run that is open here plans this answer.")
        return run, row

    def matrix(self, request: Request) -> Response:
        shown = self._begun()
        answers, wanted = shown.answers, _wanted(request)
        found = matrix(answers, wanted)
        start = int(np.searchsorted(found.questions, wanted.after, side="right"))
        part = found.questions[start : start + _MATRIX_ROWS].tolist()
        more = start + len(part) < len(found.questions)
        names = run_names(answers.runs)
        return self._show(
            "matrix",
            request,
            shown=shown,
            wanted=wanted,
            rows=matrix_rows(answers, found, part, wanted),
            total=len(found.questions),
            first=start + 1,
            last=start + len(part),
            heads=[(names[run], answers.columns["condition"].values[condition]) for run, condition in found.pairs],
            columns=columns_shown(answers, select(answers, wanted), wanted),
            following=replace(wanted, after=part[-1]).address if more else None,
            start=replace(wanted, after=NOTHING).address,
            differ_links=[
                ("", "all questions", replace(wanted, differ="", after=NOTHING).address),
                *((name, said, replace(wanted, differ=name, after=NOTHING).address) for name, said in DIFFER.items()),
            ],
        )

    def rates(self, request: Request) -> Response:
        shown = self._begun()
        answers = shown.answers
        if not answers.pairs:
            return RedirectResponse("/answers", 303)
        found = rates_of(answers, _wanted(request))
        wanted = found.wanted
        return self._show(
            "rates",
            request,
            shown=shown,
            wanted=wanted,
            rates=found,
            fewest=FEWEST,
            columns=[
                column
                for column in columns_shown(answers, select(answers, wanted), wanted)
                if column["name"] in DESIGN - {"model", "condition"}
            ],
            models=[(name, wanted.only("model", name).address) for name in run_names(answers.runs)],
            conditions=[
                (name, wanted.only("condition", name).address)
                for name in answers.columns["condition"].values
                if (name,) == wanted.chosen["condition"] or name in found.conditions
            ],
        )

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
