# SPDX-License-Identifier: Apache-2.0
"""The soak: every kind of lock in every language at the same time, under faults, judged by checkers.

    run.py --seconds N [--seed S] [--topology NAME] [--failovers N] [--kinds a,b] [--languages c,python] [--lie]

Exits with 1 if a checker finds a violation, or if too little was done to be meaningful. Then history, plans and logs
stay in build/soak/SEED, and the command that runs the same seed again is printed. --lie adds processes whose acquires
always succeed, without a server: the checkers have to report them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import socket
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

import checkers
import cluster_faults
import counts
import failovers
import leftovers
from acknowledged import Acknowledgements
from checkers import replicated
from history import History, read_history
from kinds import KINDS, LANGUAGES, OURS, SERVERS, queues_of, sections_of
from nemesis import Nemesis
from observer import Observer
from plan import NEMESES, Process, faults, worker_plan, workers
from shards import ShardObservers
from support import Proxy, RedisServer, build_peers
from support.replication import ReplicationObserver
from support.sentinels import Watched
from worker_processes import ROOT, Workers

_SHOWN = 20
# A busy machine delays a server for longer than the sentinels of other tests wait.
_DOWN_AFTER_MS = 1000


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Returns the arguments, with complete lists of kinds and languages."""
    parser = argparse.ArgumentParser(prog="./dev soak", description="every kind of lock at once, under faults")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long workers take turns; 60")
    parser.add_argument("--seed", type=int, default=None, help="what the plan is drawn from; a new one")
    parser.add_argument("--topology", choices=TOPOLOGIES, default="servers",
                        help="sentinel: a master, its replicas, sentinels, and failovers; sentinel-unacknowledged: the"
                        " same, and no replica has to acknowledge a grant; cluster: masters with a replica each,"
                        " failovers, and slots that migrate; cluster-unacknowledged: the same, and no replica has to"
                        " acknowledge a grant, and slots stay; servers")
    parser.add_argument("--failovers", type=int, default=0, help="how many there have to be, as many of each way; 0")
    parser.add_argument("--kinds", default=None, help="all that the topology has")
    parser.add_argument("--languages", default=None, help="all that the topology has")
    parser.add_argument("--lie", action="store_true", help="adds a lock whose acquire always succeeds")
    given = parser.parse_args(words)
    topology = TOPOLOGIES[given.topology]
    given.kinds = given.kinds.split(",") if given.kinds else list(topology.kinds)
    given.languages = given.languages.split(",") if given.languages else list(topology.languages)
    known_names = (("kind", given.kinds, topology.kinds), ("language", given.languages, topology.languages))
    for what, names, known in known_names:
        for name in names:
            if name not in known:
                parser.error(f"there is no {what} '{name}'; expected some of {', '.join(known)}")
    if given.seconds < 1:
        parser.error(f"--seconds is {given.seconds:g}; expected 1 or more")
    if given.failovers and not topology.ways:
        parser.error(f"--failovers is {given.failovers}; expected 0: the topology {given.topology} has none")
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1_000_000)
    return given


def _nobodys_port() -> int:
    """Returns a port without a socket, below those that the kernel assigns."""
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anywhere, suppress(OSError):
            anywhere.bind(("", port))
            return port


def witnesses(kind_names: Sequence[str]) -> List[str]:
    """Returns lines of plans: an address of the loopback network for each watched name."""
    port, sections = _nobodys_port(), sections_of(kind_names)
    names = sorted({name for _, name in sections})
    return [f"witness {kind} {name} 127.0.1.{1 + names.index(name)} {port}" for kind, name in sections]


def write_plans(given: argparse.Namespace, folder: Path, processes: Sequence[Process]) -> Path:
    """Writes a plan for each process. Returns the folder for the histories."""
    histories = folder / "history"
    histories.mkdir(parents=True)
    watched = "".join(f"{line}\n" for line in witnesses(given.kinds))
    for process in processes:
        text = worker_plan(given.seed, process, given.kinds)
        (folder / f"{process.name}.plan").write_text(watched + text, encoding="utf-8")
    return histories


