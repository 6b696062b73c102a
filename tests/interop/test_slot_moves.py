# SPDX-License-Identifier: Apache-2.0
"""Slots migrate to another node of a cluster and back while one side holds and the other waits. The hold is respected
and renewed on each node. The waiter gets the lock after the release, even after a release in the middle of a migration.

The node that a slot leaves ends the subscriptions of the slot. Redisson does not subscribe again: its waiter is not
woken, and rechecks when the lease that it read has ended.
Played on the topologies that are clusters.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Iterator

import pytest
import redlatch
from parties import WOKEN
from support import topologies
from support.cluster import Cluster, call
from support.redisson import Redisson, RedissonClient
from test_failover import DOWN_AFTER_MS, KIND_NAMES, LEASE, Clients, Scene, wait_listening, wait_renewed

# When a Redisson waiter that was not woken rechecks, on a busy machine.
THEY_RECHECK = LEASE + 10.0

pytestmark = pytest.mark.timeout(300)
who_holds = pytest.mark.parametrize("ours_holds", [True, False], ids=["ours-holds", "theirs-holds"])


@pytest.fixture(name="cluster")
def cluster_fixture(tmp_path: Path) -> Iterator[Cluster]:
    """The nodes for one test. The first node has the slots of all names."""
    with topologies.make(topologies.NAME, tmp_path, DOWN_AFTER_MS) as topology:
        assert isinstance(topology, topologies.Clustered)
        yield topology.cluster


@pytest.fixture(name="clients")
def clients_fixture(cluster: Cluster, java: Redisson) -> Iterator[Clients]:
    """Both sides' clients."""
    url = cluster.servers[0].url
    with redlatch.connect(url, watchdog_lease=LEASE) as ours, ExitStack() as stack:
        theirs: RedissonClient = java.connect(url, lockWatchdogTimeout=round(LEASE * 1000))
        with closing(theirs):
            yield Clients(stack, ours, theirs)


@who_holds
def test_slots_move_there_and_back(cluster: Cluster, clients: Clients, name: str, ours_holds: bool) -> None:
    """All kinds at once: refused and renewed on the other node, then on the first again. A release wakes our waiter,
    whose subscription follows the slot. Redisson's waiter has no subscription any more, and gets the lock when it
    rechecks."""
    scenes = [Scene(kind, name, clients, ours_holds) for kind in KIND_NAMES]
    keys = [key for scene in scenes for key in scene.keys]
    channels = [each for scene in scenes for each in scene.channels]
    home, elsewhere = cluster.servers[:2]
    wait_listening(home, channels)
    for target in (elsewhere, home):
        for key in keys:
            cluster.move_slot(key, target)
        assert [scene.name for scene in scenes if not scene.is_held(target)] == []
        wait_listening(target, [] if ours_holds else channels)
        wait_renewed(target, keys)
    for scene in scenes:
        released_at = time.monotonic()
        scene.holder.release()
        if not ours_holds:
            assert scene.attempt.result() is True and scene.attempt.ended_at - released_at < WOKEN
    for scene in scenes:
        assert scene.attempt.result(THEY_RECHECK) is True
        scene.hand_back(home)
    assert [each for each in keys if home.admin.exists(each)] == []


def move_keys(cluster: Cluster, name: str) -> None:
    """Moves the keys of a migrating slot to the target node. The slot stays until the migration ends."""
    source, target = cluster.servers[:2]
    while keys := call(source, "CLUSTER", "GETKEYSINSLOT", cluster.slot_of(name), 100):
        call(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)


@who_holds
@pytest.mark.parametrize("kind", ["mutex", "fenced", "fair", "write", "group"])
def test_a_release_in_the_middle_of_a_migration(
    cluster: Cluster, clients: Clients, name: str, kind: str, ours_holds: bool
) -> None:
    """The key is at the new node, and the slot is not. A release finds the key there, or waits for the slot. When the
    slot has arrived, our waiter gets the lock soon; Redisson's gets it when it rechecks."""
    scene = Scene(kind, name, clients, ours_holds)
    home, elsewhere = cluster.servers[:2]
    wait_listening(home, scene.channels)
    cluster.begin_move(scene.name, elsewhere)
    move_keys(cluster, scene.name)
    with ThreadPoolExecutor(1) as pool:
        release = pool.submit(scene.holder.release)
        wait([release], 1.0)
        move_keys(cluster, scene.name)
        cluster.end_move(scene.name, elsewhere)
        arrived_at = time.monotonic()
        release.result(THEY_RECHECK)
    assert scene.attempt.result(THEY_RECHECK) is True
    assert ours_holds or scene.attempt.ended_at - arrived_at < WOKEN + 5.0
    assert elsewhere.admin.exists(scene.name)
    scene.waiter.release()
    assert scene.rival.acquire(wait=0)
    scene.rival.release()
