# SPDX-License-Identifier: Apache-2.0
"""A child goes on with an inherited client that needs more than a connection to one address: it searches for the
masters of a cluster or of sentinels again, or does the TLS handshake again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import redlatch
from forks import Child, refused
from support.certificates import Authority
from support.cluster import Cluster
from support.sentinels import Watched
from support.tls_server import TlsServer


def go_on_in_a_child(client: redlatch.Client, names: List[str]) -> None:
    """Parent and child use the same locks and exclude each other. The parent keeps its connections."""
    locks = [client.lock(name, timeout=10) for name in names]
    free, taken = locks[:-1], locks[-1]
    with taken as held:
        for lock in free:
            with lock:
                pass
        uuid, connections = client.uuid, client.stats()["connections"]

        def live() -> str:
            for lock in free:
                with lock as mine:
                    assert mine.owner.startswith(client.uuid) and mine.remaining() > 0
            assert not taken.acquire(timeout=0)
            refused({"check": held.check, "release": taken.release})
            child_uuid = client.uuid
            client.close()
            return child_uuid

        children = [Child(live) for _ in range(2)]
        for lock in free:
            with lock as own:
                own.check()
        assert len({uuid, *(child.end() for child in children)}) == 3
        held.check()
        # The background thread may have opened another connection meanwhile.
        assert client.uuid == uuid and client.stats()["connections"] >= connections
    assert client.stats()["reconnects"] == client.stats()["lost"] == 0
    for lock in locks:
        assert not lock.state().locked


def test_of_a_cluster(lock_name: str) -> None:
    """The names are on all three masters."""
    with Cluster() as cluster, redlatch.connect(cluster.url) as client:
        go_on_in_a_child(client, [f"{lock_name}:{number}" for number in range(12)])


def test_of_sentinels(lock_name: str) -> None:
    with Watched() as watched, redlatch.connect(watched.url()) as client:
        go_on_in_a_child(client, [lock_name, f"{lock_name}:taken"])


def test_by_tls(server_binary: List[str], lock_name: str, tmp_path: Path) -> None:
    """The client has a certificate."""
    authority = Authority(tmp_path, "test CA")
    tls = TlsServer(authority.certificate("server"), authority.file)
    own = authority.certificate("worker", names="DNS:worker")
    options: Any = {"tls_ca_file": authority.file, "tls_cert_file": own.file, "tls_key_file": own.key}
    with tls.server, redlatch.connect(tls.url, **options) as client:
        go_on_in_a_child(client, [lock_name, f"{lock_name}:taken"])
