# SPDX-License-Identifier: Apache-2.0
"""P14: what a cluster of three masters costs beside one server: a pair of one thread, and many locks over all slots.

The pairs are measured in alternating rounds. The locks are held for one round only, on each: that takes long anyway.
"""

from __future__ import annotations

from typing import List

from harness import Bench, NotAvailable, Report, Series, client_us_per_pair, pairs_per_second, scenario
from harness.bench import Word
from support.cluster import Cluster

from .p10_many_locks import measure

MOST_TIME = 1.1
MOST_CPU = 1.15
MOST_OF_MANY = 1.5


@scenario("P14", "a pair, and many locks, on a cluster")
def run(bench: Bench, report: Report) -> None:
    with Cluster(save="") as cluster:
        compare_pairs(bench, report, cluster)
        compare_many(bench, report, cluster)


def compare_pairs(bench: Bench, report: Report, cluster: Cluster) -> None:
    seconds = bench.pace.seconds
    of_cluster: List[Word] = ["--url", cluster.url]
    rounds = bench.alternate({
        "one server": bench.program("redlatch_pair", "--seconds", seconds),
        "cluster": bench.program("redlatch_pair", *of_cluster, "--seconds", seconds),
    })
    for side in ("one server", "cluster"):
        report.row(side, rounds.series(side, pairs_per_second), "pairs/s")
        report.row(f"{side}, CPU of the program", rounds.series(side, client_us_per_pair), "us/pair")

    times = rounds.series("one server", pairs_per_second) / rounds.series("cluster", pairs_per_second)
    report.at_most("time of a pair, cluster to one server", times, MOST_TIME)
    cpu = rounds.series("cluster", client_us_per_pair) / rounds.series("one server", client_us_per_pair)
    report.at_most("client's CPU of a pair, cluster to one server", cpu, MOST_CPU)


def compare_many(bench: Bench, report: Report, cluster: Cluster) -> None:
    count = 10_000 if bench.pace.quick else 100_000
    seconds = 30 if bench.pace.quick else 120
    sides = {}
    missing = ""
    try:
        sides["one server"] = measure(bench, [bench.server], count, seconds)
        of_cluster: List[Word] = ["--url", cluster.url]
        sides["cluster"] = measure(bench, cluster.servers, count, seconds, *of_cluster)
    except NotAvailable as reason:
        missing = str(reason)

    def series(side: str, name: str) -> Series:
        return Series([sides[side][name]] if side in sides else [], missing)

    for side in ("one server", "cluster"):
        report.at_least(f"{count} locks kept over {seconds} s, {side}", series(side, "kept"), 100.0, "%")
        report.row(f"renewals, {side}", series(side, "renewals"), "renewals/s")
        report.row(f"CPU of the client, {side}", series(side, "client"), "%")
        report.row(f"CPU of the servers together, {side}", series(side, "server"), "%")
        report.row(f"resident in the client, {side}", series(side, "bytes"), "bytes/lock")
    for what, name in (("client's CPU", "client"), ("servers' CPU", "server"), ("bytes", "bytes")):
        ratio = series("cluster", name) / series("one server", name)
        report.at_most(f"{what} of {count} locks, cluster to one server", ratio, MOST_OF_MANY)
