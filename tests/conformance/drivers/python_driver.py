# SPDX-License-Identifier: Apache-2.0
"""The Python driver: reads calls as lines of JSON from the standard input and makes them with the public `redlatch`
package.

It only translates. What the package logs is dropped. An actor is a thread; the actor without a name is the main thread.
With the name of an event loop as its argument, the driver makes the calls of `redlatch.aio`, and each thread has a task
that makes them.
"""

from __future__ import annotations

import gc
import logging
import math
import queue
import sys
import threading
from typing import Any, Callable, Dict, Optional, Union

import redlatch
from lines import serve

Call = Dict[str, Any]
Outcome = Dict[str, Any]

# What makes the calls: the package itself, or an object that makes the calls of `redlatch.aio` in tasks.
library: Any = redlatch
ACTOR = "thread"
if len(sys.argv) > 1:
    from support.tasks import Tasks

    library, ACTOR = Tasks(sys.argv[1]), "task"

KINDS: Dict[str, Callable[..., redlatch.Lock]] = {
    "mutex": lambda client, name, **options: client.lock(name, **options),
    "fenced": lambda client, name, **options: client.fenced_lock(name, **options),
    "fair": lambda client, name, **options: client.fair_lock(name, **options),
    "spin": lambda client, name, **options: client.spin_lock(name, **options),
    "plain": lambda client, name, **options: client.plain_lock(name, **options),
    "read": lambda client, name, **options: client.read_write_lock(name, **options).read,
    "write": lambda client, name, **options: client.read_write_lock(name, **options).write,
    "group": lambda client, name, **options: client.group_lock(name, **options),
}
SECONDS = {
    "watchdog_lease_ms": "watchdog_lease",
    "lease_ms": "lease",
    "max_hold_ms": "max_hold",
    "back_off_initial_ms": "back_off_initial",
    "back_off_max_ms": "back_off_max",
}


def text(value: Union[str, Dict[str, str]]) -> Union[str, bytes]:
    """Returns a name: text as it is, hexadecimal as bytes."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def seconds(milliseconds: Union[int, str]) -> Optional[float]:
    """Returns a time in seconds; None for "forever" and "renewed"."""
    return None if isinstance(milliseconds, str) else milliseconds / 1000


def lease(milliseconds: Union[int, str]) -> float:
    """Returns a lease for acquire(), where -1 means a renewed lease and None the lease of the lock."""
    return -1 if isinstance(milliseconds, str) else milliseconds / 1000


def lock_options(call: Call) -> Dict[str, Any]:
    """Returns the options of a lock under the package's names."""
    options: Dict[str, Any] = {}
    for option, value in call.get("options", {}).items():
        if option == "owner":
            options["owner"] = {"actor": ACTOR, "handle": "handle"}[value]
        elif option in SECONDS:
            options[SECONDS[option]] = seconds(value)
        else:
            options[option] = value
    return options


def outcome_of(made: Callable[[], Any]) -> Outcome:
    """Returns the outcome of a call: its value, or the status of its exception."""
    try:
        value = made()
    except redlatch.RedlatchError as error:
        return {"status": error.status_name, "message": str(error)}
    return {"status": "ok"} if value is None else {"status": "ok", "value": value}