class Played(NamedTuple):
    """The history of a run, and the violations that were found besides."""

    history: History
    violations: List[str]


def play_sentinel(given: argparse.Namespace, folder: Path, processes: Sequence[Process]) -> Played:
    """Runs everything through sentinels, with failovers."""
    acknowledged = given.topology == "sentinel"
    histories = write_plans(given, folder, processes)
    with Watched(down_after_ms=_DOWN_AFTER_MS) as watched, ReplicationObserver(watched.servers) as observer:
        epoch = time.time_ns() - time.monotonic_ns()
        end = time.monotonic_ns() + int(given.seconds * 1e9)
        working = Workers(processes, histories, [failovers.url(watched, acknowledged)] * SERVERS, end)
        try:
            with Acknowledgements(failovers.shards(watched) if acknowledged else [], histories / "acknowledged.jsonl"):
                nemesis = failovers.Failovers(watched, working, histories / "nemesis.jsonl")
                nemesis.run(given.seed, given.seconds, processes)
                found = working.finish()
            found += leftovers.check([watched.master], given.kinds)
            streams = observer.finish(watched.master)
        finally:
            working.close()
    streams.write_down(folder / "replication.jsonl")
    history = read_history(histories)
    recorded = replace(history, operations=[each for each in history.operations if each.kind in failovers.RECORDED])
    verdict = replicated.judge(recorded, streams, acknowledged=acknowledged, epoch=epoch)
    print(verdict.text())
    return Played(history, found + verdict.violations)


def play_cluster(given: argparse.Namespace, folder: Path, processes: Sequence[Process]) -> Played:
    """Runs everything on a cluster whose masters are replaced and whose slots migrate. Without acknowledgements no slot
    migrates, so that a name has one history."""
    acknowledged = given.topology == "cluster"
    ways = cluster_faults.WAYS if acknowledged else cluster_faults.REPLACEMENTS
    histories = write_plans(given, folder, processes)
    with ExitStack() as stack:
        cluster = stack.enter_context(cluster_faults.make())
        shards, keys = cluster_faults.shards(cluster), cluster_faults.keys_of(given.kinds)
        observers = None if acknowledged else stack.enter_context(ShardObservers(cluster, shards, keys))
        epoch = time.time_ns() - time.monotonic_ns()
        end = time.monotonic_ns() + int(given.seconds * 1e9)
        working = Workers(processes, histories, [cluster_faults.url(cluster, acknowledged)] * SERVERS, end)
        try:
            with Acknowledgements(shards if acknowledged else [], histories / "acknowledged.jsonl"):
                nemesis = cluster_faults.ClusterFaults(cluster, working, histories / "nemesis.jsonl", keys, ways)
                nemesis.run(given.seed, given.seconds, processes)
                found = working.finish()
            found += leftovers.check(cluster.masters, given.kinds)
            streams = observers.finish() if observers else []
        finally:
            working.close()
    for number, of_shard in enumerate(streams):
        of_shard.write_down(folder / f"replication-{number}.jsonl")
    history = read_history(histories)
    return Played(history, found + (observers.judge(history, streams, epoch) if observers else []))


