# SPDX-License-Identifier: Apache-2.0
"""Started queries and changes, through the C interface: they have the same results as the blocking calls."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import pytest
import redlatch
from hosts import Host
from redlatch import reports
from redlatch._ffi import FOREVER, ffi, lib, new_record, text
from support import RedisServer, free_port, wait_until

INCLUDE = Path(__file__).resolve().parents[2] / "core" / "include"
# Functions without a started form of that name: they send nothing to the server, or are started in another way.
NOT_TO_BE_STARTED = {
    "redlatch_client_open", "redlatch_client_close", "redlatch_client_uuid", "redlatch_client_url",
    "redlatch_client_stats", "redlatch_client_event_fd", "redlatch_client_next_event", "redlatch_client_wait_lost",
    "redlatch_client_cancel", "redlatch_cancel_fire", "redlatch_owner_end", "redlatch_lock_hold_status",
    "redlatch_lock_leave", "redlatch_permit_semaphore_permit_status", "redlatch_client_set_credentials",
    "redlatch_report_facts", "redlatch_report_party", "redlatch_last_error", "redlatch_version", "redlatch_strerror",
    "redlatch_wait_continue", "redlatch_wait_drop",
    "redlatch_scan_is_ready",
    # Functions that only the command `redlatch` uses.
    "redlatch_client_nodes", "redlatch_client_command", "redlatch_lock_release_owner", "redlatch_lock_extend_owner",
    "redlatch_status_is_retryable", "redlatch_status_is_ambiguous", "redlatch_last_reason",
}
# Blocking calls that share their started form with another call.
SHARED = {
    "redlatch_lock_try_acquire": "redlatch_lock_start_acquire",
    "redlatch_lock_acquire_as": "redlatch_lock_start_acquire",
    "redlatch_lock_release_as": "redlatch_lock_start_release",
}
ID = "the id of a permit"


# The result of a call: its status, its number and its error text.
Outcome = Tuple[int, int, str]


def shown(words: str) -> str:
    """Returns an error text without names and ids, which differ between the two forms."""
    return re.sub(r"\b[0-9a-f]{32}\b", "ID", re.sub(r'"[^"]*"', "NAME", words))


class Form(NamedTuple):
    """A call with its blocking and its started form."""

    noun: str
    call: str
    arguments: Tuple[Any, ...] = ()
    out: str = ""  # the type of the blocking form's output
    kind: int = lib.REDLATCH_EVENT_ANSWERED
    started: str = ""  # names the started form, if it is not `call`

    def __str__(self) -> str:
        return f"{self.noun}_{self.call}"

    def _arguments(self, identity: bytes) -> List[Any]:
        return [identity if argument is ID else argument for argument in self.arguments]

    def block(self, handle: Any, identity: bytes = b"") -> Outcome:
        """Makes the blocking call. Returns its outcome."""
        out = [ffi.new(f"{self.out} *")] if self.out else []
        status = getattr(lib, f"redlatch_{self.noun}_{self.call}")(handle, *self._arguments(identity), *out)
        return status, out[0][0] if out and status == 0 else 0, shown(text(lib.redlatch_last_error())) if status else ""

    def start(self, handle: Any, tag: int, identity: bytes = b"") -> int:
        """Starts the call."""
        function = getattr(lib, f"redlatch_{self.noun}_start_{self.started or self.call}")
        status: int = function(handle, *self._arguments(identity), tag)
        return status


FLAG, NUMBER = "int32_t", "int64_t"
RELEASED, EXTENDED = lib.REDLATCH_EVENT_RELEASED, lib.REDLATCH_EVENT_EXTENDED
SEMAPHORE = [
    Form("semaphore", "release_if_exists", (2,), FLAG, RELEASED),
    Form("semaphore", "try_set_permits", (7, FOREVER), FLAG),
    Form("semaphore", "try_set_permits", (7, 60_000), FLAG),
    Form("semaphore", "add_permits", (-4,)),
    Form("semaphore", "drain", (), NUMBER),
    Form("semaphore", "available", (), NUMBER),
    Form("semaphore", "delete", (), FLAG),
]
LATCH = [
    Form("latch", "try_set_count", (7,), FLAG),
    Form("latch", "count", (), NUMBER),
    Form("latch", "delete", (), FLAG),
    Form("latch", "count_down", (), "", lib.REDLATCH_EVENT_COUNTED),
]
PERMITS = [
    Form("permit_semaphore", "try_set_permits", (7,), FLAG),
    Form("permit_semaphore", "set_permits", (7,)),
    Form("permit_semaphore", "add_permits", (-4,)),
    Form("permit_semaphore", "available", (), NUMBER),
    Form("permit_semaphore", "acquired", (), NUMBER),
    Form("permit_semaphore", "permits", (), NUMBER),
    Form("permit_semaphore", "delete", (), FLAG),
]
BY_ID = [
    Form("permit_semaphore", "release", (ID,), "", RELEASED, "release_by_id"),
    Form("permit_semaphore", "update_lease", (ID, 9_000), "", EXTENDED),
    Form("permit_semaphore", "lease_of", (ID,), NUMBER),
]
FORCE = Form("lock", "force_release", (), FLAG)


def outcome(host: Host, form: Form, handle: Any, identity: bytes = b"") -> Outcome:
    """Starts a call. Returns the outcome from its event, which must be of the right kind."""
    assert form.start(handle, 7, identity) == 0
    event = next(event for event in iter(host.event, None) if event.kind != lib.REDLATCH_EVENT_LOST)
    assert (event.kind, event.tag) == (form.kind, 7)
    assert event.report == ffi.NULL and event.state == ffi.NULL
    return event.status, event.number, shown(text(event.message))


def test_every_call_of_the_header_can_be_started() -> None:
    headers = "".join(path.read_text(encoding="utf-8") for path in sorted(INCLUDE.glob("redlatch*.h")))
    names = set(re.findall(r"^REDLATCH_API [^;{]*?\b(redlatch_\w+)\(", headers, flags=re.MULTILINE))
    assert len(names) > 90 and names >= NOT_TO_BE_STARTED
    requesting = {name for name in names - NOT_TO_BE_STARTED
              if "start_" not in name and "_begin_" not in name
              and (not name.endswith(("_new", "_free", "_init", "_name")) or name.endswith("_wait_free"))}
    for name in sorted(requesting):
        noun = max((noun for noun in ("client", "lock", "semaphore", "permit_semaphore", "latch", "scan", "")
                    if name.startswith(f"redlatch_{noun}")), key=len)
        head = f"redlatch_{noun}_" if noun else "redlatch_"
        assert SHARED.get(name, head + "start_" + name[len(head):]) in names, name


@pytest.mark.parametrize("found", [None, b"5", b"-3", "wrong type"])
@pytest.mark.parametrize("form", SEMAPHORE + LATCH, ids=str)
def test_counts(client: redlatch.Client, server: RedisServer, lock_name: str, form: Form, found: Any) -> None:
    """Both forms have the same status and number, and leave the same key."""
    host, outcomes, left = Host(client), [], []
    for name in (f"{lock_name}:{side}" for side in ("blocking", "started")):
        if found == "wrong type":
            server.admin.rpush(name, "x")
        elif found is not None:
            server.admin.set(name, found)
        handle = (client.semaphore if form.noun == "semaphore" else client.latch)(name)._handle
        outcomes.append(form.block(handle) if name.endswith("blocking") else outcome(host, form, handle))
        left.append((server.admin.type(name), found != "wrong type" and server.admin.get(name),
                     server.admin.pttl(name) > 0))
    assert outcomes[0] == outcomes[1] and left[0] == left[1]
    assert (outcomes[0][0] == lib.REDLATCH_WRONG_TYPE) == (found == "wrong type")


def left_of(client: redlatch.Client, name: str) -> Tuple[int, ...]:
    """Returns a permit semaphore's available, acquired and total permits."""
    slots = client.permit_semaphore(name)
    return slots.available(), slots.acquired(), slots.permits()


