"""Calls everything public of the Python module with random values, on a private server.

    python_calls.py SOCKET SECONDS SEED [ROUND]       as many rounds as there is time for, or only one

With any arguments, a call returns or raises one of redlatch's own exceptions, a TypeError or a ValueError. An election
that is entered twice raises a RuntimeError. A round that does otherwise is a finding, and its calls are shown. A signal
handler that raises, as a user's may, ends calls that wait. A seed determines a sequence of rounds.
SPDX-License-Identifier: Apache-2.0
"""

import inspect
import math
import random
import signal
import sys
import time
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

import redlatch

CALLS_IN_ROUND = 60
TIMEOUT = 0.05  # of a call
LASTING = {"url", "self"}


class Stuck(Exception):
    """Raised by the signal handler in a call that waits."""


def interrupt(_number: int, _frame: Optional[FrameType]) -> None:
    """Ends the current call."""
    raise Stuck


class Odd:
    """An object whose conversions raise an exception of their own."""

    def __str__(self) -> str:
        raise Stuck

    def __index__(self) -> int:
        raise Stuck

    def __float__(self) -> float:
        raise Stuck

    def __bool__(self) -> bool:
        raise Stuck


VALUES: List[Callable[[random.Random], Any]] = [
    lambda draw: draw.choice([0, 1, -1, 2, 1000, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, True]),
    lambda draw: draw.choice([0.0, 0.01, -0.0, -1.0, 1e-9, 1e300, math.inf, -math.inf, math.nan, 0.05, 10.5]),
    lambda draw: draw.choice(["", "a", "a b", "\x00", "\ud800", "é" * 9, "{a}", "a" * 70000, "-1", "*", "mutex"]),
    lambda draw: draw.choice([b"", b"a", b"\x00\xff", b"x" * 65535, b"x" * 65536, bytearray(b"a"), memoryview(b"a")]),
    lambda draw: draw.choice([None, None, object(), Odd(), [], {}, (), ["a", "b"], [None], range(3), print, ...]),
]


class Round:
    """The objects of one client, and the calls made on them."""

    def __init__(self, url: str, seed: str) -> None:
        self.draw = random.Random(seed)
        self.url = url
        self.reported: List[str] = []
        tuning = redlatch.Tuning(close_timeout=0.1)
        self.client = redlatch.connect(url, command_timeout=1, watchdog_lease=1, tuning=tuning)
        self.objects: List[Any] = [self.client]
        for make in (self.client.lock, self.client.fenced_lock, self.client.fair_lock, self.client.spin_lock,
                     self.client.plain_lock, self.client.semaphore, self.client.permit_semaphore, self.client.latch,
                     self.client.read_write_lock):
            self.objects.append(make(self.draw.choice(["a", "b"])))

    def value(self, name: str) -> Any:
        """Returns an argument, mostly one that fits its name."""
        if self.draw.random() < 0.6:
            if name in ("name", "names", "group", "pattern", "prefix"):
                return self.draw.choice(["a", "b", b"c"])
            if name in ("timeout", "wait", "seconds", "lease", "max_hold", "ttl"):
                return self.draw.choice([0, 0.01, 0.02, -1, None, 1])
            if name in ("permits", "count", "permit"):
                return self.draw.choice([1, 2, 3, *self.objects[-3:]])
            if name in ("members", "locks", "values"):
                return self.draw.choices([*self.objects, "a", "b"], k=self.draw.randint(0, 4))
        if self.draw.random() < 0.2:
            return self.draw.choice(self.objects)
        return self.draw.choice(VALUES)(self.draw)

    def arguments(self, called: Any) -> Tuple[List[Any], Dict[str, Any]]:
        """Returns positional and keyword arguments for a callable, now and then too few or too many."""
        try:
            names = [name for name in inspect.signature(called).parameters if name not in LASTING]
        except (TypeError, ValueError):
            names = ["name"]
        kept = [name for name in names if self.draw.random() < 0.7]
        by_place = [self.value(name) for name in kept[:1]] if self.draw.random() < 0.7 else []
        by_name = {name: self.value(name) for name in kept[len(by_place):]}
        if self.draw.random() < 0.03:
            by_name[self.draw.choice(["bogus", "timeout", "lease"])] = self.value("")
        return by_place, by_name

    def call_one(self) -> None:
        """Calls one method of one object with some arguments."""
        subject = self.draw.choice(self.objects)
        names = [name for name in dir(type(subject)) if not name.startswith("_")]
        name = self.draw.choice([*names, "with", "__repr__", "__hash__", "__iter__"])
        self.reported.append(f"{type(subject).__name__}.{name}")
        signal.setitimer(signal.ITIMER_REAL, TIMEOUT)
        try:
            called = result = getattr(subject, name, None)
            if name == "with" and hasattr(subject, "__exit__"):
                with subject as result:
                    pass
            elif callable(called):
                by_place, by_name = self.arguments(called)
                self.reported[-1] += f"(*{by_place!r:.200}, **{by_name!r:.300})"
                result = called(*by_place, **by_name)
            if inspect.isgenerator(result) or name == "scan":
                result = next(iter(result), None)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if type(result).__module__.startswith("redlatch") and len(self.objects) < 40:
            self.objects.append(result)

    def play(self) -> int:
        """Makes all calls of the round and returns their number."""
        for _ in range(CALLS_IN_ROUND):
            try:
                self.call_one()
            except Stuck:
                self.reported[-1] += " waited"
            except (redlatch.RedlatchError, TypeError, ValueError) as error:
                self.reported[-1] += f" raised {type(error).__name__}"
            except RuntimeError as error:
                if "has begun before" not in str(error):
                    raise
                self.reported[-1] += " was entered twice"
        self.objects.clear()
        self.client.close()
        return CALLS_IN_ROUND


def main() -> int:
    """Returns the exit status."""
    socket, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    only = int(sys.argv[4]) if len(sys.argv) > 4 else None
    signal.signal(signal.SIGALRM, interrupt)
    until = time.monotonic() + seconds
    calls = rounds = 0
    while rounds == 0 or (only is None and time.monotonic() < until):
        number = rounds if only is None else only
        played = Round(f"unix://{socket}", f"{seed} {number}")
        try:
            calls += played.play()
        except BaseException:
            print("\n".join(played.reported), file=sys.stderr)
            print(f"replay it with: ./dev fuzz python --seed {seed} --round {number}", file=sys.stderr)
            raise
        rounds += 1
    print(f"{calls} calls in {rounds} rounds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
