# SPDX-License-Identifier: Apache-2.0
"""`redlatch doctor` of a cluster: it examines each master, by a lock in one of its own slots, and the slots."""

from __future__ import annotations

import re
from typing import Iterator, Set

import pytest
from findings import PROBLEM, WARNING, Findings, examine, message, wrong
from support import RedisServer, wait_until
from support.cluster import SLOTS, Cluster, call, whole_cluster
from support.shell import redlatch


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """Three masters with a replica each, without findings."""
    with Cluster(replicas=1, appendonly=True, cluster_require_full_coverage="no") as cluster:
        yield cluster


def acknowledged(cluster: Cluster) -> str:
    """Returns the cluster's URL, by which a replica has each grant."""
    return f"{cluster.url}?min_replicas=1"


def nodes_of(findings: Findings, subject: str, level: str) -> Set[str]:
    """Returns the nodes with findings of this subject and level."""
    return {node for finding in findings[subject] if finding["level"] == level for node in finding["nodes"]}


def address(server: RedisServer) -> str:
    """Returns a server's address as findings show it."""
    return f"127.0.0.1:{server.port}"


def test_a_sound_cluster(cluster: Cluster) -> None:
    """Each check covers each master. What is the same on all masters is printed once."""
    old = cluster.servers[0].version < (7, 0, 0)
    status, findings = examine(None, "--url", acknowledged(cluster))
    assert (status, wrong(findings)) == (WARNING if old else 0, set())
    masters = {address(master) for master in cluster.masters}
    for subject in ("eviction", "persistence", "replication", "slots", "coverage", "clock", "rights", "lock"):
        assert nodes_of(findings, subject, "ok") == masters, subject
    assert len(findings["slots"]) == 1 and findings["slots"][0]["message"] == f"all {SLOTS} slots are served"
    shown = redlatch(None, "doctor", "--url", acknowledged(cluster)).stdout
    assert "slots        all 16384 slots are served" in shown
    locks = "".join(line for line in shown.splitlines() if ": acquired, extended and released a lock in" in line)
    assert set(re.findall(r"127\.0\.0\.1:\d+", locks)) == masters  # masters that took equally long share a line
    assert sum(master.admin.dbsize() for master in cluster.masters) == 0


def test_the_url_of_one_node(cluster: Cluster) -> None:
    node = cluster.servers[0]
    status, findings = examine(None, "--url", f"redis://{address(node)}")
    assert status == PROBLEM and ("cluster", "problem") in wrong(findings)
    words = message(findings, "cluster", "problem")
    assert f"expected redis+cluster://{address(node)}" in words and "names in its own slots" in words


def test_a_cluster_of_one_node() -> None:
    with whole_cluster() as server:
        status, findings = examine(None, "--url", f"redis://{address(server)}")
        assert status == PROBLEM and ("cluster", "problem") in wrong(findings)
        status, findings = examine(server)
        assert status == WARNING and "no replica" in message(findings, "replication", "warning")
        assert message(findings, "coverage", "note").startswith("while one slot is not served")


def test_a_fault_of_one_master(cluster: Cluster) -> None:
    """The finding names the node."""
    odd = cluster.masters[1]
    odd.admin.config_set("maxmemory-policy", "allkeys-lru")
    odd.admin.config_set("maxmemory", "100mb")
    status, findings = examine(None, "--url", acknowledged(cluster))
    shown = redlatch(None, "doctor", "-q", "--url", acknowledged(cluster)).stdout
    odd.admin.config_set("maxmemory-policy", "noeviction")
    odd.admin.config_set("maxmemory", 0)
    assert status == PROBLEM and wrong(findings) == {("eviction", "problem")}
    assert nodes_of(findings, "eviction", "problem") == {address(odd)}
    assert f"{address(odd)}: maxmemory-policy is allkeys-lru" in shown


def test_rights_that_one_master_does_not_give(cluster: Cluster) -> None:
    """A cluster does not replicate access rules. Messages within a shard have commands of their own."""
    sharded = cluster.servers[0].version >= (7, 0, 0)
    subscribe = "ssubscribe" if sharded else "subscribe"
    odd = cluster.masters[2]
    for server in cluster.servers:
        channels = ["&*"] if server.version >= (6, 2, 0) else []
        lacks = [f"-{subscribe}", "-hdel"] if server is odd else []
        call(server, "ACL", "SETUSER", "worker", "reset", "on", ">secret", "~*", *channels, "+@all", *lacks)
    url = acknowledged(cluster).replace("://", "://worker:secret@")
    status, findings = examine(None, "--url", url)
    assert status == PROBLEM and nodes_of(findings, "rights", "problem") == {address(odd)}
    assert f"may not use {subscribe.upper()}" in message(findings, "rights", "warning")
    assert "may not use HDEL" in message(findings, "rights", "problem")
    assert nodes_of(findings, "rights", "ok") == {address(each) for each in cluster.others(odd)}
    assert nodes_of(findings, "lock", "problem") == {address(odd)}
    for master in cluster.masters:
        master.admin.flushall()  # the lock of the probe would end with its lease, too


def test_slots_that_nobody_serves() -> None:
    with Cluster(appendonly=True, cluster_require_full_coverage="no") as cluster:
        for server in cluster.servers:
            call(server, "CLUSTER", "DELSLOTS", 16383)
        status, findings = examine(None, "--url", cluster.url)
        assert status == PROBLEM and {("slots", "problem")} <= wrong(findings)
        assert f"nobody serves 1 of {SLOTS} slots" in message(findings, "slots", "problem")
        assert len(nodes_of(findings, "lock", "ok")) == 3, "the others go on"


def test_a_master_that_is_down() -> None:
    with Cluster(appendonly=True, cluster_require_full_coverage="no") as cluster:
        gone = cluster.servers[2]
        gone.kill()
        left = cluster.servers[0]
        wait_until(lambda: "cluster_slots_fail:0" not in call(left, "CLUSTER", "INFO"), 30.0, "the cluster to see it")
        status, findings = examine(None, "--url", f"{cluster.url}?command_timeout=0.3&connect_timeout=0.3")
        assert status == PROBLEM and ("slots", "problem") in wrong(findings)
        words = " ".join(finding["message"] for finding in findings["slots"])
        assert "slots fail: no lock in them is granted" in words