@pytest.mark.parametrize("form", PERMITS, ids=str)
def test_permit_semaphores(client: redlatch.Client, server: RedisServer, lock_name: str, form: Form) -> None:
    host = Host(client)
    for found in ("nothing", "permits"):
        outcomes, left = [], []
        for name in (f"{lock_name}:{found}:{side}" for side in ("blocking", "started")):
            slots = client.permit_semaphore(name)
            if found == "permits":
                assert slots.try_set_permits(3) and slots.acquire(lease=60)
            blocking = name.endswith("blocking")
            outcomes.append(form.block(slots._handle) if blocking else outcome(host, form, slots._handle))
            left.append(left_of(client, name))
        assert outcomes[0] == outcomes[1] and left[0] == left[1]
    server.admin.rpush(lock_name, "x")
    handle = client.permit_semaphore(lock_name)._handle
    assert form.block(handle) == outcome(host, form, handle)
    assert form.block(handle)[:2] == (lib.REDLATCH_WRONG_TYPE, 0)


@pytest.mark.parametrize("whose", ["ours", "theirs", "nobody's", "released", "lost"])
@pytest.mark.parametrize("form", BY_ID, ids=str)
def test_permits_by_their_ids(
    client: redlatch.Client, other: redlatch.Client, lock_name: str, form: Form, whose: str
) -> None:
    host, outcomes, left = Host(client), [], []
    for name in (f"{lock_name}:{side}" for side in ("blocking", "started")):
        slots, theirs = client.permit_semaphore(name), other.permit_semaphore(name)
        assert slots.try_set_permits(3)
        permit = (theirs if whose == "theirs" else slots).acquire(lease=60)
        assert permit
        if whose == "released":
            permit.release()
        if whose == "lost":
            theirs.delete()
        identity = b"0" * 32 if whose == "nobody's" else permit.id.encode()
        blocking = name.endswith("blocking")
        status, number, words = (form.block(slots._handle, identity) if blocking
                                 else outcome(host, form, slots._handle, identity))
        outcomes.append((status, round(number / 10_000), words))
        left.append(left_of(client, name))
    assert outcomes[0] == outcomes[1] and left[0] == left[1]
    expected = {"nobody's": lib.REDLATCH_NOT_OWNED, "released": lib.REDLATCH_NOT_OWNED, "lost": lib.REDLATCH_LOST}
    assert outcomes[0][0] == (0 if form.call == "lease_of" else expected.get(whose, 0))


