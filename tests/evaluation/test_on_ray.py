"""A study on a real local Ray: a killed worker loses what was in flight, and no answer is asked for twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from fake_server import FakeServer, by_kind
from small import small_benchmark

from biaslens.engine import Pace
from biaslens.errors import InputError
from biaslens.evaluation import Evaluation, Panel, Spec, Task
from biaslens.evaluation.on_ray import _shard_of, evaluate_on_ray
from biaslens.runfile import Store
from biaslens.settings import Settings

COPIES, CONCURRENCY = 5, 2
PLANNED = 3 * 6 * COPIES


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biaslens.evaluation.on_ray.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"ray, which is not installed; pip install 'biaslens\[ray\]'"):
        evaluate_on_ray([])


def test_shards_share_the_limits_of_their_provider_and_ask_no_judge(tmp_path) -> None:
    panel = Panel(judges=("openai/judge",))
    task = Task(Spec(model="openai/a", run=tmp_path / "a.sqlite", panel=panel), Pace(4, 60, 8000), Pace())
    shard = _shard_of(task, (3, 4), Settings())
    assert (shard.pace.requests_per_minute, shard.pace.tokens_per_minute) == (15, 2000)
    assert (shard.spec.shard, shard.spec.panel, shard.spec.run.name) == ((3, 4), None, "a-3of4.sqlite")


@pytest.fixture
def ray_of_two(monkeypatch: pytest.MonkeyPatch):
    """Two workers of Ray, on this machine, and no more of it afterwards; environment variables are set before."""
    import ray

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with FakeServer(lambda request: by_kind(request, biased=0.5, delay=0.05)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield server
        ray.shutdown()


def worker_of_mine() -> int:
    """A process of Ray that asks a shard and descends from this one."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if not (path / "cmdline").read_bytes().startswith(b"ray::ask_shard"):
                continue
            ancestor = int(path.name)
            while ancestor not in (0, 1, os.getpid()):
                ancestor = int(Path("/proc", str(ancestor), "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if ancestor == os.getpid():
            return int(path.name)
    return 0


def answered(path: Path) -> int:
    with Store(path, checked=True) as store:
        return int(store.value("SELECT count(*) FROM answers"))


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_loses_what_was_in_flight_and_a_dead_driver_nothing(ray_of_two, tmp_path) -> None:
    spec = Spec(
        model="openai/a", run=tmp_path / "a.sqlite", benchmark=small_benchmark(tmp_path / "small", copies=COPIES)
    )
    task = Task(spec, Pace(concurrency=CONCURRENCY), Pace())
    killed = []

    def kill_one() -> None:
        while not killed:
            time.sleep(0.02)
            worker = len(ray_of_two.log) > 20 and worker_of_mine()
            if worker:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    (found,) = evaluate_on_ray([task], shards=2)
    killer.join()
    assert isinstance(found, Evaluation)
    assert (found.complete, found.planned, answered(spec.run)) == (True, PLANNED, PLANNED)
    asked = len(ray_of_two.log)
    assert PLANNED <= asked <= PLANNED + CONCURRENCY
    # As after a driver that died before it joined the shards; the next one cuts the plan otherwise.
    spec.run.unlink()
    (again,) = evaluate_on_ray([task], shards=3)
    assert isinstance(again, Evaluation)
    assert (again.complete, again.answered, answered(spec.run)) == (True, 0, PLANNED)
    assert len(ray_of_two.log) == asked
