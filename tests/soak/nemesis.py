# SPDX-License-Identifier: Apache-2.0
"""Carries out the plan's faults, and writes down what it did and when."""

from __future__ import annotations

import heapq
import itertools
import json
import signal
import time
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

import redis
from plan import Fault
from support import Command, Proxy, RedisServer
from support.faults import Fault as ProxyFault
from worker_processes import Member, Workers

Action = Callable[[], None]

_TRIES = 6
_PAUSE = 0.02


def _script(command: Command) -> bool:
    return command.word in ("EVAL", "EVALSHA")


class Nemesis:
    """Begins and ends faults at their times."""

    def __init__(
        self, servers: Sequence[RedisServer], proxies: Sequence[Proxy], workers: Workers, journal: Path
    ) -> None:
        self._servers = servers
        self._proxies = proxies
        self._workers = workers
        self._journal = journal
        self._agenda: List[Tuple[float, int, Action]] = []
        self._order = itertools.count()
        self._of_all = 0  # how many faults in progress concern all processes
        self._begin: Dict[str, Callable[[Fault], Action]] = {
            "kill": self._kill,
            "stop": self._stop,
            "stop beyond the lease": self._stop,
            "cut": self._cut,
            "lose a reply": lambda fault: self._at_proxy(fault, lambda proxy: proxy.cut_after(_script)),
            "swallow replies": self._swallow,
            "hold a command": lambda fault: self._at_proxy(fault, lambda proxy: proxy.hold(_script)),
            "slow": lambda fault: self._at_proxy(fault, lambda proxy: proxy.delay(15.0, 20.0)),
            "stall": lambda fault: self._at_proxy(fault, lambda proxy: proxy.stall()),
            "refuse": self._refuse,
            "stop the server": self._stop_server,
            "pause the server": self._pause_server,
            "restart the server": self._restart_server,
            "forget scripts": self._forget_scripts,
        }

    def run(self, faults: Sequence[Fault]) -> None:
        """Carries out all faults. Returns when the last one has ended."""
        started = time.monotonic()
        for fault in faults:
            self._enter(started + fault.at, lambda fault=fault: self._strike(fault))  # type: ignore[misc]
        while self._agenda:
            at, _, action = heapq.heappop(self._agenda)
            time.sleep(max(0.0, at - time.monotonic()))
            action()
        for proxy in self._proxies:
            proxy.resume()

    def _enter(self, at: float, action: Action) -> None:
        heapq.heappush(self._agenda, (at, next(self._order), action))

    def _strike(self, fault: Fault) -> None:
        """Begins a fault, and schedules its end. Faults that concern all processes wait for each other, even if one
        takes longer than planned: a stopped server replies to nobody, not even to the nemesis."""
        member = self._workers.members.get(fault.process)
        if not member and self._of_all:
            self._enter(time.monotonic() + _PAUSE, lambda: self._strike(fault))
            return
        since = time.monotonic_ns()
        if member and member.stopped and fault.what != "kill":
            return  # this fault would end the stop too early
        label = member.label if member else ""
        self._of_all += not member
        end = self._begin[fault.what](fault)

        def over() -> None:
            end()
            self._of_all -= not member
            self._proxies[fault.server].forget_ended()
            self._note(fault, since, label)

        self._enter(time.monotonic() + fault.seconds, over)

    def _note(self, fault: Fault, since: int, label: str) -> None:
        line = {"what": fault.what, "since": since, "until": time.monotonic_ns(), "process": label}
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps({**line, "server": fault.server}) + "\n")

    # ---------------------------------------------------------------------------------------- of processes --

    def _kill(self, fault: Fault) -> Action:
        member = self._workers.members[fault.process]
        member.kill()
        member.stopped = False
        return member.start

    def _stop(self, fault: Fault) -> Action:
        member = self._workers.members[fault.process]
        member.signal(signal.SIGSTOP)
        member.stopped = True
        return lambda incarnation=member.incarnation: _resume(member, incarnation)  # type: ignore[misc]

    # -------------------------------------------------------------------------------------- of the network --

    def _at_proxy(self, fault: Fault, place: Callable[[Proxy], ProxyFault]) -> Action:
        proxy = self._proxies[fault.server]
        placed = place(proxy)
        return lambda: proxy.discard(placed)

    def _cut(self, fault: Fault) -> Action:
        proxy = self._proxies[fault.server]

        def cut() -> None:
            links = [link for link in proxy.links.values() if not link.ended]
            for link in links[: max(1, round(len(links) * fault.part))]:
                link.cut()

        proxy.run(cut)
        return lambda: None

    def _swallow(self, fault: Fault) -> Action:
        proxy = self._proxies[fault.server]
        placed = proxy.swallow_reply(_script, times=3)

        def end() -> None:
            proxy.discard(placed)
            for connection in {hit.connection for hit in placed.hits} & set(proxy.connections):
                connection.cut()

        return end

    def _refuse(self, fault: Fault) -> Action:
        end = self._at_proxy(fault, lambda proxy: proxy.refuse())
        self._cut(fault)
        return end

    # --------------------------------------------------------------------------------------- of the server --

    def _stop_server(self, fault: Fault) -> Action:
        server = self._servers[fault.server]
        server.sigstop()
        return server.sigcont

    def _pause_server(self, fault: Fault) -> Action:
        self._administer(fault, lambda admin: admin.client_pause(round(fault.seconds * 1000), all=fault.part > 0.6))
        return lambda: None

    def _restart_server(self, fault: Fault) -> Action:
        server = self._servers[fault.server]
        server.kill()
        return server.start

    def _forget_scripts(self, fault: Fault) -> Action:
        self._administer(fault, lambda admin: admin.script_flush())
        return lambda: None

    def _administer(self, fault: Fault, call: Callable[[redis.Redis], object]) -> None:
        """Sends a command of the nemesis itself. Its connection may be older than a restart, and a busy machine may
        delay the reply, so it tries several times."""
        server = self._servers[fault.server]
        for _ in range(_TRIES):
            try:
                call(server.admin)
                return
            except (redis.ConnectionError, redis.TimeoutError):
                pass
        raise RuntimeError(f"the server does not answer the nemesis; its log:\n{server.log_text()[-2000:]}")


def _resume(member: Member, incarnation: int) -> None:
    """Lets a process go on, unless it was killed meanwhile."""
    if member.incarnation == incarnation and member.stopped:
        member.signal(signal.SIGCONT)
        member.stopped = False