# --------------------------------------------------------------------------------------------------------- locks --


def state_of(record: Any) -> Tuple[Any, ...]:
    """Returns the state of a lock as a tuple, with its lease in tens of seconds."""
    lease = round(record.ttl_ms / 10_000)
    return record.locked, lease, record.count, text(record.owner), record.holders, record.waiters


def blocking_query(handle: Any) -> Tuple[Any, ...]:
    """Returns the state from the blocking query."""
    record = new_record("redlatch_lock_state")
    assert lib.redlatch_lock_query(handle, record) == 0
    return state_of(record)


def started_query(host: Host, handle: Any) -> Tuple[Any, ...]:
    """Returns the state from the started query."""
    assert lib.redlatch_lock_start_query(handle, 5) == 0
    event = host.event()
    assert (event.kind, event.status, event.tag, event.number) == (lib.REDLATCH_EVENT_ANSWERED, 0, 5, 0)
    assert (event.owner, event.serial, event.report) == (0, 0, ffi.NULL)
    assert event.state.struct_size == ffi.sizeof("redlatch_lock_state")
    return state_of(event.state)


LOCKS: Dict[str, Callable[[redlatch.Client, str], Any]] = {
    "mutex": lambda client, name: client.lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "group": lambda client, name: client.group_lock(name, ["a", "b"]),
    "multi": lambda client, name: redlatch.multi_lock(client.lock(name), client.plain_lock(name + ":2")),
}


@pytest.mark.parametrize("kind", LOCKS)
def test_locks(client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str) -> None:
    host = Host(client)
    lock, theirs = (LOCKS[kind](each, lock_name) for each in (client, other))
    assert started_query(host, lock._handle) == blocking_query(lock._handle)
    for _ in range(1 if kind in ("plain", "multi") else 2):
        theirs.acquire(lease=60)
    answer = started_query(host, lock._handle)
    assert answer == blocking_query(lock._handle) and answer[0] == 1
    assert outcome(host, FORCE, lock._handle) == (0, 1, "")
    assert not lock.state().locked
    assert outcome(host, FORCE, lock._handle) == (0, 0, "")
    with pytest.raises(redlatch.LockLostError):
        theirs.release()


