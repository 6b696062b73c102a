# SPDX-License-Identifier: Apache-2.0
"""The plan of a run, drawn from the seed: the turns of each worker in their order, and the faults with their times.

What then happens also depends on the machine. The plan does not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Dict, List, Sequence

from kinds import KINDS, SERVERS, member_kinds, names_of

# Leases are short, so that the locks of a dead process become free soon. In milliseconds, like all numbers for workers.
LEASE_MS = 2000
COMMAND_TIMEOUT_MS = 2000
FOREVER = -1
RENEWED = -1

_TURNS = 300
# Kinds that get more turns: only half of a latch's turns wait, and locks on several servers fail more often.
_OFTEN = {"latch": 3, "multi-on-servers": 2}
# No fault lasts beyond this many seconds before the end, so that the last waits end by themselves.
CALM = 3.0


@dataclass(frozen=True)
class Process:
    """A process of workers."""

    name: str
    language: str
    threads: int


def workers(languages: Sequence[str], kind_names: Sequence[str]) -> List[Process]:
    """Returns the processes of a run that have something to do. Lua has no threads, so there are more processes of
    it."""
    everybody = [
        Process("c-1", "c", 3),
        Process("c-2", "c", 3),
        Process("python-1", "python", 3),
        Process("python-2", "python", 3),
        Process("asyncio-1", "asyncio", 3),
        Process("trio-1", "trio", 3),
        Process("lua-1", "lua", 1),
        Process("lua-2", "lua", 1),
        Process("lua-3", "lua", 1),
        Process("java-1", "java", 6),
        Process("liar-1", "liar", 8),
        Process("liar-2", "liar", 8),
    ]
    return [each for each in everybody if each.language in languages and _known(each, kind_names)]


def _known(process: Process, kind_names: Sequence[str]) -> List[str]:
    """Returns the kinds that a process can acquire. A liar can acquire those of Python."""
    language = "python" if process.language == "liar" else process.language
    return [name for name in kind_names if language in KINDS[name].languages]


def worker_plan(seed: int, process: Process, kind_names: Sequence[str]) -> str:
    """Returns the plan of a process: see tests/soak/README.md."""
    draw = random.Random(f"{seed} {process.name}")
    language = "python" if process.language == "liar" else process.language
    known = _known(process, kind_names)
    lines = [f"client {LEASE_MS} {COMMAND_TIMEOUT_MS}"]
    for name in known:
        kind = KINDS[name]
        options = " ".join(f"{option}={value}" for option, value in kind.options.items())
        lines.append(f"kind {name} {kind.shape} {kind.word(language).replace(' ', '_')} {options}".rstrip())
    for member, name in member_kinds(known).items():
        kind = KINDS[name]
        word = kind.word(language).replace(" ", "_")
        lines.append(f"member {member} {word or '-'} {kind.options.get('reentrant', 1)}")
    for _ in range(process.threads):
        lines.append("thread")
        lines += [_turn(draw, known) for _ in range(_TURNS)]
    return "\n".join(lines) + "\n"


def _turn(draw: random.Random, known: Sequence[str]) -> str:
    """Returns one turn: the index of the kind, the name, how long to wait, the lease, how long to hold it and to pause
    afterwards (both in microseconds), and how many levels or permits to acquire. For a latch that is 1 to count down, 2
    to wait."""
    index = draw.choices(range(len(known)), [_OFTEN.get(name, 1) for name in known])[0]
    kind = KINDS[known[index]]
    # Nobody waits for ever for a name of an epoch, since it may never become free.
    longest = 1500 if "epoch_ms" in kind.options else FOREVER
    wait = draw.choices([0, draw.randint(5, 300), draw.randint(300, 3000), longest], [2, 3, 4, 2])[0]
    lease = draw.choices([RENEWED, draw.randint(300, LEASE_MS)], [3, 1])[0]
    hold = draw.choices(
        [draw.randint(0, 300), draw.randint(300, 5000), draw.randint(5000, 60_000), draw.randint(500_000, 3_000_000)],
        [500, 250, 48, 2],
    )[0]
    gap = draw.choices([0, draw.randint(100, 5000), draw.randint(5000, 30_000)], [2, 6, 2])[0]
    levels = draw.choices([1, 2, 3], [8, 2, 1])[0] if kind.reentrant else 1
    if kind.shape == "latch":
        levels = draw.randint(1, 2)
    return f"turn {index} {draw.choice(names_of(known[index]))} {wait} {lease} {hold} {gap} {levels}"


# ------------------------------------------------------------------------------------------------------- nemesis --


@dataclass(frozen=True)
class Fault:
    """One stroke of the nemesis: what, when (in seconds of the run), for how long, and at which process, or at which
    server and its network."""

    what: str
    at: float
    seconds: float
    process: str = ""
    part: float = 1.0
    server: int = 0


# How long each fault lasts, from and to. Faults of processes may overlap with all others. The others come one after the
# other, so that no two servers are disturbed at the same time.
OF_PROCESSES: Dict[str, Sequence[float]] = {
    "kill": (0.05, 0.3),  # until the next incarnation is started
    "stop": (0.05, 0.5),
    "stop beyond the lease": (LEASE_MS / 1000 + 0.3, LEASE_MS / 1000 + 1.2),
}
OF_THE_NETWORK: Dict[str, Sequence[float]] = {
    "cut": (0.0, 0.0),
    "lose a reply": (0.3, 0.3),
    "swallow replies": (0.2, 0.8),
    "hold a command": (0.1, 1.2),
    "slow": (0.2, 0.6),
    "stall": (0.1, 0.8),
    "refuse": (0.1, 0.4),
}
OF_THE_SERVER: Dict[str, Sequence[float]] = {
    "stop the server": (0.05, 0.9),
    "pause the server": (0.05, 0.9),
    "restart the server": (0.02, 0.3),
    "forget scripts": (0.0, 0.0),
}
NEMESES = (*OF_PROCESSES, *OF_THE_NETWORK, *OF_THE_SERVER)


def faults(seed: int, seconds: float, processes: Sequence[Process]) -> List[Fault]:
    """Returns all faults of a run in the order of their times. Each comes once before any comes again, and at each
    process once before it comes there again. Otherwise a Java process might be killed so often that it has no time for
    anything else."""
    draw = random.Random(f"{seed} nemesis")
    planned: List[Fault] = []
    bag: List[str] = []
    victims: Dict[str, List[str]] = {what: [] for what in OF_PROCESSES}
    at = 0.8
    while True:
        bag = bag or draw.sample(NEMESES, len(NEMESES))
        what = bag.pop()
        low, high = {**OF_PROCESSES, **OF_THE_NETWORK, **OF_THE_SERVER}[what]
        lasts = draw.uniform(low, high)
        process = ""
        if what in OF_PROCESSES:
            victims[what] = victims[what] or draw.sample([each.name for each in processes], len(processes))
            process = victims[what].pop()
        if at + lasts > seconds - CALM:
            return planned
        # Most calls use the first server, so it gets more faults.
        server = draw.choices(range(SERVERS), [2] + [1] * (SERVERS - 1))[0] if not process else 0
        planned.append(Fault(what, at, lasts, process, draw.uniform(0.2, 1.0), server))
        at += draw.uniform(0.1, 0.9) + (0.0 if what in OF_PROCESSES else lasts)
