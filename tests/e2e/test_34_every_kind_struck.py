# SPDX-License-Identifier: Apache-2.0
"""With each kind, a lost, doubled or late command leaves the server's keys as an undisturbed command does.

Each kind is acquired, re-entered if it can be, and released, and each of these commands is tried with each fault. The
expected keys are written out for each kind. They are read with redis-py.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Union

import pytest
import redlatch
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS

State = Dict[str, Union[str, List[str]]]
Act = Callable[[Any], object]

OWNER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}:\d+")
VALUE = re.compile(r"[A-Za-z0-9+/]{22}(?=:|$)")
PERMIT_SIZE = 16
GROUP_FIELDS = ["value:owner:expire_time=time", "value:owner:lock_count={}", "value=owner"]


class Kind(NamedTuple):
    """How a kind is used: its calls, their scripts, and the expected keys, for a reentrant kind also after re-entry.

    `recorded`: the result cannot be stated, so the server keeps a record of the operation. The next operation uses the
    record's key as soon as the command was answered, because a later copy can come only from a connection that could
    not be killed.
    """

    make: Callable[[redlatch.Client, str], Any]
    takes: str
    gives: str
    held: State
    free: State
    reenters: Optional[str] = None
    twice: Optional[State] = None
    taken_again: Optional[State] = None
    before: Optional[int] = None
    take: Act = lambda lock: lock.acquire()
    give: Act = lambda lock: lock.release()
    take_again: Optional[Act] = None
    recorded: bool = False


class Permits:
    """A permit semaphore with the calls of a lock: it remembers its last permit."""

    def __init__(self, client: redlatch.Client, name: str) -> None:
        self._semaphore = client.permit_semaphore(name)
        self._permit: Any = None

    def acquire(self) -> None:
        """Acquire a permit."""
        self._permit = self._semaphore.acquire()

    def release(self) -> None:
        """Release it."""
        self._semaphore.release(self._permit)


def mutex_like(make: Callable[[redlatch.Client, str], Any], reenters: bool = True, suffix: str = "") -> Kind:
    """Returns a kind with the hash of a mutex. `suffix` ends the names of a fair lock's scripts."""
    twice: State = {"N": ["owner=2"]}
    return Kind(make, f"acquire{suffix}", f"release{suffix}", {"N": ["owner=1"]}, {},
                *(("reenter", twice) if reenters else ()))


TOKEN = "redisson_lock_token:{N}"
READ_KEY = "{N}:owner:rwlock_timeout:"

