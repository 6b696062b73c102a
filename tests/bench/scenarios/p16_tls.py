# SPDX-License-Identifier: Apache-2.0
"""P16: what TLS adds to a pair, beside what it adds to one written by hand on OpenSSL.

One server has a plain port and a port for TLS. The pair by hand runs the same code over both but for the calls that
move bytes. All four are measured in each round.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import List

from harness import Bench, Report, Series, client_us_per_pair, pairs_per_second, scenario
from harness.bench import Word
from support.tls_server import Identity, TlsServer

MOST = 1.1


@scenario("P16", "a pair over TLS")
def run(bench: Bench, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="redlatch-bench-") as folder:
        identity = Identity.make(Path(folder))
        served = TlsServer(identity.own, identity.ca, tls_auth_clients="no")
        with served.server:
            measure(bench, report, served, identity.ca)


def measure(bench: Bench, report: Report, served: TlsServer, ca: Path) -> None:
    seconds = bench.pace.seconds
    plain: List[Word] = ["--port", served.server.port, "--seconds", seconds]
    tls: List[Word] = ["--port", served.tls_port, "--ca", ca, "--seconds", seconds]
    by_hand = bench.scripts("plain")
    rounds = bench.alternate({
        "by hand": bench.program("bare_stream_pair", *plain, *by_hand),
        "by hand, TLS": bench.program("bare_stream_pair", *tls, *by_hand),
        "redlatch": bench.program("redlatch_pair", *plain),
        "redlatch, TLS": bench.program("redlatch_pair", *tls),
    })

    def added(side: str) -> Series:
        """How many times as long a pair takes over TLS."""
        return rounds.series(side, pairs_per_second) / rounds.series(f"{side}, TLS", pairs_per_second)

    for side in ("by hand", "by hand, TLS", "redlatch", "redlatch, TLS"):
        report.row(side, rounds.series(side, pairs_per_second), "pairs/s")
        report.row(f"{side}, CPU of the program", rounds.series(side, client_us_per_pair), "us/pair")
    report.row("TLS pair to plain pair, by hand", added("by hand"), "x")
    report.row("TLS pair to plain pair, redlatch", added("redlatch"), "x")
    report.at_most("what TLS adds, redlatch to by hand", added("redlatch") / added("by hand"), MOST)