@pytest.mark.parametrize("kind", [kind for kind in LOCKS if kind != "multi"])
def test_locks_of_a_wrong_type(client: redlatch.Client, server: RedisServer, lock_name: str, kind: str) -> None:
    host, lock = Host(client), LOCKS[kind](client, lock_name)
    server.admin.rpush(lock_name, "x")
    record = new_record("redlatch_lock_state")
    assert lib.redlatch_lock_query(lock._handle, record) == lib.REDLATCH_WRONG_TYPE
    words = text(lib.redlatch_last_error())
    assert lib.redlatch_lock_start_query(lock._handle, 5) == 0
    event = host.event()
    assert event.state == ffi.NULL
    assert (event.status, text(event.message)) == (lib.REDLATCH_WRONG_TYPE, words)
    blocking = FORCE.block(lock._handle)
    assert outcome(host, FORCE, lock._handle) == blocking and blocking[0] == lib.REDLATCH_WRONG_TYPE
    assert server.admin.lrange(lock_name, 0, -1) == [b"x"]


@pytest.mark.parametrize("majority", [False, True])
def test_locks_over_several_servers(server_binary: List[str], lock_name: str, majority: bool) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(RedisServer()) for _ in range(3)]
        ours, theirs = (
            [stack.enter_context(redlatch.connect(each.url, command_timeout=1)) for each in servers] for _ in range(2)
        )

        def over(clients: List[redlatch.Client]) -> Any:
            members = [each.lock(lock_name) for each in clients]
            return redlatch.redlock(*members) if majority else redlatch.multi_lock(*members)

        lock, held, host = over(ours), over(theirs), Host(ours[0])
        assert started_query(host, lock._handle) == blocking_query(lock._handle)
        held.acquire(lease=60)
        answer = started_query(host, lock._handle)
        assert answer[:3] == blocking_query(lock._handle)[:3] == (1, 6, 1)
        servers[2].sigstop()
        record = new_record("redlatch_lock_state")
        try:
            assert lib.redlatch_lock_start_query(lock._handle, 6) == 0
            blocking = lib.redlatch_lock_query(lock._handle, record)
            words = text(lib.redlatch_last_error()) if blocking else ""
            event = host.event()
            assert (event.status, text(event.message)) == (blocking, words)
            assert event.status == (0 if majority else lib.REDLATCH_NO_REPLY)
        finally:
            servers[2].sigcont()
        assert outcome(host, FORCE, lock._handle) == (0, 1, "")
        assert not lock.state().locked
        assert outcome(host, FORCE, lock._handle) == (0, 0, "")
        assert lib.redlatch_lock_start_query(lock._handle, 8) == 0  # its client's close ends it


# ------------------------------------------------------------------------------------------------------- reports --


def test_inspect(client: redlatch.Client, other: redlatch.Client, lock_name: str) -> None:
    host, name = Host(client), lock_name.encode()

    def started(owner: Any = ffi.NULL) -> reports.Report:
        assert lib.redlatch_client_start_inspect(client._handle, name, len(name), owner, 3) == 0
        event = host.event()
        assert (event.kind, event.status, event.tag, event.number) == (lib.REDLATCH_EVENT_ANSWERED, 0, 3, 0)
        assert ffi.string(event.name) == name and not host.is_readable()
        return reports.read_report(reports.own_report(event.report))

    assert started() == client.inspect(lock_name)
    with other.lock(lock_name) as held:
        notified, blocking = started(), client.inspect(lock_name)
        assert notified.parties == blocking.parties and notified.detected_kind == "mutex"
        assert notified.parties[0].host and notified.parties[0].pid, "found among the connections: the second question"
        assert held.owner and started(held.owner.encode()).parties == notified.parties


def walk_of(client: redlatch.Client, pattern: bytes) -> Any:
    """Returns a scan."""
    out = ffi.new("redlatch_scan **")
    assert lib.redlatch_scan_new(client._handle, pattern, len(pattern), out) == 0
    return ffi.gc(out[0], lib.redlatch_scan_free)


def steps_of(client: redlatch.Client, walk: Any) -> Iterator[Tuple[int, Any]]:
    """Makes a scan to its end in started steps, each of which may take one round trip. Yields the status of each step,
    and its report or None."""
    host = Host(client)
    client.inspect("nothing")  # loads the script
    for tag in range(10_000):
        before = client.stats()["round_trips"]
        assert lib.redlatch_scan_start_next(walk, tag) == 0
        event = host.event()
        assert (event.kind, event.tag) == (lib.REDLATCH_EVENT_ANSWERED, tag)
        assert not host.is_readable() and client.stats()["round_trips"] - before <= 1
        if event.status == 0 and not event.report:
            return
        yield event.status, reports.read_report(reports.own_report(event.report)) if event.report else None


