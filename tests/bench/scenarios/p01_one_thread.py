# SPDX-License-Identifier: Apache-2.0
"""P1: a pair (acquire and release of a free lock) in C on one thread, beside blocking hiredis with two scripts."""

from __future__ import annotations

from harness import Bench, Report, client_us_per_pair, pairs_per_second, scenario


@scenario("P1", "C, one thread, pair")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    rounds = bench.alternate(
        {
            "ping": bench.program("bare_ping", "--seconds", seconds / 4),
            "bare": bench.program("bare_pair", "--seconds", seconds, *bench.scripts("plain")),
            "redlatch": bench.program("redlatch_pair", "--seconds", seconds),
        }
    )
    bare, ours = rounds.series("bare", pairs_per_second), rounds.series("redlatch", pairs_per_second)
    bare_cpu, our_cpu = rounds.series("bare", client_us_per_pair), rounds.series("redlatch", client_us_per_pair)
    report.row("bare hiredis", bare, "pairs/s")
    report.row("redlatch", ours, "pairs/s")
    report.row("bare hiredis, CPU of the program", bare_cpu, "us/pair")
    report.row("redlatch, CPU of the program", our_cpu, "us/pair")

    blocking = rounds.series("ping", lambda outcome: outcome["blocking_us"])
    looking = rounds.series("ping", lambda outcome: outcome["looking_us"])
    report.row("PING, sleeping until it is answered", blocking, "us")
    report.row("PING, looking until it is answered", looking, "us")

    # Looking before sleeping can gain only what a sleep and a wake-up cost; elsewhere it must just do no harm.
    wake_up_is_dear = not blocking.missing and (blocking / looking).median >= 2
    report.at_least("pairs, redlatch to bare hiredis", ours / bare, 2.0 if wake_up_is_dear else 0.95)
    report.at_most("CPU per pair, redlatch to bare hiredis", our_cpu / bare_cpu, 1.1)
    report.note(f"a wake-up is {'dear' if wake_up_is_dear else 'cheap'} here")
