# SPDX-License-Identifier: Apache-2.0
"""P10: 100 000 locks held and renewed by one client for five minutes: none lost, and what they cost.

This scenario has a single round, however many the others have: it is long by its nature and compares with nobody.
"""

from __future__ import annotations

from typing import Dict, Sequence

from harness import Bench, NotAvailable, Report, Series, scenario
from harness.bench import Word, cpu_seconds_of
from support import RedisServer


@scenario("P10", "very many locks held and renewed by one client")
def run(bench: Bench, report: Report) -> None:
    count = 10_000 if bench.pace.quick else 100_000
    seconds = 30 if bench.pace.quick else 300
    values = {}
    missing = ""
    try:
        values = measure(bench, [bench.server], count, seconds)
    except NotAvailable as reason:
        missing = str(reason)

    def series(name: str) -> Series:
        return Series([values[name]] if values else [], missing)

    report.row(f"acquires, {count} locks, one thread", series("acquires"), "acquires/s")
    report.row("releases", series("releases"), "releases/s")
    report.row("renewals", series("renewals"), "renewals/s")
    report.row("renewals that came late", series("late"), "")
    report.at_least(f"locks kept over {seconds} s", series("kept"), 100.0, "%")
    report.at_most("CPU of the client, share of a core", series("client"), 2.0, "%")
    report.at_most("CPU of the server, share of a core", series("server"), 5.0, "%")
    report.at_most("resident in the client", series("bytes"), 400.0, "bytes/lock")
    if bench.pace.quick:
        report.note(f"the targets are those for 100000 locks; {count} of them say little about CPU")


def measure(
    bench: Bench, servers: Sequence[RedisServer], count: int, seconds: float, *words: Word
) -> Dict[str, float]:
    """Runs the program through its phases and looks at the servers between them."""
    with bench.converse("redlatch_many", "--locks", count, "--seconds", seconds, *words) as program:
        taken = program.line(timeout=300)
        for server in servers:
            server.reset_commandstats()
        server_before = sum(map(cpu_seconds_of, servers))
        program.go()
        held = program.line(timeout=seconds + 60)
        server_cpu = sum(map(cpu_seconds_of, servers)) - server_before
        # The servers' own view: keys that are there, and keys that ran out meanwhile.
        present = sum(int(server.admin.dbsize()) for server in servers)
        expired = sum(int(server.admin.info("stats")["expired_keys"]) for server in servers)
        program.go()
        released = program.line(timeout=300)
        program.end(timeout=60)
    lost = max(count - held["held"], held["lost"], count - present, expired)
    return {
        "acquires": count / taken["seconds"],
        "releases": count / released["seconds"],
        "renewals": held["renewals"] / held["seconds"],
        "late": held["late_renewals"],
        "kept": 100.0 * (count - lost) / count,
        "client": 100.0 * held["cpu_seconds"] / held["seconds"],
        "server": 100.0 * server_cpu / held["seconds"],
        "bytes": taken["bytes_per_lock"],
    }
