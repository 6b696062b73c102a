# SPDX-License-Identifier: Apache-2.0
"""Real Redisson for the tests: one Java process, its clients, their locks and synchronizers, its threads.

    with Redisson() as java:
        theirs = java.connect(server.url, lockWatchdogTimeout=1000)
        lock = theirs.lock("name")
        assert lock.call(1, "tryLock", ms(500), ms(2000))    # by the Java thread 1
        waiting = lock.start(2, "lock")                      # by thread 2; waiting.result() when it is done
        thread = lock.on(1)                                  # the lock as thread 1 sees it
        thread.unlock()

Every public method of Redisson's objects can be called, by Java's name; spans of time are written ms(...).

REDLATCH_TEST_REDISSON names the peer of support/build_peers.py that is started: `redisson`, or one of another version.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence
from urllib.parse import parse_qs, urlsplit

from .build_peers import BUILD
from .peers import Peer, Pending

PEER = os.environ.get("REDLATCH_TEST_REDISSON", "redisson")
OLDER = PEER == "redisson-3"

# A small heap and the quick compiler: the process is started often, and never does much.
_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx192m", "-Xss512k"]
_LOGGING = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]

# Threads that tests share must not be in a wait; this one never is.
CONTROL = 0


def ms(milliseconds: float) -> Dict[str, int]:
    """A span of time, as an argument of a call."""
    return {"ms": round(milliseconds)}


def _command() -> List[str]:
    folder: Path = BUILD / PEER
    java = shutil.which("java")
    if java is None or not (folder / "built-from").exists():
        raise RuntimeError(f"the peer {PEER} is not built; try ./dev test interop, or support/build_peers.py")
    classes = f"{folder / 'classes'}:{folder / 'lib'}/*"
    return [java, *_OPTIONS, *_LOGGING, "-cp", classes, "redlatch.interop.Peer"]


def servers(url: str, several: str) -> Dict[str, Any]:
    """A URL of redlatch in the form that Servers.java reads; `several` is the mode of redis+replicas://."""
    parts = urlsplit(url)
    scheme, _, form = parts.scheme.partition("+")
    login, at, hosts = parts.netloc.rpartition("@")
    found: Dict[str, Any] = {
        "mode": {"": "single", "sentinel": "sentinel", "cluster": "cluster", "replicas": several}[form],
        "addresses": [f"{scheme}://{login}{at}{host}" for host in hosts.split(",")],
    }
    if form == "sentinel":
        found["service"] = parts.path.split("/")[1]
    for certificate in parse_qs(parts.query).get("tls_ca_file", []):
        found["caFile"] = certificate
    return found


class Redisson(Peer):
    """One Java process. `several` is the mode in which its clients use a master and its replicas."""

    def __init__(self, several: str = "replicated") -> None:
        super().__init__(_command())
        self._several = several
        self._threads = itertools.count(CONTROL + 1)

    def thread(self) -> int:
        """The number of a thread that no other test uses."""
        return next(self._threads)

    def connect(self, url: str, **options: int) -> RedissonClient:
        """A new Redisson client of the servers of a URL of redlatch; the options are those in Clients.java."""
        where = servers(url, self._several)
        request = {"thread": CONTROL, "call": "connect", "arguments": [where, options]}
        return RedissonClient(self, int(self.send(request).result()))

    def interrupt(self, thread: int) -> bool:
        """Interrupt a thread in its call. Return whether it was in one."""
        return bool(self.send({"call": "interrupt", "arguments": [thread]}).result())

    def sleeps(self, thread: int) -> bool:
        """Whether a thread waits for a message."""
        return bool(self.send({"call": "sleeps", "arguments": [thread]}).result())