class Actor:
    """A thread that makes calls one after the other."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[Optional[Callable[[], Outcome]]] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                if library is not redlatch:
                    library.end_task()
                return
            try:
                self._outcomes.put(call())
            except Exception as error:
                self._outcomes.put({"error": f"{type(error).__name__}: {error}"})
            del call  # it may have the last reference to a lock

    def start(self, call: Callable[[], Outcome]) -> None:
        """Begins a call."""
        self._calls.put(call)

    def finish(self) -> Outcome:
        """Waits for the call that was begun."""
        return self._outcomes.get()

    def is_waiting(self) -> bool:
        """Returns whether the call that was begun is still in progress."""
        return self._outcomes.empty()

    def leave(self) -> None:
        """Ends the thread."""
        self._calls.put(None)
        self._thread.join()


class Driver:
    """The calls: one method each, by their names in the vocabulary."""

    def __init__(self) -> None:
        self._clients: Dict[str, redlatch.Client] = {}
        self._locks: Dict[str, redlatch.Lock] = {}
        self._made_again: Dict[str, Callable[[Optional[float]], redlatch.Lock]] = {}  # by another timeout
        self._objects: Dict[str, Any] = {}  # semaphores, permit semaphores and latches
        self._actors: Dict[str, Actor] = {}
        self._kept: Dict[str, redlatch.Hold] = {}

    def answer(self, call: Call) -> Outcome:
        """Makes a call with the method or table that has it."""
        own = getattr(self, f"_{call['call']}", None)
        if own is not None:
            answer: Outcome = own(call)
            return answer
        if call["call"] in RECHECKS:
            client = self._clients[call["client"]]
            return self._made(call, lambda: RECHECKS[call["call"]](client, call))
        if "object" in call:
            target = self._objects[call["object"]]
            return self._made(call, lambda: COUNTED[call["call"]](target, call))
        lock = self._locks[call["lock"]]
        made = {
            "acquire": self._enter if "enter" in call else acquire,
            "try_acquire": try_acquire,
            "release": lambda lock, call: lock.release(**{key: call[key] for key in ("confirm",) if key in call}),
            "extend": lambda lock, call: lock.extend(seconds(call["lease_ms"])),
            "force_release": lambda lock, call: lock.force_release(),
            "query": query,
            "hold": self._what_is_held,
        }[call["call"]]
        return self._made(call, lambda: made(lock, call))

    def _made(self, call: Call, make: Callable[[], Any]) -> Outcome:
        """Makes a call on the thread of its actor."""
        if "by" not in call:
            return outcome_of(make)
        actor = self._actors.get(call["by"])
        if actor is None:
            actor = self._actors[call["by"]] = Actor(call["by"])
        actor.start(lambda: outcome_of(make))
        return {"started": True} if "start" in call else actor.finish()

    def _enter(self, lock: redlatch.Lock, call: Call) -> None:
        """Acquires as `with` does, whose error has a message where acquire() returns False."""
        again = self._made_again[call["lock"]](seconds(call["wait_ms"]))
        getattr(again, "__enter__" if library is redlatch else "__aenter__")()

    def _what_is_held(self, lock: redlatch.Lock, call: Call) -> Dict[str, Any]:
        if "kept" in call:
            return kept_hold(self._kept[call["kept"]])
        now = lock.held()
        if "keep" in call and now is not None:
            self._kept[call["keep"]] = now
        return hold(lock, now)

    def _open(self, call: Call) -> Outcome:
        options: Dict[str, Any] = {}
        for option, value in call.get("options", {}).items():
            if option in SECONDS:
                options[SECONDS[option]] = seconds(value)
            else:
                options[option] = text(value) if option == "name_prefix" else value

        def made() -> Dict[str, str]:
            client = self._clients[call["client"]] = library.connect(call["url"], **options)
            return {"uuid": client.uuid}

        return outcome_of(made)

    def _close(self, call: Call) -> Outcome:
        return outcome_of(self._clients[call["client"]].close)

    def _lock(self, call: Call) -> Outcome:
        options = lock_options(call)

        def made() -> None:
            new = KINDS[call.get("kind", "mutex")]
            if "values" in call:
                options["values"] = call["values"]
            client, name = self._clients[call["client"]], text(call["name"])
            self._locks[call["lock"]] = new(client, name, **options)
            self._made_again[call["lock"]] = lambda timeout: new(client, name, timeout=timeout, **options)

        return outcome_of(made)

    def _multi_lock(self, call: Call) -> Outcome:
        def made() -> None:
            members = [self._locks[member] for member in call["members"]]
            self._locks[call["lock"]] = library.multi_lock(*members, **lock_options(call))

        return outcome_of(made)

    def _redlock(self, call: Call) -> Outcome:
        def made() -> None:
            members = [self._locks[member] for member in call["members"]]
            few = {"allow_few": call["allow_few"]} if "allow_few" in call else {}
            self._locks[call["lock"]] = library.redlock(*members, **few, **lock_options(call))

        return outcome_of(made)

    def _object(self, call: Call) -> Outcome:
        def made() -> None:
            client = self._clients[call["client"]]
            self._objects[call["object"]] = getattr(client, call["call"])(text(call["name"]), **lock_options(call))

        return outcome_of(made)

    _semaphore = _permit_semaphore = _latch = _object

    def _free(self, call: Call) -> Outcome:
        del self._locks[call["lock"]]
        gc.collect()
        return {"status": "ok"}

    def _is_waiting(self, call: Call) -> Outcome:
        return {"status": "ok", "value": self._actors[call["by"]].is_waiting()}

    def _finish(self, call: Call) -> Outcome:
        return self._actors[call["by"]].finish()

    def _leave(self, call: Call) -> Outcome:
        self._actors.pop(call["by"]).leave()
        return {"status": "ok"}

    def close(self) -> None:
        """Closes every client, which ends the calls that still wait, and then ends the threads."""
        for client in self._clients.values():
            client.close()
        for actor in self._actors.values():
            actor.leave()
        if library is not redlatch:
            library.end_task()


def acquire(lock: redlatch.Lock, call: Call) -> None:
    """Acquires; raises LockTimeoutError where the package returns False, because the outcome is called timeout."""
    given: Dict[str, Any] = {"lease": lease(call["lease_ms"])} if "lease_ms" in call else {}
    if not lock.acquire(timeout=seconds(call["wait_ms"]), **given):
        raise redlatch.LockTimeoutError


def try_acquire(lock: redlatch.Lock, call: Call) -> None:
    """Acquires without waiting."""
    if not lock.acquire(blocking=False):
        raise redlatch.LockTimeoutError


def query(lock: redlatch.Lock, call: Call) -> Dict[str, Any]:
    """Returns the state of a lock on the server."""
    now = lock.state()
    return {
        "locked": now.locked,
        "ttl_ms": -1 if math.isinf(now.ttl) else round(now.ttl * 1000),
        "owner": now.owner or "",
        "count": now.count,
        "holders": now.holders,
        "waiters": now.waiters,
    }


def kept_hold(kept: redlatch.Hold) -> Dict[str, Any]:
    """Returns what a Hold reports that was made some calls ago."""
    return {
        "held": kept.count > 0,
        "lost": kept.lost,
        "count": kept.count,
        "remaining_ms": round(kept.remaining() * 1000),
        "owner": kept.owner,
        "token": kept.token or 0,
    }


def hold(lock: redlatch.Lock, now: Optional[redlatch.Hold]) -> Dict[str, Any]:
    """Returns what the package reports of the caller's hold."""
    return {
        "held": lock.owned(),
        "lost": now is not None and now.lost,
        "count": lock.hold_count(),
        "remaining_ms": 0 if now is None else round(now.remaining() * 1000),
        "owner": "" if now is None else now.owner,
        "token": 0 if now is None else now.token or 0,
    }


