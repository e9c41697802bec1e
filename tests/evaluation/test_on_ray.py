"""A study on a real local Ray: a killed worker loses what was in flight, and no answer is asked for twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
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


@pytest.fixture(scope="module")
def provider():
    """A provider that takes its time."""
    with FakeServer(lambda request: by_kind(request, biased=0.5, delay=0.05)) as server:
        yield server


def settings(provider: FakeServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": provider.base_url}


@pytest.fixture(scope="module")
def cluster(provider: FakeServer):
    """A cluster of Ray: a node that asks nothing, and two with a worker each, all of them processes of this machine."""
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in (settings(provider) | {"RAY_USAGE_STATS_ENABLED": "0"}).items():
            patch.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        made.add_node(num_cpus=1)
        made.add_node(num_cpus=1)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def server(provider: FakeServer, monkeypatch: pytest.MonkeyPatch):
    for name, value in settings(provider).items():
        monkeypatch.setenv(name, value)
    return provider


def study(folder: Path) -> Task:
    spec = Spec(model="openai/a", run=folder / "a.sqlite", benchmark=small_benchmark(folder / "small", copies=COPIES))
    return Task(spec, Pace(concurrency=CONCURRENCY), Pace())


def once_asked(server: FakeServer, kill: Callable[[], bool]) -> threading.Thread:
    """Kill in the midst of asking; again where there was nothing to kill."""
    begun = len(server.log)

    def run() -> None:
        while len(server.log) <= begun + 20 or not kill():
            time.sleep(0.02)

    killer = threading.Thread(target=run, daemon=True)
    killer.start()
    return killer


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
def test_a_killed_worker_loses_what_was_in_flight_and_a_dead_driver_nothing(server, cluster, tmp_path) -> None:
    task = study(tmp_path)
    spec = task.spec

    def kill_one() -> bool:
        worker = worker_of_mine()
        if worker:
            os.kill(worker, signal.SIGKILL)
        return bool(worker)

    killer = once_asked(server, kill_one)
    begun = len(server.log)
    (found,) = evaluate_on_ray([task], shards=2)
    killer.join()
    assert isinstance(found, Evaluation)
    assert (found.complete, found.planned, answered(spec.run)) == (True, PLANNED, PLANNED)
    asked = len(server.log)
    assert PLANNED <= asked - begun <= PLANNED + CONCURRENCY
    # As after a driver that died before it joined the shards; the next one cuts the plan otherwise.
    spec.run.unlink()
    (again,) = evaluate_on_ray([task], shards=3)
    assert isinstance(again, Evaluation)
    assert (again.complete, again.answered, answered(spec.run)) == (True, 0, PLANNED)
    assert len(server.log) == asked


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_a_dead_node_loses_what_was_in_flight_and_its_shard_goes_on_elsewhere(server, cluster, tmp_path) -> None:
    _, first, second = cluster.list_all_nodes()
    task = study(tmp_path)

    def kill_one() -> bool:
        cluster.remove_node(first, allow_graceful=False)
        return True

    begun = len(server.log)
    killer = once_asked(server, kill_one)
    (found,) = evaluate_on_ray([task])
    killer.join()
    assert isinstance(found, Evaluation)
    assert (found.complete, found.planned, answered(task.spec.run)) == (True, PLANNED, PLANNED)
    assert PLANNED <= len(server.log) - begun <= PLANNED + CONCURRENCY
    shards = {path.name for path in tmp_path.glob("a-*of*.sqlite")}
    assert shards == {"a-1of2.sqlite", "a-2of2.sqlite"}
    assert cluster.list_all_nodes()[-1] is second
