"""An experiment on the workers of a Dask cluster: each takes whole shards, which have their own run folders and are then merged.

Dask (`distributed`, the extra `dask`) decides which worker takes which shard, and gives a shard to another when its worker dies;
it goes on there where it was, for everything finished lies in its folder. Workers need this package and the same files.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb import workbench
from longbanana_nb.errors import CallError, DataError, Incomplete, WorkbenchError
from longbanana_nb.retelling import merged
from longbanana_nb.runs import Experiment, Run, all_shards, load_experiment, usual_workers
from longbanana_nb.runs.lock import RunLock

if TYPE_CHECKING:
    from longbanana_nb.runs import Shard

LETS_GO_S = 30.0  # how long a dead worker's lock may take to be let go by the system
MISSING = 'Dask is not installed. Install the extra: pip install "longbanana-nb[dask]"'
DAEMON = "DASK_DISTRIBUTED__WORKER__DAEMON"


@dataclass(frozen=True, slots=True)
class ShardDone:
    """What a worker says of one shard: its summaries, or why it stopped (`exit_code` of the error; 0 where it did not)."""

    shard: str
    pid: int
    text: str
    is_complete: bool
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Scaled:
    """The merged run, and what was said of each shard, in their order."""

    run: Run
    shards: tuple[ShardDone, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every question has a valid answer."""
        return all(shard.is_complete for shard in self.shards)

    def text(self) -> str:
        """Every shard's summaries, and where the merged run lies."""
        parts = [f"shard {shard.shard}\n{shard.text}" for shard in self.shards]
        return "\n".join([*parts, f"{len(self.shards)} shards merged into {self.run.path}"])


def scale(
    experiment: str | Path | Experiment, shards: int, *, scheduler: str | None = None, workers: int | None = None
) -> Scaled:
    """Generate and judge an experiment in so many shards on a Dask cluster, then merge them into the experiment's run folder.

    Args:
        shards: parts, from 2; several for each worker even out what takes long.
        scheduler: address of a cluster; None starts a local one on 127.0.0.1, without a dashboard, and ends it.
        workers: processes of the local cluster; None takes one a processor.

    Raises:
        CallError: without Dask, where the scheduler cannot be reached, where the merged run exists, or where a shard is refused.
        DataError, Incomplete: where a shard stopped; what was finished is kept, and the same command goes on from there.
    """
    whole = experiment if isinstance(experiment, Experiment) else load_experiment(experiment)
    parts = all_shards(shards)
    if (whole.run / "run.json").exists():
        raise CallError(f"scale: {whole.run} holds a run already. Name another run folder, or move that one away.")
    workbench.load_release(whole.release)  # the embedded one is built before several ask for it at once
    with _client(scheduler, min(workers or usual_workers(), shards)) as client:
        futures = client.map(carry_out_shard, [whole] * shards, parts, pure=False, key="shard")
        try:
            _wait(futures)
            done = client.gather(futures)
        except Exception as error:  # Dask's own: a shard that killed every worker it met, or a cluster that is gone
            raise Incomplete(
                f"scale: {type(error).__name__}: {error}\nWhat was finished is kept; run the same command again."
            ) from None
        finally:
            client.cancel(futures)
    _require_done(done)
    return Scaled(merged(whole.run, [shard.folder(whole.run) for shard in parts]), tuple(done))


def carry_out_shard(whole: Experiment, shard: Shard) -> ShardDone:
    """Generate and judge one shard, in a worker; mistakes come back as values, since they need not travel as errors."""
    part = whole.part(shard)
    try:
        _require_children()
        lock = RunLock(part.run)
        lock.acquire(LETS_GO_S)  # where a worker died, its hold on the folder ends with it
        lock.release()
        said = [workbench.generate(part).text()]
        summaries = workbench.judge(part) if part.judges else []
    except WorkbenchError as error:
        return ShardDone(str(shard), os.getpid(), str(error), False, error.exit_code)
    said += [summary.text() for summary in summaries]
    return ShardDone(str(shard), os.getpid(), "\n".join(said), all(summary.is_complete for summary in summaries))


def _wait(futures: list[Any]) -> None:
    """Until every shard has ended, also where one of them was given up."""
    from distributed import wait

    wait(futures)


def _require_children() -> None:
    """A shard's work runs in processes of its own, which Python forbids to a daemonic worker."""
    if multiprocessing.current_process().daemon:
        raise CallError(f"scale: this Dask worker may not start processes. Start the workers with {DAEMON}=False.")


def _require_done(done: list[ShardDone]) -> None:
    """Raise where a shard stopped, with the words of every one that did."""
    stopped = [shard for shard in done if shard.exit_code]
    if not stopped:
        return
    text = "\n".join(f"shard {shard.shard}: {shard.text}" for shard in stopped)
    codes = {shard.exit_code for shard in stopped}
    kind = next(one for one in (CallError, DataError, Incomplete) if one.exit_code in codes)
    raise kind(f"{len(stopped)} of {len(done)} shards stopped; nothing was merged, and what was finished is kept.\n{text}")


@contextlib.contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A client of the cluster at an address, or of a local one that ends with it."""
    try:
        from distributed import Client
    except ImportError:
        raise CallError(MISSING) from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout="5s")
        except (OSError, ValueError) as error:
            raise CallError(f"scale: no Dask scheduler at {scheduler!r} ({error}). Expected tcp://HOST:PORT of one.") from None
        with client:
            yield client
        return
    with local_cluster(workers) as cluster, Client(cluster) as client:
        yield client


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Worker processes on 127.0.0.1, one shard at a time each, without a dashboard; they end with the context."""
    import dask
    from distributed import LocalCluster

    settings = {"distributed.worker.daemon": False, "distributed.scheduler.http.routes": []}
    quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, scheduler_kwargs=quiet
        ) as made,
    ):
        yield made