def acquire_permits(target: Any, call: Call) -> Any:
    """Acquires permits. Returns their ids, if they have ids."""
    wait = seconds(call["wait_ms"])
    if hasattr(target, "drain"):  # a semaphore without ids
        if not target.acquire(call["permits"], timeout=wait):
            raise redlatch.LockTimeoutError
        return None
    given = {"lease": seconds(call["lease_ms"])} if "lease_ms" in call else {}
    permits = target.acquire_many(call["permits"], timeout=wait, **given)
    if not permits:
        raise redlatch.LockTimeoutError
    return [permit.id for permit in permits]


def wait_for(latch: redlatch.Latch, call: Call) -> None:
    """Waits; raises LockTimeoutError where the package returns False."""
    if not latch.wait(seconds(call["wait_ms"])):
        raise redlatch.LockTimeoutError


def try_set(target: Any, call: Call) -> Any:
    """Sets the count of a latch or the permits of a semaphore."""
    if hasattr(target, "count_down"):
        return target.try_set_count(call["number"])
    ttl = {"ttl": seconds(call["ttl_ms"])} if "ttl_ms" in call else {}
    return target.try_set_permits(call["number"], **ttl)


def lease_of(target: redlatch.PermitSemaphore, call: Call) -> int:
    """Returns the rest of a lease in milliseconds."""
    left = target.lease_of(call["id"])
    return -1 if math.isinf(left) else round(left * 1000)


# The calls on semaphores, permit semaphores and latches.
COUNTED: Dict[str, Callable[[Any, Call], Any]] = {
    "acquire_permits": acquire_permits,
    "release_permits": lambda target, call: target.release(call["permits"]),
    "release_if_exists": lambda target, call: target.release_if_exists(call["permits"]),
    "release_permit": lambda target, call: target.release(call["id"]),
    "update_lease": lambda target, call: target.extend(call["id"], seconds(call["lease_ms"])),
    "lease_of": lease_of,
    "try_set": try_set,
    "set_permits": lambda target, call: target.set_permits(call["permits"]),
    "add_permits": lambda target, call: target.add_permits(call["permits"]),
    "available": lambda target, call: target.available(),
    "acquired": lambda target, call: target.acquired(),
    "permits": lambda target, call: target.permits(),
    "drain": lambda target, call: target.drain(),
    "count": lambda target, call: target.count(),
    "count_down": lambda target, call: target.count_down(),
    "wait": wait_for,
    "delete": lambda target, call: target.delete(),
}


def notified(report: redlatch.Report) -> Dict[str, Any]:
    """Returns a report as JSON. A name that is not ASCII is in hexadecimal."""
    name = report.name.encode() if isinstance(report.name, str) else report.name
    return {
        "name": name.decode() if name.isascii() else {"hex": name.hex()},
        "detected_kind": report.detected_kind,
        "type": report.type,
        "ttl_ms": -1 if math.isinf(report.ttl) else round(report.ttl * 1000),
        "token": report.token,
        "holders": report.holders,
        "waiters": report.waiters,
        "count": report.count,
        "parties": [
            {
                "role": each.role,
                "owner": each.owner,
                "count": each.count,
                "host": each.host or "",
                "pid": each.pid or 0,
                "label": each.label or "",
            }
            for each in report.parties
        ],
    }


def wait_free(client: redlatch.Client, call: Call) -> None:
    """Waits; raises LockTimeoutError where the package returns False."""
    if not client.wait_free(text(call["name"]), seconds(call["wait_ms"])):
        raise redlatch.LockTimeoutError


# The calls on a client about names.
RECHECKS: Dict[str, Callable[[redlatch.Client, Call], Any]] = {
    "inspect": lambda client, call: notified(client.inspect(text(call["name"]))),
    "scan": lambda client, call: [notified(report) for report in client.scan(text(call["name"]))],
    "wait_free": wait_free,
}


if __name__ == "__main__":
    logging.getLogger("redlatch").addHandler(logging.NullHandler())
    serve(Driver)
