# SPDX-License-Identifier: Apache-2.0
"""What is to happen in a run, all of it drawn from the seed: who does what in which order, and which fault comes when.

What then happens also depends on the machine; the plan does not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Dict, List, Sequence

from kinds import KINDS, SERVERS, member_kinds, names_of

# Leases are short, so that what dies frees its locks soon. In milliseconds, as everything is that workers are told.
LEASE_MS = 2000
COMMAND_TIMEOUT_MS = 2000
FOREVER = -1
RENEWED = -1

_TURNS = 300
# Kinds that get more turns: only half of a latch's turns wait, and what is on several servers is refused more often.
_OFTEN = {"latch": 3, "multi-on-servers": 2}
# No fault begins so shortly before the end, in seconds: the last waits are to end by themselves.
CALM = 3.0


@dataclass(frozen=True)
class Process:
    """A process of workers."""

    name: str
    language: str
    threads: int


def workers(languages: Sequence[str], kind_names: Sequence[str]) -> List[Process]:
    """The processes of a run, as far as there is anything for them to do. Lua has no threads, so it gets more."""
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
    """The kinds that a process can take; who lies can take what Python can."""
    language = "python" if process.language == "liar" else process.language
    return [name for name in kind_names if language in KINDS[name].languages]


def worker_plan(seed: int, process: Process, kind_names: Sequence[str]) -> str:
    """The file that tells a process what to do: see tests/soak/README.md."""
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
    """One turn: the kind by its place, the name, how long to wait, the lease, how long to hold it and then to leave it
    (both in microseconds), how many levels or permits to take; of a latch, 1 to count down, 2 to wait."""
    index = draw.choices(range(len(known)), [_OFTEN.get(name, 1) for name in known])[0]
    kind = KINDS[known[index]]
    # Of what may never come back, nobody waits for ever.
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
    """One stroke of the nemesis: what, when (in seconds of the run), for how long, at which process, or which server
    and the network around it."""

    what: str
    at: float
    seconds: float
    process: str = ""
    part: float = 1.0
    server: int = 0


# How long each lasts, from and to; those of processes overlap with everything, the others come one after the other, so
# that no two servers are concerned at once.
OF_PROCESSES: Dict[str, Sequence[float]] = {
    "kill": (0.05, 0.3),  # until another is started in its place
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
    """All faults of a run in the order of their times. Each comes once before any comes again, and at each process once
    before it comes there again: a Java process that was killed twice would have no time to do anything else."""
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
        # Most is done on the first server, so it gets more.
        server = draw.choices(range(SERVERS), [2] + [1] * (SERVERS - 1))[0] if not process else 0
        planned.append(Fault(what, at, lasts, process, draw.uniform(0.2, 1.0), server))
        at += draw.uniform(0.1, 0.9) + (0.0 if what in OF_PROCESSES else lasts)