KINDS: Dict[str, Kind] = {
    "mutex": mutex_like(lambda client, name: client.lock(name)),
    "spin": mutex_like(lambda client, name: client.spin_lock(name)),
    "fair": mutex_like(lambda client, name: client.fair_lock(name), suffix="_fair"),
    "non-reentrant": mutex_like(lambda client, name: client.lock(name, reentrant=False), reenters=False),
    "non-reentrant fair": mutex_like(
        lambda client, name: client.fair_lock(name, reentrant=False), reenters=False, suffix="_fair"),
    "fenced": Kind(
        lambda client, name: client.fenced_lock(name), "acquire_fenced", "release",
        held={"N": ["owner=1"], TOKEN: "1"}, free={TOKEN: "1"},
        reenters="reenter", twice={"N": ["owner=2"], TOKEN: "1"}, taken_again={"N": ["owner=1"], TOKEN: "2"}),
    "read": Kind(
        lambda client, name: client.read_write_lock(name).read, "acquire_read", "release_read",
        held={"N": ["mode=read", "owner=1"], READ_KEY + "1": "1"}, free={},
        reenters="reenter_read", twice={"N": ["mode=read", "owner=2"], READ_KEY + "1": "1", READ_KEY + "2": "1"}),
    "write": Kind(
        lambda client, name: client.read_write_lock(name).write, "acquire_write", "release_write",
        held={"N": ["mode=write", "owner:write=1"]}, free={},
        reenters="reenter", twice={"N": ["mode=write", "owner:write=2"]}),
    "plain": Kind(lambda client, name: client.plain_lock(name), "acquire_plain", "release_plain", {"N": "owner"}, {}),
    "group": Kind(
        lambda client, name: client.group_lock(name, ["a", "b"]), "acquire_group", "release_group",
        held={"N": sorted(field.format(1) for field in 2 * GROUP_FIELDS)}, free={},
        reenters="reenter_group", twice={"N": sorted(field.format(2) for field in 2 * GROUP_FIELDS)}),
    "semaphore": Kind(
        lambda client, name: client.semaphore(name), "acquire_semaphore", "release_semaphore",
        held={"N": "3"}, free={"N": "5"}, before=5,
        take=lambda semaphore: semaphore.acquire(2), give=lambda semaphore: semaphore.release(2), recorded=True),
    "permit semaphore": Kind(
        Permits, "acquire_permits", "release_permits",
        held={"N": "1", "{N}:timeout": ["permit=time"]}, free={"N": "2"}, before=2),
    "latch": Kind(
        lambda client, name: client.latch(name), "try_set_count", "count_down",
        held={"N": "3"}, free={"N": "2"}, taken_again={"N": "1"},
        take=lambda latch: latch.try_set_count(3), give=lambda latch: latch.count_down(),
        take_again=lambda latch: latch.count_down(), recorded=True),
    "multi": Kind(
        lambda client, name: redlatch.multi_lock(client.lock(name), client.lock(name + ":2")),
        "acquire_many", "release_many",
        held={"N": ["owner=1"], "N:2": ["owner=1"]}, free={},
        reenters="acquire_many", twice={"N": ["owner=2"], "N:2": ["owner=2"]}),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
every_reentrant_kind = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS.values() if kind.reenters], ids=[name for name in KINDS if KINDS[name].reenters])
every_stated_kind = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS.values() if not kind.recorded],
    ids=[name for name in KINDS if not KINDS[name].recorded])


class Scene:
    """A lock behind the proxy, the one thread that makes all its calls, and the state of the server."""

    def __init__(self, server: RedisServer, client: redlatch.Client, kind: Kind, name: str) -> None:
        self.server = server
        self.kind = kind
        self.name = name
        self.lock = kind.make(client, name)
        self.thread = ThreadPoolExecutor(1)
        if kind.before is not None:
            server.admin.set(name, kind.before)
        for script in {kind.takes, kind.gives, kind.reenters or kind.takes}:
            server.admin.script_load(SCRIPTS[script].text.decode())

    def begin(self, act: Act) -> Any:
        """Start a call on the thread."""
        return self.thread.submit(act, self.lock)

    def call(self, act: Act) -> None:
        """Make a call on the thread."""
        self.begin(act).result(10)

    def take_again(self) -> State:
        """Make the call that follows a release. Returns the expected state."""
        self.call(self.kind.take_again or self.kind.take)
        return self.kind.taken_again or self.kind.held

    def _words(self, raw: Any) -> str:
        text = "permit" if isinstance(raw, bytes) and self._is_permit(raw) else str(self._text(raw))
        text = VALUE.sub("value", OWNER.sub("owner", text.replace(self.name, "N")))
        return "time" if text.isdigit() and int(text) > 10**12 else text

    @staticmethod
    def _text(raw: Any) -> Any:
        return raw.decode("latin-1") if isinstance(raw, bytes) else int(raw) if isinstance(raw, float) else raw

    @staticmethod
    def _is_permit(raw: bytes) -> bool:
        return len(raw) == PERMIT_SIZE and not raw.isascii()

    def _content(self, key: bytes) -> Union[str, List[str]]:
        admin: Any = self.server.admin
        kind = admin.type(key)
        if kind == b"string":
            return self._words(admin.get(key))
        pairs = admin.hgetall(key).items() if kind == b"hash" else admin.zrange(key, 0, -1, withscores=True)
        return sorted(f"{self._words(field)}={self._words(value)}" for field, value in pairs)

    @property
    def state(self) -> State:
        """All keys except the records of operations. Owners, permits and times, which differ each time, are replaced by
        words."""
        keys = [key for key in self.server.admin.scan_iter() if not key.startswith(b"redlatch_op:")]
        return {self._words(key): self._content(key) for key in keys}


