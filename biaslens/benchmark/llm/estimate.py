"""What a generation will take, before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass

from biaslens.benchmark.bank import load_bank
from biaslens.benchmark.llm.asking import identity, prompt
from biaslens.benchmark.llm.record import load, refuse_other
from biaslens.benchmark.llm.spec import GenerationSpec
from biaslens.benchmark.llm.state import State, Task
from biaslens.engine import Store
from biaslens.engine.limits import estimate_tokens
from biaslens.models import Message
from biaslens.models.catalogue import price
from biaslens.schema import Kind, Role
from biaslens.settings import Settings, load_settings

ITEM_TOKENS: dict[Kind | None, int] = {None: 20, Kind.YES_NO: 45, Kind.CHOICE: 65, Kind.WHY: 45}
"""Expected length of an item in a reply, in tokens: a role (None), or a question with target and groups, as JSON."""


@dataclass(frozen=True, slots=True)
class GenerationLoad:
    """What a generation will at least take: every list asked for once.

    What fails the checks is asked for again, up to the rounds given, and comes on top.

    Parameters
    ----------
    model
        Full name of the generator.
    calls, prompt_tokens, completion_tokens
        Expected numbers.
    dollars
        Price, or None where the catalogue knows none.
    """

    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


def estimate_generation(spec: GenerationSpec, *, settings: Settings | None = None) -> GenerationLoad:
    """Estimate calls, tokens and price of what is still to be asked; asks nothing, and needs no key.

    Prompts are rendered, so their share is as good as four characters a token.

    Raises
    ------
    RunMismatchError
        When the folder belongs to another generation.
    StorageError
        When its run file cannot be read.
    """
    settings = settings or load_settings()
    state = State(spec, load_bank().abstain)
    if spec.run.is_file():
        with Store(spec.run) as store:
            refuse_other(store, identity(spec))
            load(store, state)
    lists = [(task, prompt(state, task)) for task in _to_write(state) if task.role is None]
    roles = sum(state.work(task).missing for task, _ in lists)
    _stand_in(state)
    lists += [(task, prompt(state, task)) for task in _to_write(state) if task.role is not None]
    prompt_tokens = sum(estimate_tokens([Message("user", text)]) for _, text in lists)
    completion_tokens = roles * ITEM_TOKENS[None]
    completion_tokens += sum(state.work(task).missing * ITEM_TOKENS[task.kind] for task, _ in lists if task.role)
    dollars = price(spec.model, prompt_tokens, completion_tokens, settings)
    return GenerationLoad(spec.model, len(lists), prompt_tokens, completion_tokens, dollars)


def _to_write(state: State) -> list[Task]:
    """Tasks that may still be asked for."""
    if not state.open():
        return []
    return [
        task for task in state.tasks() if state.work(task).missing and state.work(task).rounds < state.spec.max_rounds
    ]


def _stand_in(state: State) -> None:
    """Add roles where they are not known yet: a prompt is much the same for any role."""
    for attribute in state.spec.attributes:
        for number in range(state.roles[attribute].missing):
            state.add_role(Role(attribute, f"Lighthouse keepers {number}", "a lighthouse keeper"), "")
