"""Who judges the why answers, and how: the panel."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from biaslens import runfile
from biaslens.errors import InputError, RunMismatchError
from biaslens.evaluation.prompting import JUDGE_PROMPTS, judge_template_hash
from biaslens.models import Params
from biaslens.oracles import screen
from biaslens.runfile import PANEL_IN_FORCE, Ballot, Store
from biaslens.schema import content_hash

JUDGE_MAX_TOKENS = 256
"""Default limit of a judge's reply: a sentence and the outcome, with room to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The judges of why answers.

    Parameters
    ----------
    judges
        Full names of models, or "local/screen" alone.
    votes
        Votes asked of each; None means three of a single judge, one of each judge of several.
    screen
        How sure the local judge must be to decide an answer without the others; None leaves it out.
    prompt
        What the judges are asked: "codebook", or "fairness" as in the published study.
    params
        Their sampling parameters.
    seed
        Start of the seeds of their requests.
    """

    judges: tuple[str, ...]
    votes: int | None = None
    screen: float | None = None
    prompt: str = "codebook"
    params: Params = field(default_factory=lambda: Params(max_tokens=JUDGE_MAX_TOKENS))
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not self.judges:
            raise InputError("a panel needs a judge: a model such as openai/gpt-4o-mini, or local/screen")
        if len(set(self.judges)) != len(self.judges):
            raise InputError("each judge of a panel is named once; --votes asks one judge several times")
        if self.votes is not None and self.votes < 1:
            raise InputError(f"votes must be at least 1, not {self.votes}")
        if screen.NAME in self.judges:
            if len(self.judges) > 1:
                raise InputError(
                    f"{screen.NAME} judges alone, or first: --screen 0.95 lets it decide where it is confident, and "
                    "the other judges the rest"
                )
            if self.screen is not None or self.votes not in (None, 1):
                raise InputError(f"{screen.NAME} gives every answer one verdict; it takes neither --screen nor --votes")
        if self.screen is not None and not 0.5 < self.screen < 1:
            raise InputError(f"screen: {self.screen} is not between 0.5 and 1; 0.95 is usual")
        if self.prompt not in JUDGE_PROMPTS:
            raise InputError(f"there is no judge prompt {self.prompt!r}; there are {', '.join(JUDGE_PROMPTS)}")

    @property
    def name(self) -> str:
        """How the panel is called in run files and reports.

        Examples
        --------
        >>> Panel(judges=("openai/a",), votes=5, screen=0.95).name
        'openai/a x5 after local/screen 1 at 0.95'
        """
        if self.screened_only:
            return screen.load().name
        name = ", ".join(self.judges)
        if self.votes_per_judge != (3 if len(self.judges) == 1 else 1):
            name += f" x{self.votes_per_judge}"
        if self.prompt != "codebook":
            name += f" ({self.prompt} prompt)"
        return name if self.screen is None else f"{name} after {screen.load().name} at {self.screen:g}"

    @property
    def votes_per_judge(self) -> int:
        """Votes asked of each judge."""
        return self.votes if self.votes is not None else (3 if len(self.judges) == 1 else 1)

    @property
    def screened_only(self) -> bool:
        """Whether the local judge decides everything."""
        return self.judges == (screen.NAME,)

    @property
    def models(self) -> tuple[str, ...]:
        """The judges that are asked as chat models."""
        return () if self.screened_only else self.judges

    def ballot(self, judge: str) -> str:
        """Identity of the votes of one judge: panels that ask it in the same way share them."""
        params = asdict(replace(self.params, seed=None))
        return content_hash("vote", judge, params, judge_template_hash(self.prompt), self.seed)

    def record(self) -> dict[str, Any]:
        """What a run file records: all that is needed to repeat the votes."""
        known: dict[str, Any] = {
            "judges": list(self.judges),
            "votes": 1 if self.screened_only else self.votes_per_judge,
        }
        if self.models:
            known |= {
                "prompt": self.prompt,
                "prompt_hash": judge_template_hash(self.prompt),
                "params": asdict(self.params),
                "seed": self.seed,
            }
        if self.screened_only or self.screen is not None:
            known["screen"] = {"name": screen.load().name, "sure": self.screen}
        return known


def enrol(store: Store, panel: Panel, *, in_force: bool | None = None) -> bool:
    """Record a panel in the run file; whether it is the one that counts in reports.

    Parameters
    ----------
    store
        The run file, open for writing.
    panel
        Who judges.
    in_force
        Let it count; None lets it count where no other panel does.

    Raises
    ------
    RunMismatchError
        When a panel of the same name has voted under other conditions.
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
    ballots = [Ballot(panel.ballot(judge), judge, panel.prompt) for judge in panel.models]
    runfile.save_panel(store, panel.name, spec, ballots)
    current = store.meta().get(PANEL_IN_FORCE)
    if in_force or (in_force is None and current is None):
        store.set_meta({PANEL_IN_FORCE: panel.name})
        current = panel.name
    return bool(current == panel.name)