def test_a_walk_over_thousands_of_keys(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    """The started steps find what the blocking scan finds. Most steps find nothing and report AGAIN."""
    with server.admin.pipeline() as pipeline:
        for number in range(5000):
            pipeline.set(f"{lock_name}:value:{number}", "x")
            if number % 100 == 0:
                pipeline.hset(f"{lock_name}:{number}", f"{'0' * 8}-0000-4000-8000-{'0' * 12}:1", "1")
                pipeline.pexpire(f"{lock_name}:{number}", 60_000)
        pipeline.execute()
    steps = list(steps_of(client, walk_of(client, lock_name.encode() + b":*")))
    found = [report.name for _, report in steps if report]
    assert set(found) == {report.name for report in client.scan(lock_name + ":*")} and len(set(found)) == 50
    nothing = [status for status, report in steps if not report]
    assert len(nothing) > 5 and set(nothing) == {lib.REDLATCH_AGAIN}


def test_locks_that_their_page_left_out(client: redlatch.Client, lock_name: str) -> None:
    """Such locks are inspected one by one, each in its own step."""
    large = [client.group_lock(f"{lock_name}:{number}", [str(value) for value in range(60)]) for number in range(60)]
    for lock in large:
        lock.acquire(lease=60)  # a fixed lease: no renewals add round trips
    before = client.stats()["round_trips"]
    found = [report for _, report in steps_of(client, walk_of(client, b""))]
    assert client.stats()["round_trips"] - before > 20
    assert {report.name for report in found} == {f"{lock_name}:{number}" for number in range(60)}
    assert {report.detected_kind for report in found} == {"group"}
    for lock in large:
        lock.release()


def test_one_step_at_a_time(client: redlatch.Client, lock_name: str) -> None:
    host, walk, out = Host(client), walk_of(client, b"nothing:*"), ffi.new("redlatch_report **")
    assert lib.redlatch_scan_start_next(walk, 1) == 0
    for status in (lib.redlatch_scan_start_next(walk, 2), lib.redlatch_scan_next(walk, out)):
        assert status == lib.REDLATCH_IN_USE
    assert text(lib.redlatch_last_error()).startswith("scan has a step in progress")
    assert (host.event().status, out[0]) == (0, ffi.NULL)
    assert lib.redlatch_scan_start_next(walk, 3) == 0
    assert lib.redlatch_scan_start_next(walk, 4) == lib.REDLATCH_IN_USE, "the end is told of by an event, too"
    assert host.is_readable() and host.event().status == 0 and not host.is_readable()
    assert lib.redlatch_scan_next(walk, out) == 0 and out[0] == ffi.NULL
    walk = walk_of(client, b"nothing:*")
    assert lib.redlatch_scan_start_next(walk, 5) == 0
    del walk
    event = host.event()
    assert (event.tag, event.status) == (5, 0), "the walk may be freed before"


# ------------------------------------------------------------------------------------------------------ failures --


def start_all(client: redlatch.Client, name: str) -> List[int]:
    """Starts every call. Returns the expected kinds of the events, by tag."""
    data, kinds = name.encode(), []
    handles = {"semaphore": client.semaphore(name)._handle, "latch": client.latch(name)._handle,
               "permit_semaphore": client.permit_semaphore(name)._handle, "lock": client.lock(name)._handle}
    for form in [*SEMAPHORE, *LATCH, *PERMITS, *BY_ID, FORCE]:
        assert form.start(handles[form.noun], len(kinds), b"0" * 32) == 0
        kinds.append(form.kind)
    assert lib.redlatch_lock_start_query(handles["lock"], len(kinds)) == 0
    assert lib.redlatch_client_start_inspect(client._handle, data, len(data), b"x", len(kinds) + 1) == 0
    assert lib.redlatch_scan_start_next(walk_of(client, data), len(kinds) + 2) == 0
    return kinds + [lib.REDLATCH_EVENT_ANSWERED] * 3


def test_a_server_that_is_not_there(lock_name: str) -> None:
    with redlatch.connect(f"redis://127.0.0.1:{free_port()}", lazy=True, command_timeout=0.3) as client:
        host = Host(client)
        kinds = start_all(client, lock_name)
        events = {event.tag: (event.kind, event.status) for event in host.events(len(kinds))}
        assert events == {tag: (kind, lib.REDLATCH_UNREACHABLE) for tag, kind in enumerate(kinds)}


def test_a_server_that_does_not_answer(server: RedisServer, lock_name: str) -> None:
    """The calls end with the command timeout. Cancelling does not end them, because it is for waits."""
    with redlatch.connect(server.url, command_timeout=1) as client:
        host = Host(client)
        assert lib.redlatch_semaphore_start_available(client.semaphore(lock_name)._handle, 99) == 0
        assert host.event().status == 0  # the connection has been made
        server.sigstop()
        try:
            began = time.monotonic()
            kinds = start_all(client, lock_name)
            for tag in range(len(kinds)):
                assert lib.redlatch_client_cancel(client._handle, tag) == 0
            events = {event.tag: (event.kind, event.status) for event in host.events(len(kinds))}
            took = time.monotonic() - began
        finally:
            server.sigcont()
        assert events == {tag: (kind, lib.REDLATCH_NO_REPLY) for tag, kind in enumerate(kinds)}
        assert took > 0.95 and client.semaphore(lock_name).delete() in (True, False)


def test_closing_with_calls_under_way(server: RedisServer, lock_name: str) -> None:
    """The client can be closed whether its calls were answered or not."""
    for stopped in (False, True):
        client = redlatch.connect(server.url, tuning=redlatch.Tuning(close_timeout=0.1))
        Host(client)
        start_all(client, lock_name)
        if stopped:
            server.sigstop()
            start_all(client, lock_name)
        try:
            client.close()
        finally:
            server.sigcont()
        out = ffi.new("int *")
        assert lib.redlatch_client_event_fd(client._handle, out) == lib.REDLATCH_CLOSED


def test_bad_arguments_are_refused_in_the_same_words(client: redlatch.Client, lock_name: str) -> None:
    semaphore, latch = client.semaphore(lock_name)._handle, client.latch(lock_name)._handle
    slots = client.permit_semaphore(lock_name)._handle
    many = lib.REDLATCH_PERMITS_MAX + 1
    wrong = [
        (semaphore, Form("semaphore", "release_if_exists", (-1,), FLAG)),
        (semaphore, Form("semaphore", "try_set_permits", (-1, FOREVER), FLAG)),
        (semaphore, Form("semaphore", "try_set_permits", (1, 0), FLAG)),
        (semaphore, Form("semaphore", "add_permits", (many,))),
        (latch, Form("latch", "try_set_count", (0,), FLAG)),
        (slots, Form("permit_semaphore", "try_set_permits", (-1,), FLAG)),
        (slots, Form("permit_semaphore", "set_permits", (many,))),
        (slots, Form("permit_semaphore", "add_permits", (-many,))),
        (slots, Form("permit_semaphore", "release", (b"12",), started="release_by_id")),
        (slots, Form("permit_semaphore", "release", (ffi.NULL,), started="release_by_id")),
        (slots, Form("permit_semaphore", "lease_of", (b"x" * 32,), NUMBER)),
        (slots, Form("permit_semaphore", "update_lease", (b"0" * 32, 0))),
        *((ffi.NULL, form) for form in [*SEMAPHORE, *PERMITS, *LATCH, FORCE]),
    ]
    for handle, form in wrong:
        status, words = form.block(handle)[0], text(lib.redlatch_last_error())
        assert status == (lib.REDLATCH_INVALID if handle else lib.REDLATCH_BAD_HANDLE), form
        assert form.start(handle, 1) == status
        notified = text(lib.redlatch_last_error())
        assert notified == words or notified == words.replace("expected 0", "expected 1"), form
    assert lib.redlatch_client_start_inspect(client._handle, b"", 0, ffi.NULL, 1) == lib.REDLATCH_INVALID
    assert lib.redlatch_semaphore_start_release_if_exists(semaphore, 0, 1) == lib.REDLATCH_INVALID
    assert Host(client).quiet(), "what was refused has no event"


def test_an_event_of_an_older_size(client: redlatch.Client, lock_name: str) -> None:
    """A host whose event struct has no room for a report gets none. scenes_answers.c, which runs with a leak checker,
    tests that the report is freed."""
    name, record = lock_name.encode(), new_record("redlatch_event")
    record.struct_size = ffi.offsetof("redlatch_event", "number")
    assert lib.redlatch_client_start_inspect(client._handle, name, len(name), ffi.NULL, 3) == 0
    wait_until(lambda: lib.redlatch_client_next_event(client._handle, record) == 0)
    assert (record.tag, record.status, record.report) == (3, 0, ffi.NULL)