def play(given: argparse.Namespace, folder: Path, processes: Sequence[Process]) -> Played:
    """Runs everything on independent servers, through proxies."""
    histories = write_plans(given, folder, processes)
    # The append-only file is written at once, so a killed server has lost nothing when it is back.
    persistent: Dict[str, Any] = {"appendonly": True, "appendfsync": "no", "auto_aof_rewrite_min_size": "1mb"}
    with ExitStack() as stack:
        servers = [stack.enter_context(RedisServer(**persistent)) for _ in range(SERVERS)]
        # Nobody reads the log of a proxy. It would fill the heap, and everything would pause for garbage collection.
        proxies = [stack.enter_context(Proxy(server.address, seed=given.seed, log_size=10)) for server in servers]
        end = time.monotonic_ns() + int(given.seconds * 1e9)
        observer = Observer(servers[0], queues_of(given.kinds), histories / "observer.jsonl")
        working = Workers(processes, histories, [proxy.url for proxy in proxies], end)
        try:
            nemesis = Nemesis(servers, proxies, working, histories / "nemesis.jsonl")
            nemesis.run(faults(given.seed, given.seconds, processes))
            found = working.finish()
            found += leftovers.check(servers, given.kinds)
            leftovers.count(servers[0], given.kinds, histories / "counts.jsonl")
        finally:
            observer.stop()
            working.close()
    return Played(read_history(histories), found)


class Topology(NamedTuple):
    """What a topology has: kinds and languages, faults, and the function that runs it."""

    kinds: Sequence[str]
    languages: Sequence[str]
    nemeses: Sequence[str]
    # The nemeses that --failovers counts.
    ways: Sequence[str]
    play: Callable[[argparse.Namespace, Path, Sequence[Process]], Played]
    judges: Callable[[History], List[str]] = checkers.violations


TOPOLOGIES = {
    "servers": Topology(list(KINDS), LANGUAGES, NEMESES, (), play),
    "cluster": Topology(failovers.KINDS, OURS, cluster_faults.NEMESES, cluster_faults.WAYS, play_cluster),
    "sentinel": Topology(failovers.KINDS, OURS, failovers.NEMESES, failovers.WAYS, play_sentinel),
    # A new master may lack grants. Then holds are lost and tokens are drawn twice, which replicated.judge() judges.
    "sentinel-unacknowledged": Topology(
        failovers.RECORDED, OURS, failovers.NEMESES, failovers.WAYS, play_sentinel, checkers.of_waits
    ),
    "cluster-unacknowledged": Topology(
        failovers.RECORDED, OURS, ("kill", *cluster_faults.REPLACEMENTS), cluster_faults.REPLACEMENTS, play_cluster,
        checkers.of_waits,
    ),
}


def again(given: argparse.Namespace) -> str:
    """Returns the command that runs the same plan."""
    words = [f"./dev soak --seconds {given.seconds:g} --seed {given.seed}"]
    topology = TOPOLOGIES[given.topology]
    if given.topology != "servers":
        words.append(f"--topology {given.topology}")
    if given.failovers:
        words.append(f"--failovers {given.failovers}")
    if given.kinds != list(topology.kinds):
        words.append(f"--kinds {','.join(given.kinds)}")
    if given.languages != list(topology.languages):
        words.append(f"--languages {','.join(given.languages)}")
    return " ".join(words + ["--lie"] * given.lie)


def main(words: Sequence[str]) -> int:
    """Runs the soak, and returns the exit status."""
    given = parse(words)
    if "java" in given.languages:
        build_peers.build("redisson")
    folder = ROOT / "build" / "soak" / str(given.seed)
    shutil.rmtree(folder, ignore_errors=True)
    print(again(given), flush=True)  # also here, for a run that does not end
    topology = TOPOLOGIES[given.topology]
    history, found = topology.play(given, folder, workers([*given.languages, *["liar"] * given.lie], given.kinds))
    found += topology.judges(history)
    print("\n".join(counts.table(history, given.kinds, topology.nemeses)))
    found += counts.missing(history, given.seconds, given.kinds, given.languages, topology.nemeses)
    found += counts.missing_failovers(history, given.failovers, topology.ways)
    if not found:
        shutil.rmtree(folder)
        print("no violation")
        return 0
    print("\n".join(found[:_SHOWN]))
    print(f"{len(found)} violations in all; history, plans and logs are in {folder.relative_to(ROOT)}")
    print(f"again: {again(given)}")
    (folder / "violations").write_text("\n".join(found) + "\n", encoding="utf-8")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
