# SPDX-License-Identifier: Apache-2.0
"""P13: what a pair costs the server: our scripts beside scripts with Redisson's effects, unlock latch included.

Twice: the commands alone, many pairs in flight from one simple driver, so that the scripts' own cost shows; and end to
end, a redlatch client beside a bare client that also deletes its latches, one blocking thread each.
"""

from __future__ import annotations

from harness import Bench, Report, scenario, server_us_per_pair
from harness.bench import Leg
from harness.programs import PEERS

NAME = "bench:cycle"
CHANNEL = f"redisson_lock__channel:{{{NAME}}}"
LATCH = f"redisson_unlock_latch:{{{NAME}}}:%r"
LEASE_MS = 30000
LATCH_MS = 18000


def our_cycle(bench: Bench) -> Leg:
    """Our scripts as they are sent, with the arguments they take, as many pairs in flight as the driver's default."""
    scripts = bench.build_directory / "scripts"
    acquire = bench.load_script(scripts / "acquire.lua")
    release = bench.load_script(scripts / "release.lua")
    return cycle(
        bench,
        f"EVALSHA {acquire} 1 {NAME} %o {LEASE_MS}",
        f"EVALSHA {release} 1 {NAME} %o 0 {CHANNEL}",
    )


def latch_cycle(bench: Bench) -> Leg:
    """Redisson's effects, with the arguments in its order."""
    scripts = PEERS / "scripts"
    acquire = bench.load_script(scripts / "latch_acquire.lua")
    release = bench.load_script(scripts / "latch_release.lua")
    return cycle(
        bench,
        f"EVALSHA {acquire} 1 {NAME} {LEASE_MS} %o",
        f"EVALSHA {release} 3 {NAME} {CHANNEL} {LATCH} 0 {LEASE_MS} %o PUBLISH {LATCH_MS}",
        f"DEL {LATCH}",
    )


def cycle(bench: Bench, *commands: str) -> Leg:
    numbered = [word for i, command in enumerate(commands) for word in (f"--command-{i + 1}", command)]
    return bench.program("bare_pipeline", "--cycles", 20_000 if bench.pace.quick else 100_000, *numbered)


@scenario("P13", "server CPU per pair")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    rounds = bench.alternate({"latch": latch_cycle(bench), "redlatch": our_cycle(bench)})
    latch, ours = rounds.series("latch", server_us_per_pair), rounds.series("redlatch", server_us_per_pair)
    report.row("scripts, Redisson's effects with latch", latch, "us/pair")
    report.row("scripts, redlatch", ours, "us/pair")

    rounds = bench.alternate(
        {
            "latch": bench.program("bare_pair", "--seconds", seconds, "--latch", 1, *bench.scripts("latch")),
            "Redisson": bench.redisson("pair", "--seconds", seconds),
            "redlatch": bench.program("redlatch_pair", "--seconds", seconds),
        }
    )
    latch_client = rounds.series("latch", server_us_per_pair)
    redisson = rounds.series("Redisson", server_us_per_pair)
    our_client = rounds.series("redlatch", server_us_per_pair)
    report.row("end to end, bare client with latch", latch_client, "us/pair")
    report.row("end to end, Redisson", redisson, "us/pair")
    report.row("end to end, redlatch", our_client, "us/pair")
    report.at_most("scripts, redlatch to Redisson's effects", ours / latch, 0.75)
    report.at_most("end to end, redlatch to Redisson's effects", our_client / latch_client, 0.75)
    report.at_most("end to end, redlatch to Redisson", our_client / redisson, 0.75)
