# SPDX-License-Identifier: Apache-2.0
"""A host name leads to another address after a while: the client moves there with its holds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator, Tuple

import pytest
from support import RedisServer, closed_port, wait_until

MakeServer = Callable[..., RedisServer]
NAME = "locks.test"


@pytest.fixture(scope="module")
def names_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preloaded library that answers lookups from a file."""
    library = tmp_path_factory.mktemp("names") / "names.so"
    source = Path(__file__).with_name("preloaded_names.c")
    subprocess.run(["cc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(name="servers")
def servers_fixture(make_server: MakeServer) -> Tuple[RedisServer, RedisServer]:
    """A master and its replica, on the same port of two addresses."""
    with closed_port() as port:
        pass
    master = make_server(bind="127.0.0.1", port=port, repl_diskless_sync_delay=0)
    replica = make_server(
        bind="127.0.0.2", port=port, replicaof=["127.0.0.1", str(port)], repl_diskless_sync_delay=0
    )
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up", 20.0)
    return master, replica


class Holder:
    """A program that reaches a server by its name, holds a lock, and prints its state."""

    PROGRAM = """
import sys, redlatch
tuning = redlatch.Tuning(dns_interval=float(sys.argv[3]))
with redlatch.connect(sys.argv[1], watchdog_lease=60, tuning=tuning) as client:
    with client.lock(sys.argv[2], timeout=10) as held:
        print("held", flush=True)
        for line in sys.stdin:
            if line == "state\\n":
                print("lost" if held.lost else "held", flush=True)
"""

    TURNS = """
import sys, time, redlatch
tuning = redlatch.Tuning(dns_interval=float(sys.argv[3]))
with redlatch.connect(sys.argv[1], watchdog_lease=60, tuning=tuning) as client:
    lock = client.lock(sys.argv[2], timeout=10)
    print("held", flush=True)
    while True:
        try:
            with lock:
                time.sleep(0.01)
        except (redlatch.LockLostError, redlatch.NotOwnedError):
            continue
        except redlatch.RedlatchError as error:
            print(type(error).__name__, error, flush=True)
            break
"""

    def __init__(
        self, library: Path, names: Path, port: int, lock: str, dns_interval: float, program: str = PROGRAM,
        scheme: str = "redis", query: str = "",
    ) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(library), "NAMES_FILE": str(names), "NAMES_LOG": f"{names}.log"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        url = f"{scheme}://{NAME}:{port}{query}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, url, lock, str(dns_interval)],
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.expect("held")

    def expect(self, line: str) -> None:
        """Reads the next line of the program, which must be this one."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == line + "\n"

    def state(self) -> str:
        """Returns "held" or "lost", as the program knows it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("state\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        """Ends the program and returns its exit status."""
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.fixture(name="names")
def names_fixture(tmp_path: Path) -> Iterator[Path]:
    """The file of names, which leads to the first server."""
    names = tmp_path / "names"
    names.write_text(f"{NAME} 127.0.0.1\n")
    yield names


def connections(server: RedisServer) -> int:
    """Returns how many connections of redlatch clients the server has."""
    return len(server.client_list("redlatch:"))


def port_of(server: RedisServer) -> int:
    """Returns the port of the server's configuration."""
    return int(server.admin.config_get("port")["port"])


def lookups(names: Path) -> int:
    """Returns how often the name was looked up so far."""
    return names.with_name("names.log").stat().st_size


def turn(names: Path, address: str) -> None:
    """Makes the name lead to another address, in one step."""
    other = names.with_suffix(".new")
    other.write_text(f"{NAME} {address}\n")
    other.replace(names)


@pytest.mark.parametrize("scheme", ["redis", "redis+replicas"])
def test_the_name_leads_elsewhere_while_the_old_server_goes_on(
    servers: Tuple[RedisServer, RedisServer], names_library: Path, names: Path, lock_name: str, scheme: str
) -> None:
    """A managed server fails over in this way: the old master goes on and answers, and only the name changes."""
    master, replica = servers
    holder = Holder(names_library, names, port_of(master), lock_name, dns_interval=0.2, scheme=scheme)
    wait_until(lambda: bool(replica.admin.exists(lock_name)))
    replica.admin.replicaof("NO", "ONE")
    turn(names, "127.0.0.2")
    wait_until(lambda: connections(master) == 0 and connections(replica) > 0, 10.0)
    assert holder.state() == "held"
    assert replica.admin.pttl(lock_name) > 0
    assert holder.end() == 0
    assert not replica.admin.exists(lock_name), "it was released where the name led"


def test_a_hold_that_is_not_there_is_lost_at_once(
    servers: Tuple[RedisServer, RedisServer], names_library: Path, names: Path, lock_name: str
) -> None:
    """Its lease would last for a minute longer."""
    master, replica = servers
    replica.admin.replicaof("NO", "ONE")
    holder = Holder(names_library, names, port_of(master), lock_name, dns_interval=0.2)
    turn(names, "127.0.0.2")
    wait_until(lambda: holder.state() == "lost", 10.0)
    assert connections(master) == 0
    holder.process.kill()
    holder.end()


def test_a_reconnect_makes_it_resolve_the_name(
    servers: Tuple[RedisServer, RedisServer], names_library: Path, names: Path, lock_name: str
) -> None:
    """The old server is still there, and the next periodic lookup is an hour away."""
    master, replica = servers
    holder = Holder(names_library, names, port_of(master), lock_name, dns_interval=3600)
    wait_until(lambda: bool(replica.admin.exists(lock_name)))
    replica.admin.replicaof("NO", "ONE")
    turn(names, "127.0.0.2")
    assert connections(replica) == 0
    master.admin.client_kill_filter(_type="normal", skipme=True)
    wait_until(lambda: connections(master) == 0 and connections(replica) > 0, 10.0)
    assert holder.state() == "held"
    assert holder.end() == 0


@pytest.mark.parametrize("content", ["", f"{NAME} 127.0.0.1\n"])
def test_what_says_nothing_new_changes_nothing(
    servers: Tuple[RedisServer, RedisServer], names_library: Path, names: Path, lock_name: str, content: str
) -> None:
    """The lookup fails, or finds the same address as before."""
    master, _ = servers
    holder = Holder(names_library, names, port_of(master), lock_name, dns_interval=0.1)
    before = {entry["id"] for entry in master.client_list("redlatch:")}
    names.write_text(content)
    enough = lookups(names) + 10
    wait_until(lambda: lookups(names) >= enough, 20.0)
    assert holder.state() == "held"
    assert {entry["id"] for entry in master.client_list("redlatch:")} == before
    assert holder.end() == 0


@pytest.mark.parametrize("scheme", ["redis", "redis+replicas"])
def test_the_first_address_is_silent(
    make_server: MakeServer, names_library: Path, names: Path, lock_name: str, scheme: str
) -> None:
    """The kernel accepts connections there, but no program replies. The second address has a part of the time."""
    server = make_server(bind="127.0.0.1")
    names.write_text(f"{NAME} 127.0.0.2\n{NAME} 127.0.0.1\n")
    with socket.create_server(("127.0.0.2", port_of(server))):
        holder = Holder(names_library, names, port_of(server), lock_name, 60, scheme=scheme, query="?connect_timeout=1")
        assert holder.state() == "held"
        assert holder.end() == 0


def test_a_name_that_balances_is_an_error(
    make_server: MakeServer, names_library: Path, names: Path, lock_name: str
) -> None:
    """The name leads to two masters in turn. The program ends with an error that says so."""
    with closed_port() as port:
        pass
    servers = [make_server(bind=f"127.0.0.{number}", port=port) for number in (1, 2)]
    holder = Holder(names_library, names, port, lock_name, dns_interval=0.1, program=Holder.TURNS)
    for turns in range(40):
        there = servers[(turns + 1) % 2]
        turn(names, f"127.0.0.{2 - turns % 2}")
        wait_until(lambda at=there: connections(at) > 0 or holder.process.poll() is not None, 20.0)
        if holder.process.poll() is not None:
            break
    assert holder.process.stdout is not None
    words = holder.process.stdout.readline()
    assert words.startswith("UnsupportedError") and "several server processes in turn" in words
