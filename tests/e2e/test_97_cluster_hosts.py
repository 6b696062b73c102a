# SPDX-License-Identifier: Apache-2.0
"""Clusters whose nodes do not say where they are: they announce a host name, which they lack, or no host at all."""

from __future__ import annotations

from typing import Iterator

import pytest
import redis
import redlatch
from support.cluster import Cluster, call

# Far from the command timeout, 5 s.
SOON = 2.0


@pytest.fixture(params=["hostname", "unknown-endpoint"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three masters that announce themselves in this way, which needs Redis 7."""
    with Cluster() as started:
        for server in started.servers:
            try:
                call(server, "CONFIG", "SET", "cluster-preferred-endpoint-type", request.param)
            except redis.ResponseError as error:
                pytest.skip(f"the server is older: {error}")
        yield started


def test_a_slot_that_moved_is_found(cluster: Cluster, lock_name: str) -> None:
    """MOVED names no host, or none that can be reached: the topology says where the slot is."""
    with redlatch.connect(cluster.url) as client:
        lock = client.lock(lock_name)
        for _ in range(3):
            lock.acquire(timeout=SOON)
            cluster.move_slot(lock_name, cluster.others(cluster.master_of(lock_name))[0])
            lock.release()
            assert not lock.state().locked


def test_names_of_all_nodes(cluster: Cluster, lock_name: str) -> None:
    with redlatch.connect(cluster.url) as client:
        for i in range(20):
            with client.lock(f"{lock_name}{i}"):
                assert client.lock(f"{lock_name}{i}").state().locked
