# SPDX-License-Identifier: Apache-2.0
"""Read-write locks and the command: `run -s`, `--kind read` and `write`, and what `show`, `list` and `unlock` say."""

from __future__ import annotations

import json
from typing import Iterator, List

import pytest
import redlatch as library
from support import RedisServer
from support.read_write import peer_reads, peer_writes, sides, wire
from support.shell import redlatch

NOT_OBTAINED = 1


@pytest.fixture
def client(server: RedisServer) -> Iterator[library.Client]:
    """A client of another process than the command's."""
    with library.connect(server.url) as opened:
        yield opened


@pytest.mark.parametrize("option", [["-s"], ["--shared"], ["--kind", "read"]])
def test_readers_run_beside_each_other(
    server: RedisServer, client: library.Client, lock_name: str, option: List[str]
) -> None:
    read, write = sides(client, lock_name)
    with read:
        done = redlatch(server, "run", "-n", *option, lock_name, "--", "sh", "-c", "echo $REDLATCH_OWNER")
        assert done.returncode == 0 and len(done.stdout.split(":")) == 2
        assert redlatch(server, "run", "-n", "--kind", "write", lock_name, "--", "true").returncode == NOT_OBTAINED
    with write:
        assert redlatch(server, "run", "-n", *option, lock_name, "--", "true").returncode == NOT_OBTAINED
    assert redlatch(server, "run", "-n", "--kind", "write", lock_name, "--", "true").returncode == 0
    assert server.admin.keys() == []


def test_who_reads_and_who_writes_is_shown(server: RedisServer, client: library.Client, lock_name: str) -> None:
    read, write = sides(client, lock_name)
    with write, read:
        found = json.loads(redlatch(server, "show", "--json", lock_name).stdout)
        assert found["kind"] == "read_write" and found["holder_count"] == 2
        assert sorted(holder["role"] for holder in found["holders"]) == ["reader", "writer"]
        listed = json.loads(redlatch(server, "list", "--json").stdout)
        assert [each["name"] for each in listed] == [lock_name]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_unlock_frees_either_mode(server: RedisServer, lock_name: str, mode: str) -> None:
    reads = mode == "read"
    owner = peer_reads(server, lock_name, 7, 30_000, 30_000) if reads else peer_writes(server, lock_name, 30_000)
    refused = redlatch(server, "unlock", lock_name)
    assert refused.returncode == 64 and owner in refused.stderr and wire(server, lock_name)
    done = redlatch(server, "unlock", "--force", lock_name)
    assert done.returncode == 0 and owner in done.stdout and wire(server, lock_name) == {}


def test_wait_returns_when_it_is_free(server: RedisServer, lock_name: str) -> None:
    peer_reads(server, lock_name, 7, 30_000, 30_000)
    assert redlatch(server, "wait", "-w", "0", lock_name).returncode == NOT_OBTAINED
    peer_reads(server, lock_name, 7, 300, 300)
    assert redlatch(server, "wait", "-w", "10", lock_name).returncode == 0
