# SPDX-License-Identifier: Apache-2.0
"""Users with just the rights that docs/how-to/access-rules.md says a kind needs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from access_rules import (
    APART,
    RECHECKS,
    ROWS,
    RULES,
    SCRIPTS,
    denials,
    everybody_in_cluster,
    open_frugal,
    permit,
    table,
)
from foreign_keys import KINDS
from steps import Call
from support import RedisServer, wait_until
from support import cluster as clusters
from support.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]


def play_free(kind: str, make: Callable[[], Any]) -> None:
    """Makes every call that needs no hold, in the order of the table."""
    thing = make()
    for setting in ("try_set_permits", "try_set_count"):
        if hasattr(thing, setting):
            getattr(thing, setting)(5 if setting == "try_set_permits" else 1)
    for call, do in KINDS[kind].free.items():
        if call != "wait":
            with suppress(redlatch.AlreadyHeldError):
                do(thing)
    for _ in range(2 if "force_release" in KINDS[kind].free else 0):
        with suppress(redlatch.LockLostError, redlatch.NotOwnedError):
            thing.release()  # a thread that lost a hold gets an error for each of its acquires first


def play_held(kind: str, make: Callable[[], Any], client: redlatch.Client) -> None:
    """Makes every call of a holder, after a renewal."""
    thing = make()
    held = KINDS[kind].prepare(thing)
    if KINDS[kind].held:
        renewals = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > renewals)
    for call, do in KINDS[kind].held.items():
        if call != "release":
            do(held)
    for _ in range(thing.hold_count() if hasattr(thing, "hold_count") else 1):
        KINDS[kind].held.get("release", lambda _: None)(held)


def play_waiting(kind: str, make: Callable[[redlatch.Client], Any], holder: redlatch.Client, waiter: redlatch.Client,
                 name: str) -> None:  # fmt: skip
    """The waiter waits for the holder, which then releases."""
    if kind == "latch":
        make(holder).try_set_count(1)
    elif kind in ("semaphore", "permits"):
        make(holder).try_set_permits(0)
    else:
        taken = holder.read_write_lock(name).write if kind in ("read", "multi-read") else make(holder)
        taken.acquire()

    def wait() -> None:
        thing = make(waiter)
        got = KINDS[kind].wait(thing)
        if kind not in ("latch", "semaphore"):
            (got if kind == "permits" else thing).release()

    waiting = Call(wait)
    wait_until(lambda: waiter.stats()["waiters"] == 1)
    if kind == "latch":
        make(holder).count_down()
    elif kind in ("semaphore", "permits"):
        make(holder).add_permits(1)
    else:
        taken.release()
    waiting.result()


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_the_readme_says_is_enough(server: RedisServer, lock_name: str, kind: str) -> None:
    """The server denies nothing, not even a command whose failure would go unnoticed."""
    permit(server, lock_name, ROWS[kind])

    def make(of: redlatch.Client) -> Any:
        return KINDS[kind].make(of, lock_name)

    with open_frugal(server, watchdog_lease=1.2) as client, redlatch.connect(server.url) as other:
        play_free(kind, lambda: make(client))
        server.admin.flushdb()
        play_held(kind, lambda: make(client), client)
        server.admin.flushdb()
        for holder in (client, other):
            play_waiting(kind, make, holder, client, lock_name)
            server.admin.flushdb()
        assert denials(server) == []


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """Three masters. Their clients have the URL of the cluster."""
    with Cluster() as cluster:
        cluster.reach_by_its_url()
        yield cluster


def permit_on_all(cluster: Cluster, name: str, rows: List[str]) -> None:
    """Sets the rights on each node, since a cluster does not replicate access rules."""
    for server in cluster.servers:
        permit(server, name, rows, everybody=everybody_in_cluster(server))


@pytest.mark.parametrize("kind", list(KINDS))
def test_it_is_enough_in_a_cluster(cluster: Cluster, lock_name: str, kind: str) -> None:
    """The rights include the rows for clusters. The members of a multi lock are on several nodes."""
    permit_on_all(cluster, lock_name, [*ROWS[kind], *([APART] if kind.startswith("multi") else [])])
    server = cluster.servers[0]

    def make(of: redlatch.Client) -> Any:
        return KINDS[kind].make(of, lock_name)

    def flush() -> None:
        for each in cluster.servers:
            each.admin.flushdb()

    with open_frugal(server, watchdog_lease=1.2) as client, redlatch.connect(server.url) as other:
        play_free(kind, lambda: make(client))
        flush()
        play_held(kind, lambda: make(client), client)
        flush()
        for holder in (client, other):
            play_waiting(kind, make, holder, client, lock_name)
            flush()
        assert [denied for each in cluster.servers for denied in denials(each)] == []


def test_it_is_enough_while_a_slot_moves(cluster: Cluster, lock_name: str) -> None:
    """The lock is created on the node to which the slot migrates, after ASKING."""
    permit_on_all(cluster, lock_name, ROWS["mutex"])
    target = cluster.others(cluster.master_of(lock_name))[0]
    with open_frugal(cluster.servers[0]) as client:
        cluster.begin_move(lock_name, target)
        with client.lock(lock_name, timeout=5):
            assert clusters.call(target, "CLUSTER", "COUNTKEYSINSLOT", cluster.slot_of(lock_name)) == 1
        cluster.end_move(lock_name, target)
        with client.lock(lock_name, timeout=5):
            assert target.admin.exists(lock_name)
    assert [denied for each in cluster.servers for denied in denials(each)] == []


@pytest.mark.parametrize("kind", list(KINDS))
def test_read_permission_is_enough_to_inspect(server: RedisServer, lock_name: str, kind: str) -> None:
    permit(server, lock_name, [RECHECKS])
    with open_frugal(server) as client, redlatch.connect(server.url) as other:
        KINDS[kind].prepare(KINDS[kind].make(other, lock_name))
        client.inspect(lock_name)
        client.wait_free(lock_name, 0)
        assert denials(server) == []


def test_the_page_shows_the_rules() -> None:
    page = (ROOT / "docs" / "how-to" / "access-rules.md").read_text(encoding="utf-8")
    assert table() in page, f"docs/how-to/access-rules.md lacks this table:\n{table()}"
    named = {name for rules in RULES.values() for name in rules.scripts.split()}
    assert named == {path.stem for path in SCRIPTS.glob("*.lua")}