class RedissonClient:
    """One client of a Java process."""

    def __init__(self, java: Redisson, number: int) -> None:
        self.java = java
        self.number = number

    def owner(self, thread: int) -> str:
        """The field under which a thread holds locks of this client."""
        request = {"thread": thread, "call": "owner", "arguments": [self.number]}
        return str(self.java.send(request).result())

    def close(self) -> None:
        """Shut the client down. Its holds end with their leases."""
        self.java.send({"thread": CONTROL, "call": "close", "arguments": [self.number]}).result()

    def object(self, kind: str, **description: Any) -> RedissonObject:
        """Any object, described as in Objects.java; `handle=2` makes a second handle of the same lock."""
        return RedissonObject(self.java, {"client": self.number, "kind": kind, **description})

    def lock(self, name: str) -> RedissonObject:
        """getLock"""
        return self.object("lock", name=name)

    def fair_lock(self, name: str) -> RedissonObject:
        """getFairLock"""
        return self.object("fair", name=name)

    def fenced_lock(self, name: str) -> RedissonObject:
        """getFencedLock"""
        return self.object("fenced", name=name)

    def spin_lock(self, name: str) -> RedissonObject:
        """getSpinLock"""
        return self.object("spin", name=name)

    def non_reentrant_lock(self, name: str) -> RedissonObject:
        """getNonReentrantLock"""
        return self.object("non-reentrant", name=name)

    def non_reentrant_fair_lock(self, name: str) -> RedissonObject:
        """getNonReentrantFairLock"""
        return self.object("non-reentrant fair", name=name)

    def read_lock(self, name: str) -> RedissonObject:
        """getReadWriteLock(name).readLock()"""
        return self.object("read", name=name)

    def write_lock(self, name: str) -> RedissonObject:
        """getReadWriteLock(name).writeLock()"""
        return self.object("write", name=name)

    def multi_lock(self, *members: RedissonObject) -> RedissonObject:
        """getMultiLock(members), which may belong to other clients of the process"""
        return self.object("multi", members=[member.description for member in members])

    def red_lock(self, *members: RedissonObject) -> RedissonObject:
        """getRedLock(members)"""
        return self.object("red", members=[member.description for member in members])

    def group_lock(self, group: str, values: Sequence[str]) -> RedissonObject:
        """getMultiLock(group, values)"""
        return self.object("group", name=group, values=list(values))

    def semaphore(self, name: str) -> RedissonObject:
        """getSemaphore"""
        return self.object("semaphore", name=name)

    def permit_semaphore(self, name: str) -> RedissonObject:
        """getPermitExpirableSemaphore"""
        return self.object("permit semaphore", name=name)

    def latch(self, name: str) -> RedissonObject:
        """getCountDownLatch"""
        return self.object("latch", name=name)


class RedissonObject:
    """A lock or synchronizer of a client."""

    def __init__(self, java: Redisson, description: Dict[str, Any]) -> None:
        self._java = java
        self.description = description

    def start(self, thread: int, call: str, *arguments: Any) -> Pending:
        """Let a thread make a call, after its earlier ones."""
        return self._java.send(
            {"thread": thread, "on": self.description, "call": call, "arguments": list(arguments)}
        )

    def call(self, thread: int, call: str, *arguments: Any) -> Any:
        """Let a thread make a call, and return its result. Raises PeerError if it failed."""
        return self.start(thread, call, *arguments).result()

    def on(self, thread: int) -> OnThread:
        """The object with its methods as one thread calls them."""
        return OnThread(self, thread)


class OnThread:
    """on(1).tryLock(ms(500), ms(1000)) is call(1, "tryLock", ms(500), ms(1000))."""

    def __init__(self, target: RedissonObject, thread: int) -> None:
        self._target = target
        self._thread = thread

    def __getattr__(self, call: str) -> Callable[..., Any]:
        # Names that are keywords of Python end with an underscore: await_().
        return lambda *arguments: self._target.call(self._thread, call.rstrip("_"), *arguments)

    def start(self, call: str, *arguments: Any) -> Pending:
        """Let the thread make a call, without waiting for its end."""
        return self._target.start(self._thread, call, *arguments)
