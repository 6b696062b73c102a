# SPDX-License-Identifier: Apache-2.0
"""L1: the load of a cluster: what a pair and a hand-over cost its servers, their network and their bus, by its size.

The servers count: CPU time, bytes, commands, messages.
"""

from __future__ import annotations

from typing import Callable, Dict, Sequence

from harness import Bench, NotAvailable, Outcome, Report, Series, scenario
from harness.bench import Leg, cpu_seconds_of
from support import RedisServer
from support.cluster import Cluster, call

PASSES = 500
THREADS = 16  # a lock each, on whatever node its name is


@scenario("L1", "the load of a cluster")
def run(bench: Bench, report: Report) -> None:
    for masters in (3, 6):
        with Cluster(masters=masters, save="") as cluster:
            for mode in ("on", "off"):
                at = ["--url", f"{cluster.url}?sharded_messages={mode}"]
                what = f"{masters} masters, sharded messages {mode}"
                pairs = bench.program("redlatch_pair", *at, "--threads", THREADS, "--seconds", bench.pace.seconds)
                show(report, f"pair, {what}", counted(cluster, pairs, all_pairs))
                hand_overs = bench.program("redlatch_hand_off", *at, "--passes", PASSES)
                show(report, f"hand-over, {what}", counted(cluster, hand_overs, lambda _: PASSES))


def all_pairs(outcome: Outcome) -> float:
    """Those of the warm-up, too."""
    return float(outcome["pairs"] + outcome["warm_pairs"])


def counted(cluster: Cluster, leg: Leg, times: Callable[[Outcome], float]) -> Dict[str, float]:
    """What one time costs all servers together."""
    before = totals(cluster.servers)
    try:
        outcome = leg()
    except NotAvailable:
        return {}
    after = totals(cluster.servers)
    return {name: (after[name] - before[name]) / times(outcome) for name in after}


def totals(servers: Sequence[RedisServer]) -> Dict[str, float]:
    """What the servers counted so far. INFO and CLUSTER INFO are part of it: a few commands in thousands."""
    sums: Dict[str, float] = {}
    for server in servers:
        stats = server.admin.info("stats")
        bus = dict(line.split(":") for line in call(server, "CLUSTER", "INFO").split() if ":" in line)
        values = {
            "CPU of the servers": 1e6 * cpu_seconds_of(server),
            "commands, those in scripts too": stats["total_commands_processed"],
            "bytes to the servers": stats["total_net_input_bytes"],
            "bytes from the servers": stats["total_net_output_bytes"],
            "messages on the bus": int(bus.get("cluster_stats_messages_publish_sent", 0))
            + int(bus.get("cluster_stats_messages_publishshard_sent", 0)),
        }
        for name, value in values.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums


def show(report: Report, what: str, costs: Dict[str, float]) -> None:
    for name, value in costs.items():
        report.row(f"{what}: {name}", Series([value]), "us" if name.startswith("CPU") else "")
