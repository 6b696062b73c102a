# SPDX-License-Identifier: Apache-2.0
"""Messages in a cluster: within the shard of the name if the node can do that, else to all nodes; slots that move."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

import pytest
import redlatch
from access_rules import EVERYBODY, RULES
from steps import Call
from support import RedisServer, wait_until
from support.cluster import Cluster, call
from support.lua_programs import environment
from support.server import server_command, server_version
from support.shell import program
from waiters import SOON

HAS_SHARDING = server_version(server_command())[0] >= 7
needs_sharding = pytest.mark.skipif(not HAS_SHARDING, reason="needs SPUBLISH, which Redis has since 7.0")
# How long a call may wait. A waiter that gets no message rechecks after 5 s.
LONG_S = 20.0


class Kind(NamedTuple):
    """What one client takes and another waits for. On the server the owner id of a waiter may follow `channel`."""

    make: Callable[[redlatch.Client, str], Any]
    channel: str
    take: Callable[[Any], Any]
    give: Callable[[Any, Any], object]
    wait: Callable[[Any], object]


def _lock(make: Callable[[redlatch.Client, str], Any], channel: str = "redisson_lock__channel:{}") -> Kind:
    def wait(lock: Any) -> object:
        got = lock.acquire(timeout=LONG_S)
        lock.release()
        return got

    return Kind(make, channel, lambda lock: lock.acquire(timeout=LONG_S), lambda lock, _: lock.release(), wait)


def _members(one: Any, other: Any) -> Any:
    return redlatch.multi_lock(one, other, owner="handle")


KINDS: Dict[str, Kind] = {
    "mutex": _lock(lambda client, name: client.lock(name, owner="handle")),
    "fenced": _lock(lambda client, name: client.fenced_lock(name, owner="handle")),
    "fair": _lock(lambda client, name: client.fair_lock(name, owner="handle")),
    "plain": _lock(lambda client, name: client.plain_lock(name, owner="handle"), "redlatch_lock__channel:{}"),
    "group": _lock(lambda client, name: client.group_lock(name, ["a", "b"], owner="handle")),
    "write": _lock(lambda client, name: client.read_write_lock(name).write, "redisson_rwlock:{}"),
    "multi": _lock(lambda client, name: _members(client.lock(name), client.lock(f"{name}:other"))),
    "semaphore": Kind(
        lambda client, name: client.semaphore(name),
        "redisson_sc:{}",
        lambda gate: gate.try_set_permits(0),
        lambda gate, _: gate.release(),
        lambda gate: gate.acquire(timeout=LONG_S),
    ),
    "permits": Kind(
        lambda client, name: client.permit_semaphore(name),
        "redisson_sc:{}",
        lambda slots: slots.try_set_permits(1) and slots.acquire(),
        lambda _, permit: permit.release(),
        lambda slots: slots.acquire(timeout=LONG_S).release() is None,
    ),
    "latch": Kind(
        lambda client, name: client.latch(name),
        "redisson_countdownlatch__channel__{}",
        lambda latch: latch.try_set_count(1),
        lambda latch, _: latch.count_down(),
        lambda latch: latch.wait(LONG_S),
    ),
    "read": Kind(
        lambda client, name: client.read_write_lock(name),
        "redisson_rwlock:{}",
        lambda both: both.write.acquire(timeout=LONG_S),
        lambda both, _: both.write.release(),
        lambda both: both.read.acquire(timeout=LONG_S) and both.read.release() is None,
    ),
}


def connect(url: str, mode: Any) -> redlatch.Client:
    """Opens a client with this value of sharded_messages."""
    return redlatch.connect(url, tuning=redlatch.Tuning(sharded_messages=mode))


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture(server_binary: List[str]) -> Iterator[Cluster]:
    """Three masters, whose slots move."""
    with Cluster(masters=3) as started:
        yield started


def channels(server: RedisServer, sharded: bool = True) -> List[str]:
    """Returns the channels of a server that have subscribers."""
    return sorted(call(server, "PUBSUB", "SHARDCHANNELS" if sharded else "CHANNELS"))


def messages_of_bus(cluster: Cluster) -> int:
    """Returns how many messages of channels the nodes have sent each other."""
    lines = [line for one in cluster.servers for line in call(one, "CLUSTER", "INFO").split()]
    return sum(int(line.split(":")[1]) for line in lines if line.startswith("cluster_stats_messages_publish"))


class Wait:
    """One client has something, and another one waits for it and is subscribed."""

    def __init__(self, kind: str, name: str, holder: redlatch.Client, waiter: redlatch.Client) -> None:
        self.kind = KINDS[kind]
        self.holder, self.client = holder, waiter
        self.thing = self.kind.make(holder, name)
        self.taken = self.kind.take(self.thing)
        self.waiting = Call(lambda: self.kind.wait(self.kind.make(waiter, name)))
        wait_until(lambda: waiter.stats()["subscriptions"] >= 1)
        self.calm_down()

    def calm_down(self) -> None:
        """Waits until the waiter has rechecked after its subscription and sleeps."""
        last = -1

        def quiet() -> bool:
            nonlocal last
            before, last = last, self.client.stats()["round_trips"]
            time.sleep(0.02)
            return before == last == self.client.stats()["round_trips"]

        wait_until(quiet)

    def pass_on(self, timeout: float = SOON) -> None:
        """Gives the thing back. The waiter must have it soon, by a message."""
        received = self.client.stats()["messages"]
        given_at = time.monotonic()
        self.kind.give(self.thing, self.taken)
        assert self.waiting.result(timeout) is True
        assert time.monotonic() - given_at < timeout
        assert self.client.stats()["messages"] > received


@pytest.mark.parametrize("form", ["{}", "{{{}}}:tagged"])
@pytest.mark.parametrize("kind", KINDS)
@needs_sharding
def test_every_kind_wakes_within_its_shard(cluster: Cluster, lock_name: str, kind: str, form: str) -> None:
    """Only the node of the slot has the channel, by SSUBSCRIBE, and no message goes from node to node."""
    name = form.format(lock_name) if kind != "multi" else f"{{{lock_name}}}"
    whole = KINDS[kind].channel.format(name if "{" in name and kind != "latch" else f"{{{name}}}")
    before = messages_of_bus(cluster)
    with redlatch.connect(cluster.url) as holder, redlatch.connect(cluster.url) as waiter:
        wait = Wait(kind, name, holder, waiter)
        master = cluster.master_of(name)
        in_slot = cluster.slot_of(whole) == cluster.slot_of(name)
        assert in_slot or (kind == "latch" and form != "{}")
        listened = channels(master, sharded=in_slot)
        assert [one for one in listened if one.startswith(whole)]
        if in_slot:
            assert all(channels(other) == [] for other in cluster.others(master))
            assert all(channels(one, sharded=False) == [] for one in cluster.servers)
        wait.pass_on()
        if in_slot:
            assert messages_of_bus(cluster) == before
    wait_until(lambda: all(channels(one) == [] for one in cluster.servers))


@pytest.mark.parametrize("kind", KINDS)
def test_off_is_publish(cluster: Cluster, lock_name: str, kind: str) -> None:
    """Redisson with shardedSubscriptionMode OFF does the same, and every client with Redis 6."""
    name = f"{{{lock_name}}}"
    url = f"{cluster.url}?sharded_messages=off"
    with connect(cluster.url, "off") as holder, redlatch.connect(url) as waiter:
        wait = Wait(kind, name, holder, waiter)
        assert channels(cluster.master_of(name), sharded=False)
        assert not HAS_SHARDING or all(channels(one) == [] for one in cluster.servers)
        wait.pass_on()
    wait_until(lambda: all(channels(one, sharded=False) == [] for one in cluster.servers))


@needs_sharding
def test_a_text_is_sent_once(cluster: Cluster, lock_name: str) -> None:
    """The second text of a script has a digest of its own."""
    for server in cluster.servers:
        call(server, "SCRIPT", "FLUSH")
    with redlatch.connect(cluster.url) as client:
        lock = client.lock(lock_name)
        for _ in range(3):
            lock.acquire()
            lock.release()
        assert client.stats()["script_loads"] == 2


@needs_sharding
def test_on_and_auto_hear_each_other(cluster: Cluster, lock_name: str) -> None:
    with connect(cluster.url, "on") as holder, connect(cluster.url, "auto") as waiter:
        Wait("mutex", lock_name, holder, waiter).pass_on()
        Wait("fair", f"{lock_name}:fair", waiter, holder).pass_on()


@pytest.mark.parametrize("mode", ["auto", "off"])
@pytest.mark.parametrize("kind", ["mutex", "fair", "read", "semaphore", "permits", "latch", "group", "multi"])
def test_a_slot_that_moves_takes_its_listeners_along(cluster: Cluster, lock_name: str, kind: str, mode: str) -> None:
    """The old node says that the channel is gone, and the client subscribes at once where the slot is. A channel of
    messages to all nodes stays subscribed on the old node, too, until the client leaves it."""
    name = f"{{{lock_name}}}" if kind == "multi" else lock_name
    with connect(cluster.url, mode) as holder, connect(cluster.url, mode) as waiter:
        wait = Wait(kind, name, holder, waiter)
        source = cluster.master_of(name)
        target = cluster.others(source)[0]
        cluster.move_slot(name, target)
        if HAS_SHARDING and mode == "auto":
            wait_until(lambda: channels(target) != [] and channels(source) == [], SOON)
            wait.calm_down()
        wait.pass_on()
        wait_until(lambda: channels(source, sharded=False) == [])


@needs_sharding
@pytest.mark.parametrize("kind", ["mutex", "write", "semaphore", "latch"])
def test_a_release_while_its_slot_moves(cluster: Cluster, lock_name: str, kind: str) -> None:
    """The key is on the new node already, and the message is sent there. The waiter rechecks as soon as the slot is
    there."""
    with redlatch.connect(cluster.url) as holder, redlatch.connect(cluster.url) as waiter:
        wait = Wait(kind, lock_name, holder, waiter)
        source = cluster.master_of(lock_name)
        target = cluster.others(source)[0]
        cluster.begin_move(lock_name, target)
        keys = call(source, "CLUSTER", "GETKEYSINSLOT", cluster.slot_of(lock_name), 100)
        call(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        wait.kind.give(wait.thing, wait.taken)
        if keys := call(source, "CLUSTER", "GETKEYSINSLOT", cluster.slot_of(lock_name), 100):
            call(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        cluster.end_move(lock_name, target)
        assert wait.waiting.result(SOON) is True


@needs_sharding
def test_many_listeners_of_a_slot_move(cluster: Cluster, lock_name: str) -> None:
    """All channels of the slot follow it to the new node. Channels of other slots are not touched."""
    names = [f"{{{lock_name}}}:{i}" for i in range(20)]
    other = next(f"{lock_name}:{i}" for i in range(1000)
                 if cluster.master_of(f"{lock_name}:{i}") is cluster.master_of(names[0]))  # fmt: skip
    with redlatch.connect(cluster.url) as holder, redlatch.connect(cluster.url) as waiter:
        waits = [Wait("mutex", name, holder, waiter) for name in [*names, other]]
        source = cluster.master_of(names[0])
        target = cluster.others(source)[0]
        wait_until(lambda: len(channels(source)) == 21)
        cluster.move_slot(names[0], target)
        wait_until(lambda: len(channels(target)) == 20 and len(channels(source)) == 1, 10.0)
        assert waiter.stats()["subscriptions"] == 21
        for wait in waits:
            wait.pass_on()


@needs_sharding
@pytest.mark.parametrize("killed", [True, False])
def test_a_failover_takes_the_listeners_along(server_binary: List[str], lock_name: str, killed: bool) -> None:
    """The master dies, or becomes a replica of its replica."""
    with Cluster(masters=3, replicas=1) as replicated:
        master = replicated.master_of(lock_name)
        place = replicated.servers.index(master)
        replica = replicated.servers[place + 3]
        with redlatch.connect(replicated.url) as holder, redlatch.connect(replicated.url) as waiter:
            wait = Wait("mutex", lock_name, holder, waiter)
            call(master, "WAIT", 1, 5000)
            if killed:
                master.kill()
            else:
                call(replica, "CLUSTER", "FAILOVER")
            wait_until(lambda: channels(replica) != [], 20.0)
            wait.calm_down()
            wait.pass_on()


@pytest.mark.parametrize("name", ["a{{b{}", "a}}b{}"])
def test_a_channel_of_another_slot_is_published_to_all(cluster: Cluster, lock_name: str, name: str) -> None:
    """The server refuses SPUBLISH for it, which would end a release half-way. The release is carried out as a whole."""
    name = name.format(lock_name)
    with redlatch.connect(cluster.url) as holder, redlatch.connect(cluster.url) as waiter:
        for kind in ("mutex", "plain", "group"):
            wait = Wait(kind, f"{name}:{kind}", holder, waiter)
            wait.pass_on()
            assert holder.lock(f"{name}:{kind}").state().locked is False


# -------------------------------------------------------------------------------------------- what the node can do --


@pytest.fixture(name="mixed", scope="module")
def mixed_fixture(server_binary: List[str]) -> Iterator[Cluster]:
    """A cluster that is being upgraded: its first node refuses the commands that Redis 6 lacks, with the same
    errors."""
    renamed = ["SPUBLISH", "", "--rename-command", "SSUBSCRIBE", "", "--rename-command", "PUBSUB", ""]
    with Cluster(masters=2, of_first={"rename_command": renamed}) as started:
        yield started


@needs_sharding
def test_each_node_is_used_as_it_is(mixed: Cluster, lock_name: str) -> None:
    """Each node says what it can do, so all clients that ask it agree."""
    names = [next(f"{lock_name}:{i}" for i in range(1000) if mixed.master_of(f"{lock_name}:{i}") is server)
             for server in mixed.servers]  # fmt: skip
    with redlatch.connect(mixed.url) as holder, redlatch.connect(mixed.url) as waiter:
        for kind in KINDS:
            old, new = (Wait(kind, f"{{{name}}}{kind}", holder, waiter) for name in names)
            assert channels(mixed.servers[1]) != []
            old.pass_on()
            new.pass_on()


@needs_sharding
def test_on_needs_nodes_that_have_it(mixed: Cluster, lock_name: str) -> None:
    """Otherwise a release would end half-way. Names on other nodes can be used."""
    old, new = (next(f"{lock_name}:{i}" for i in range(1000) if mixed.master_of(f"{lock_name}:{i}") is server)
                for server in mixed.servers)  # fmt: skip
    with connect(mixed.url, "on") as client:
        with client.lock(new):
            pass
        with pytest.raises(redlatch.UnsupportedError) as caught:
            client.lock(old).acquire(timeout=5)
        assert 'sharded_messages "on": expected a node with SPUBLISH, of Redis 7 or newer' in str(caught.value)


@needs_sharding
def test_a_user_who_may_not_ask(cluster: Cluster, lock_name: str) -> None:
    """INFO and PUBSUB are forbidden. The text of the refusal shows what the node has."""
    allowed = [*EVERYBODY, "cluster|slots", *RULES["mutex, spin lock"].commands()]
    allowed = [f"s{word}" if word in ("publish", "subscribe", "unsubscribe") else word for word in allowed]
    for server in cluster.servers:
        call(server, "ACL", "SETUSER", "worker", "reset", "on", ">secret", "~*", "&redisson_lock__channel:*", "-@all",
             *(f"+{command}" for command in allowed))  # fmt: skip
        call(server, "ACL", "LOG", "RESET")
    url = cluster.url.replace("://", "://worker:secret@")
    with redlatch.connect(url) as holder, redlatch.connect(url) as waiter:
        wait = Wait("mutex", lock_name, holder, waiter)
        assert channels(cluster.master_of(lock_name)) != []
        wait.pass_on()
        denied = [dict(zip(entry[::2], entry[1::2])) for one in cluster.servers for entry in call(one, "ACL", "LOG")]
        assert {entry["object"] for entry in denied} <= {
            "client|setname", "client|id", "info", "pubsub|shardnumsub", "pubsub", "client", "publish", "hello"}


@needs_sharding
def test_a_user_who_may_not_listen_polls(cluster: Cluster, lock_name: str) -> None:
    for server in cluster.servers:
        call(server, "ACL", "SETUSER", "deaf", "reset", "on", ">secret", "~*", "&*", "+@all", "-ssubscribe")
    url = cluster.url.replace("://", "://deaf:secret@")
    with redlatch.connect(cluster.url) as holder, redlatch.connect(url) as waiter:
        lock = holder.lock(lock_name, owner="handle")
        lock.acquire()
        waiting = Call(lambda: waiter.lock(lock_name, owner="handle").acquire(timeout=LONG_S))
        wait_until(lambda: waiter.stats()["waiters"] == 1)
        lock.release()
        assert waiting.result(5.0) is True
        assert all(channels(one) == [] for one in cluster.servers)


@needs_sharding
def test_new_credentials_take_the_channels_along(cluster: Cluster, lock_name: str) -> None:
    """The successor of the connection for messages is subscribed before the old one closes."""
    with redlatch.connect(cluster.url, username="default", password="") as holder, redlatch.connect(
        cluster.url, username="default", password=""
    ) as waiter:
        waits = [Wait(kind, f"{lock_name}:{kind}", holder, waiter) for kind in ("mutex", "fair", "latch")]
        before = waiter.stats()["connections"]
        waiter.set_credentials("default", "another")
        wait_until(lambda: waiter.stats()["connections"] <= before)
        for wait in waits:
            wait.pass_on()


# ------------------------------------------------------------------------------------------------------ the option --


def error_of(do: Callable[[], object]) -> str:
    """Returns the message for an argument that is refused."""
    with pytest.raises(redlatch.InvalidArgumentError) as caught:
        do()
    return str(caught.value)


def test_bad_values_are_named(cluster: Cluster) -> None:
    expected = 'sharded_messages "maybe": expected auto, on or off'
    assert expected in error_of(lambda: connect(cluster.url, "maybe"))  # type: ignore[arg-type]
    assert expected in error_of(lambda: redlatch.connect(f"{cluster.url}?sharded_messages=maybe"))


def test_it_is_an_option_of_clusters(cluster: Cluster) -> None:
    single = cluster.servers[0].url
    assert 'sharded_messages "on": expected a redis+cluster:// URL with it' in error_of(
        lambda: connect(single, "on")
    )
    assert 'URL option "sharded_messages": expected' in error_of(
        lambda: redlatch.connect(f"{single}?sharded_messages=on")
    )


def test_the_option_wins_over_the_url(cluster: Cluster, lock_name: str) -> None:
    with connect(f"{cluster.url}?sharded_messages=on", "off") as holder, connect(cluster.url, "off") as waiter:
        Wait("mutex", lock_name, holder, waiter).pass_on()


LUA = """
local redlatch = require "redlatch"
print(pcall(redlatch.connect, arg[1], {tuning = {sharded_messages = 1}}))
print(pcall(redlatch.connect, arg[1], {tuning = {sharded_messages = "maybe"}}))
local client = assert(redlatch.connect(arg[1], {tuning = {sharded_messages = arg[3]}}))
local lock = client:lock(arg[2])
assert(lock:acquire())
io.stdout:write("held\\n")
io.stdout:flush()
io.stdin:read("l")
assert(lock:release())
client:close()
"""


@pytest.mark.parametrize("mode", [pytest.param("on", marks=needs_sharding), "off"])
def test_lua(cluster: Cluster, lock_name: str, mode: str, tmp_path: Path) -> None:
    source = tmp_path / "program.lua"
    source.write_text(LUA, encoding="utf-8")
    with connect(cluster.url, mode) as client, subprocess.Popen(
        ["lua5.4", source, cluster.url, lock_name, mode],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment("lua5.4"),
    ) as other:  # fmt: skip
        assert other.stdin is not None and other.stdout is not None
        assert "sharded_messages is a number; expected a string" in other.stdout.readline()
        assert 'sharded_messages "maybe": expected auto, on or off' in other.stdout.readline()
        assert other.stdout.readline() == "held\n"
        waiting = Call(lambda: client.lock(lock_name, owner="handle").acquire(timeout=LONG_S))
        wait_until(lambda: client.stats()["subscriptions"] >= 1)
        other.stdin.write("\n")
        other.stdin.close()
        assert waiting.result() is True
        assert client.stats()["messages"] >= 1
        assert other.wait(10) == 0


@pytest.mark.parametrize("mode", [pytest.param("on", marks=needs_sharding), "off"])
def test_the_command(cluster: Cluster, lock_name: str, mode: str) -> None:
    with connect(cluster.url, mode) as client, subprocess.Popen(
        [program(), "run", "-u", f"{cluster.url}?sharded_messages={mode}", lock_name, "--", "sh", "-c",
         "echo held; read line"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "held\n"
        waiting = Call(lambda: client.lock(lock_name, owner="handle").acquire(timeout=LONG_S))
        wait_until(lambda: client.stats()["subscriptions"] >= 1)
        other.stdin.write("\n")
        other.stdin.close()
        assert waiting.result() is True
        assert client.stats()["messages"] >= 1
        assert other.wait(10) == 0
