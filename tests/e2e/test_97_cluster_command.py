# SPDX-License-Identifier: Apache-2.0
"""The command on a cluster of three masters: every lock is seen, with its node, its holder's host and its waiters."""

from __future__ import annotations

import os
import re
import subprocess
import uuid
from pathlib import Path
from typing import Dict, Iterator, List

import pytest
from support import RedisServer, wait_until
from support.cluster import Cluster, call
from support.shell import TIMEOUT, program, redlatch, shown, start, start_holder
from terminal import Terminal


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """Three masters. The command reaches each of them by the URL of the cluster."""
    with Cluster() as cluster:
        cluster.reach_by_its_url()
        yield cluster


@pytest.fixture(name="names")
def names_fixture(cluster: Cluster) -> Iterator[Dict[str, RedisServer]]:
    """A name on each master."""
    found: Dict[int, str] = {}
    for number in range(1000):
        name = f"deploy:{number}"
        found.setdefault(cluster.master_of(name).port, name)
        if len(found) == 3:
            break
    yield {name: server for server in cluster.servers for name in [found[server.port]]}
    for server in cluster.servers:
        server.admin.flushall()


def address(server: RedisServer) -> str:
    """Returns a server's address as the command shows it."""
    return f"127.0.0.1:{server.port}"


@pytest.fixture(name="holders")
def holders_fixture(names: Dict[str, RedisServer], tmp_path: Path) -> Iterator[Dict[str, subprocess.Popen[str]]]:
    """A process for each name, which holds it until its end."""
    started = {}
    for name, server in names.items():
        folder = tmp_path / name
        folder.mkdir()
        started[name] = start_holder(server, name, folder)
    yield started
    for holder in started.values():
        holder.terminate()
        holder.communicate(timeout=20)


def place(holder: subprocess.Popen[str]) -> str:
    """Returns the host and the process of a holder as the command shows them."""
    return f"{os.uname().nodename}:{holder.pid}"


def test_list_shows_nodes_and_hosts(
    cluster: Cluster, names: Dict[str, RedisServer], holders: Dict[str, subprocess.Popen[str]]
) -> None:
    """A holder need not be connected to the first node. Then the CLIENT LIST of that node lacks it."""
    server = cluster.servers[0]
    away = [name for name in names if f":{holders[name].pid}:" not in call(server, "CLIENT", "LIST")]
    assert away, "a client has connections to the nodes that it uses"
    rows = {row.split()[0]: row.split() for row in redlatch(server, "list", "--wide").stdout.splitlines()}
    assert rows.pop("NAME")[-1] == "NODE" and list(rows) == sorted(names)
    for name, master in names.items():
        assert rows[name][-1] == address(master) and rows[name][3] == place(holders[name])
    narrow = redlatch(server, "list").stdout
    assert "NODE" not in narrow and address(server) not in narrow
    listed = shown(server, "list")
    assert {one["name"]: one["node"] for one in listed} == {name: address(master) for name, master in names.items()}


def test_show_tells_the_node(names: Dict[str, RedisServer], holders: Dict[str, subprocess.Popen[str]]) -> None:
    for name, master in names.items():
        found = shown(master, "show", name)
        assert found["node"] == address(master)
        assert f"{found['holders'][0]['host']}:{found['holders'][0]['pid']}" == place(holders[name])
        assert f"node     {address(master)}" in redlatch(master, "show", name).stdout


def test_top_sees_all_nodes(
    cluster: Cluster, names: Dict[str, RedisServer], holders: Dict[str, subprocess.Popen[str]]
) -> None:
    """It shows the holder of each lock and the number of waiters."""
    server = cluster.servers[0]
    waiters = [start(server, "run", name, "--", "true") for name in names]
    terminal = Terminal(server)
    terminal.resize(140, 30)

    def rows() -> Dict[str, List[str]]:
        lines = [re.split(r"  +", line.strip()) for line in terminal.screen().splitlines()]
        return {cells[0]: cells for cells in lines if cells[0] in names and len(cells) == 8}

    try:
        terminal.enter(f"{program()} top -d 200ms; echo status $?")
        wait_until(lambda: len(rows()) == 3 and all(cells[6] == "1" for cells in rows().values()), TIMEOUT,
                   terminal.screen)
        assert {name: cells[3] for name, cells in rows().items()} == {
            name: place(holder) for name, holder in holders.items()}
        wait_until(lambda: "3 locks, 3 held; the nodes carry out" in terminal.screen(), TIMEOUT, terminal.screen)
        for name, holder in holders.items():
            holder.terminate()  # its waiter takes over, and ends
            wait_until(lambda name=name: name not in rows(), TIMEOUT, terminal.screen)  # type: ignore[misc]
        terminal.keys("q")
        terminal.shows("status 0")
    finally:
        terminal.close()
        for waiter in waiters:
            waiter.kill()
            waiter.communicate(timeout=20)


def test_top_forgets_locks_while_a_node_is_down() -> None:
    """No walk over the keys is complete then. A lock that is gone leaves the screen all the same."""
    with Cluster(cluster_require_full_coverage=False) as cluster:
        cluster.reach_by_its_url()
        server = cluster.servers[0]
        name = next(f"gone:{number}" for number in range(1000) if cluster.master_of(f"gone:{number}") is server)
        terminal = Terminal(server)
        terminal.resize(140, 30)
        try:
            server.admin.hset(name, f"{uuid.uuid4()}:1", 1)
            terminal.enter(f"{program()} top -d 100ms; echo status $?")
            wait_until(lambda: name in terminal.screen(), TIMEOUT, terminal.screen)
            cluster.servers[1].kill()
            server.admin.delete(name)
            wait_until(lambda: name not in terminal.screen(), 2 * TIMEOUT, terminal.screen)
            terminal.keys("q")
            terminal.shows("status 0")
        finally:
            terminal.close()
