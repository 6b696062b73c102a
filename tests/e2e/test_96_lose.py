# SPDX-License-Identifier: Apache-2.0
"""redlatch.testing.lose(): a hold is lost on the server, and the client has noticed when the call returns."""

from __future__ import annotations

import doctest
import inspect
import threading
import time
from typing import Any, Callable, Dict, List

import pytest
import redlatch
import redlatch.aio
from loops import World, run
from redlatch.testing import Server, lose
from support import RedisServer

# The default lease is renewed after 10 s: a loss that is noticed earlier was noticed because of lose().
AT_MOST = 5.0
KINDS: Dict[str, Callable[[Any, str], Any]] = {
    "mutex": lambda client, name: client.lock(name),
    "fixed lease": lambda client, name: client.lock(name, lease=60),
    "fenced": lambda client, name: client.fenced_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "group": lambda client, name: client.group_lock(name, ["a", "b"]),
    "multi": lambda client, name: redlatch.multi_lock(client.lock(name), client.fenced_lock(f"{name}:2")),
    "permit": lambda client, name: client.permit_semaphore(name, limit=2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str) -> None:
    lock = KINDS[kind](client, lock_name)
    started = time.monotonic()
    with pytest.raises(redlatch.LockLostError) as raised:
        with lock as held:
            lose(held)
            assert held.lost and held.lost_event.is_set() and held.lost_reason == "missing"
            with KINDS[kind](other, lock_name):  # lost for real: somebody else gets it
                lose(held)  # again: nothing happens
    assert raised.value.reason == "missing"
    assert time.monotonic() - started < AT_MOST


def test_a_red_lock(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    calls: List[redlatch.Hold] = []
    locks = [client.lock(lock_name) for client in open_clients(servers)]
    with pytest.raises(redlatch.LockLostError):
        with redlatch.redlock(*locks, on_lost=calls.append) as held:
            lose(held)
            assert held.lost and len(calls) == 1
            assert not any(lock.state().locked for lock in locks)


def test_on_lost_was_called(client: redlatch.Client, lock_name: str) -> None:
    """When lose() returns, on_lost has returned, whichever thread calls it. For nested locks both calls have."""
    for attempt in range(30):
        calls: List[str] = []

        def slow(held: redlatch.Hold, to: List[str] = calls) -> None:
            time.sleep(0.005)
            to.append(held.owner)

        name = f"{lock_name}:{attempt}"
        with pytest.raises(redlatch.LockLostError):
            with client.lock(name, on_lost=slow), client.lock(name, on_lost=slow) as held:
                lose(held)
                assert calls == [held.owner, held.owner]


def test_a_hold_of_another_thread(client: redlatch.Client, lock_name: str) -> None:
    """A program that waits for the loss is woken."""
    holds: List[redlatch.Hold] = []
    entered = threading.Event()

    def work() -> None:
        with client.lock(lock_name, on_lost="log") as held:
            holds.append(held)
            entered.set()
            held.lost_event.wait()

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(10)
    lose(holds[0])
    thread.join(AT_MOST)
    assert not thread.is_alive()


def test_what_cannot_be_lost(client: redlatch.Client, lock_name: str) -> None:
    with client.lock(lock_name) as held:
        pass
    with pytest.raises(redlatch.NotOwnedError):
        lose(held)
    with pytest.raises(TypeError, match="held is of type Lock; expected a Hold or a Permit"):
        lose(client.lock(lock_name))  # type: ignore[call-overload]


@pytest.mark.parametrize("thing", [lose, Server])
def test_examples(client: redlatch.Client, thing: Any) -> None:
    """The examples in the docstrings."""
    names = {"redlatch": redlatch, "client": client, "lose": lose, "Server": Server}
    parsed = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", names, thing.__name__, None, 0)
    printed: List[str] = []
    outcome = doctest.DocTestRunner(verbose=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(
        parsed, out=printed.append
    )
    assert outcome.attempted and not outcome.failed, "".join(printed)


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_holds_of_tasks(server: RedisServer, lock_name: str, loop: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            for on_lost in ("raise", "cancel"):
                after = False
                with pytest.raises(redlatch.LockLostError):
                    async with client.lock(lock_name, on_lost=on_lost) as held:  # type: ignore[arg-type]
                        await lose(held)
                        assert held.lost and held.lost_event.is_set()
                        await world.sleep(0)
                        after = True
                assert after == (on_lost == "raise")
            with pytest.raises(redlatch.LockLostError):
                async with client.permit_semaphore(lock_name, limit=1) as permit:
                    await lose(permit)
                    assert permit.lost and permit.lost_event.is_set()

    run(loop, main)