@pytest.fixture
def scene(server: RedisServer, proxy: Proxy, lock_name: str, kind: Kind) -> Iterator[Scene]:
    """A lock of the kind. Its client's timeouts are longer than the faults of the tests."""
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as client:
        made = Scene(server, client, kind, lock_name)
        yield made
        made.thread.shutdown()


def lose_the_reply(scene: Scene, proxy: Proxy, script: str, act: Act, state: State) -> None:
    """Disturbs a command: it is executed, its reply is lost, and it is sent again on a new connection."""
    fault = proxy.swallow_reply(SCRIPTS[script])
    call = scene.begin(act)
    connection = fault.wait_hit().connection
    wait_until(lambda: scene.state == state)
    assert not call.done()
    connection.cut()
    call.result(10)
    assert scene.state == state


def double(scene: Scene, proxy: Proxy, script: str, act: Act, state: State) -> None:
    """Disturbs a command: it is executed twice."""
    copy = proxy.duplicate(SCRIPTS[script])
    scene.call(act)
    copy.wait_hit()
    assert scene.state == state
    copy.let_arrive()
    assert scene.state == state


either = pytest.mark.parametrize("strike", [lose_the_reply, double])
Strike = Callable[[Scene, Proxy, str, Act, State], None]


@every_kind
@either
def test_taken(scene: Scene, proxy: Proxy, kind: Kind, strike: Strike) -> None:
    strike(scene, proxy, kind.takes, kind.take, kind.held)
    scene.call(kind.give)
    assert scene.state == kind.free


@every_reentrant_kind
@either
def test_entered_again(scene: Scene, proxy: Proxy, kind: Kind, strike: Strike) -> None:
    assert kind.reenters and kind.twice
    scene.call(kind.take)
    strike(scene, proxy, kind.reenters, kind.take, kind.twice)
    strike(scene, proxy, kind.gives, kind.give, kind.held)
    scene.call(kind.give)
    assert scene.state == kind.free


@every_kind
@either
def test_given_back(scene: Scene, proxy: Proxy, kind: Kind, strike: Strike) -> None:
    scene.call(kind.take)
    strike(scene, proxy, kind.gives, kind.give, kind.free)
    assert scene.take_again() == scene.state


@every_kind
def test_taking_arrives_after_it_was_given_back(scene: Scene, proxy: Proxy, kind: Kind) -> None:
    """The connection of the late command has been replaced, and therefore killed."""
    late = proxy.duplicate(SCRIPTS[kind.takes])
    scene.call(kind.take)
    late.wait_hit().connection.cut_client()
    scene.call(kind.give)
    assert scene.state == kind.free
    late.release()
    assert late.wait_outcome().kind == "eof"
    assert scene.state == kind.free


@every_stated_kind
def test_giving_back_arrives_after_it_was_taken_again(scene: Scene, proxy: Proxy, kind: Kind) -> None:
    """The late command is executed, and finds no hold of its owner.

    test_33_counts_once.py has the same for recorded kinds, on a connection that could not be killed.
    """
    scene.call(kind.take)
    late = proxy.duplicate(SCRIPTS[kind.gives])
    scene.call(kind.give)
    state = scene.take_again()
    assert scene.state == state
    late.let_arrive()
    assert scene.state == state


@every_reentrant_kind
def test_entering_again_arrives_after_it_was_taken_anew(scene: Scene, proxy: Proxy, kind: Kind) -> None:
    """The late command names a hold that has ended, and creates none."""
    assert kind.reenters
    scene.call(kind.take)
    late = proxy.duplicate(SCRIPTS[kind.reenters])
    scene.call(kind.take)
    scene.call(kind.give)
    scene.call(kind.give)
    state = scene.take_again()
    late.let_arrive()
    assert scene.state == state
