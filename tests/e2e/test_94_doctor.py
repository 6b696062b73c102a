# SPDX-License-Identifier: Apache-2.0
"""`redlatch doctor` names what will harm locks. Each problem is tested on a server that has just that problem."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Callable, List

import pytest
from findings import PROBLEM, WARNING, examine, message, wrong
from support import Proxy, RedisServer, closed_port
from support.replicas import Pair
from support.shell import redlatch

MakeServer = Callable[..., RedisServer]

# Options of a server without findings. Other servers of the tests keep nothing on disk, which is a finding.
SOUND = {"appendonly": True}


def status_for(server: RedisServer, status: int) -> int:
    """Returns the exit status, or the one for an old server if it is higher."""
    return max(status, WARNING if server.version < (7, 0, 0) else 0)


def login(server: RedisServer, *rules: str) -> List[str]:
    """Makes a user with these rules, and returns the arguments to log in."""
    admin: Any = server.admin
    admin.execute_command("ACL", "SETUSER", "worker", "reset", "on", ">secret", *rules)
    return ["--url", f"redis://worker:secret@127.0.0.1:{server.port}"]


ALL_CHANNELS = "&*"


def everything(server: RedisServer) -> List[str]:
    """Returns rules for a user with all rights. Redis 6.0 has no rules for channels."""
    return ["~*", "+@all", *([ALL_CHANNELS] if server.version >= (6, 2, 0) else [])]


@pytest.fixture(scope="module")
def sound(server_binary: List[str]) -> Any:
    """A server without findings."""
    with RedisServer(**SOUND) as started:
        yield started


def test_a_sound_server(sound: RedisServer) -> None:
    status, findings = examine(sound)
    assert status == status_for(sound, 0) and wrong(findings) == set()
    expected = ["server", "version", "role", "eviction", "memory", "persistence", "latency", "clock", "rights", "lock"]
    assert [subject for subject in findings if subject in expected] == expected, "in this order"
    shown = redlatch(sound, "doctor").stdout.splitlines()
    assert shown[0].split() == ["ok", "server", "connected", "to", f"redis://127.0.0.1:{sound.port}/0"]
    assert sound.admin.dbsize() == 0
    if sound.version >= (7, 0, 0):
        quiet = redlatch(sound, "doctor", "-q")
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_the_version(sound: RedisServer) -> None:
    _status, findings = examine(sound)
    (found,) = findings["version"]
    number = ".".join(map(str, sound.version))
    if sound.version >= (7, 0, 0):
        assert found["level"] == "ok" and number in found["message"]
    else:
        assert found["level"] == "warning" and f"Redis {number} is old" in found["message"]
        assert "7.0" in found["advice"]


# --------------------------------------------------------------------------------------------------------- settings --


def test_no_persistence(server: RedisServer) -> None:
    status, findings = examine(server)
    assert status == WARNING and wrong(findings) == {("persistence", "warning")}
    words = message(findings, "persistence", "warning")
    assert "a restart frees all locks at once" in words and "appendonly yes" in words


def test_snapshots_alone(make_server: MakeServer) -> None:
    status, findings = examine(make_server(save=["3600", "1"]))
    assert status == WARNING and "since the last snapshot" in message(findings, "persistence", "warning")


def test_settings_that_are_hidden(make_server: MakeServer) -> None:
    server = make_server()
    status, findings = examine(server, *login(server, *everything(server), "-config"))
    assert status == WARNING and "CONFIG GET is forbidden" in message(findings, "persistence", "warning")


def test_eviction(make_server: MakeServer) -> None:
    server = make_server(**SOUND, maxmemory="100mb", maxmemory_policy="allkeys-lru")
    status, findings = examine(server)
    assert status == PROBLEM and wrong(findings) == {("eviction", "problem")}
    words = message(findings, "eviction", "problem")
    assert "maxmemory-policy is allkeys-lru" in words and "noeviction" in words
    server.admin.config_set("maxmemory", 0)
    status, findings = examine(server)
    assert (status, wrong(findings)) == (WARNING, {("eviction", "warning")})


def test_memory_that_is_nearly_full(make_server: MakeServer) -> None:
    server = make_server()
    server.admin.setrange("ballast", 20_000_000, "x")  # the value is large, the command is not
    for part, level in ((0.9, "warning"), (0.985, "problem")):
        used = int(server.admin.info("memory")["used_memory"])
        server.admin.config_set("maxmemory", int(used / part))
        status, findings = examine(server)
        assert ("memory", level) in wrong(findings) and status == (PROBLEM if level == "problem" else WARNING)
        assert "no lock can be acquired" in message(findings, "memory", level)
    server.admin.config_set("maxmemory", used // 2)
    status, findings = examine(server)
    assert status == PROBLEM and "out of memory" in message(findings, "lock", "problem").lower()


# ------------------------------------------------------------------------------------------------------------ rights --


def test_a_user_without_subscribe(sound: RedisServer) -> None:
    status, findings = examine(sound, *login(sound, *everything(sound), "-subscribe"))
    assert (status, wrong(findings)) == (WARNING, {("rights", "warning")})
    words = message(findings, "rights", "warning")
    assert "may not use SUBSCRIBE" in words and "gets no message of a release" in words and "access-rules" in words


def test_a_user_who_cannot_release(sound: RedisServer) -> None:
    status, findings = examine(sound, *login(sound, *everything(sound), "-hdel"))
    assert status == PROBLEM and "may not use HDEL" in message(findings, "rights", "problem")
    assert ("lock", "problem") in wrong(findings)
    sound.admin.flushall()  # the lock of the probe would end with its lease, too


def test_a_user_of_some_names(sound: RedisServer) -> None:
    rules = ["~deploy:*", "~redisson_lock__channel:*", "+@all"]
    user = login(sound, *rules, *([ALL_CHANNELS] if sound.version >= (6, 2, 0) else []))
    status, findings = examine(sound, *user)
    assert status == PROBLEM and 'may not use the key "redlatch-doctor:' in message(findings, "rights", "problem")
    assert examine(sound, *user, "deploy:shop")[0] == status_for(sound, 0)
    assert examine(sound, *user, "--prefix", "deploy:")[0] == status_for(sound, 0)
    assert sound.admin.dbsize() == 0


def test_a_user_without_channels(sound: RedisServer) -> None:
    if sound.version < (6, 2, 0):
        pytest.skip("no rules for channels")
    status, findings = examine(sound, *login(sound, "~*", "+@all", "resetchannels"))
    assert status == PROBLEM and 'the channel "redisson_lock__channel:{' in message(findings, "rights", "problem")
    sound.admin.flushall()


def test_what_is_better_to_have(sound: RedisServer) -> None:
    user = login(sound, *everything(sound), "-client|kill" if sound.version >= (7, 0, 0) else "-client")
    status, findings = examine(sound, *user)
    words = " ".join(finding["message"] for finding in findings["rights"])
    assert status == WARNING and "may not use CLIENT KILL" in words


def test_rights_that_cannot_be_tried(sound: RedisServer) -> None:
    status, findings = examine(sound, *login(sound, *everything(sound), "-multi", "-info", "-time"))
    assert status == WARNING and wrong(findings) == {("server", "warning")}
    assert "INFO is refused" in message(findings, "server", "warning")
    assert "MULTI" in message(findings, "rights", "note") and "TIME" in message(findings, "clock", "note")


@pytest.mark.parametrize("cut", ["EVALSHA", "HSET", "CLIENT KILL ID 0"])
def test_a_connection_that_is_lost_while_rights_are_tried(server: RedisServer, proxy: Proxy, cut: str) -> None:
    """The new connection is not in the transaction, so no more rights are tried. What was carried out leaves nothing,
    and no client was killed: none has the id 0."""
    fault = proxy.cut_before(cut)
    _, findings = examine(server, "--url", proxy.url)
    assert fault.hit
    (found,) = findings["rights"]
    assert (found["level"], found["message"]) == ("note", "not all of them are known: the connection was lost")
    assert not {"CLIENT KILL ID 1", "CLIENT SETNAME x"} & {str(command) for command in proxy.commands()}
    assert server.admin.dbsize() == 0


# -------------------------------------------------------------------------------------------------- role and clocks --


def test_replication() -> None:
    with Pair(**SOUND) as pair:
        status, findings = examine(pair.replica)
        assert status == PROBLEM and "replica of 127.0.0.1" in message(findings, "role", "problem")
        assert "redis+replicas://" in message(findings, "role", "problem") and ("lock", "problem") in wrong(findings)
        status, findings = examine(pair.master)
        assert (status, wrong(findings)) == (WARNING, {("replication", "warning")})
        words = message(findings, "replication", "warning")
        assert "a failover may lose one" in words and "min_replicas=1" in words and "cut off goes on" in words
        none = f"{pair.master.url}?min_replicas=0"
        assert message(examine(pair.master, "--url", none)[1], "replication", "warning") == words
        assert examine(pair.master, "--url", f"{pair.master.url}?min_replicas=1")[0] == status_for(pair.master, 0)
        pair.freeze()
        acknowledged = f"{pair.master.url}?min_replicas=1&replica_timeout=0.1"
        status, findings = examine(pair.master, "--url", acknowledged)
        pair.go_on()
        assert status == PROBLEM and "min_replicas" in message(findings, "lock", "problem")


def test_a_url_that_finds_the_master() -> None:
    with Pair(**SOUND) as pair:
        hosts = f"127.0.0.1:{pair.replica.port},127.0.0.1:{pair.master.port}"
        status, findings = examine(pair.master, "--url", f"redis+replicas://{hosts}/0?min_replicas=1")
        assert status == status_for(pair.master, 0) and findings["role"][0]["message"] == "the server is a master"


@pytest.fixture
def make_skewed(
    make_server: MakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int, int], RedisServer]:
    """Returns a function that starts a server whose clock is wrong by `wrong_by` seconds and jumps by `step` at each
    reading."""

    def make(wrong_by: int, step: int) -> RedisServer:
        library = tmp_path / f"clock{wrong_by}.so"
        subprocess.run(["cc", "-shared", "-fPIC", f"-DWRONG_BY={wrong_by}", f"-DSTEP={step}", "-o", str(library),
                        str(Path(__file__).with_name("wild_clock.c"))], check=True)
        with monkeypatch.context() as patched:
            patched.setenv("LD_PRELOAD", str(library))
            return make_server(**SOUND)

    return make


@pytest.mark.parametrize(("ahead", "level", "direction"), [
    (3600, "problem", "ahead of"), (-3600, "problem", "behind"), (10, "warning", "ahead of")])
def test_a_skewed_clock(
    make_skewed: Callable[[int, int], RedisServer], ahead: int, level: str, direction: str
) -> None:
    server = make_skewed(ahead, 0)
    status, findings = examine(server)
    assert wrong(findings) == {("clock", level)} and status == (PROBLEM if level == "problem" else WARNING)
    assert f"the server's clock is {abs(ahead)}.0 s {direction} this machine's" in message(findings, "clock", level)


def test_a_clock_that_jumps(make_skewed: Callable[[int, int], RedisServer]) -> None:
    status, findings = examine(make_skewed(0, 60))
    assert status == PROBLEM and "the server's clock jumped by" in message(findings, "clock", "problem")


def test_a_slow_way_to_the_server(sound: RedisServer) -> None:
    with Proxy(sound.address) as proxy:
        proxy.delay(60)
        status, findings = examine(sound, "--url", proxy.url)
    assert status == WARNING and wrong(findings) == {("latency", "warning")}


# ----------------------------------------------------------------------------------------- when no check is possible --


def test_no_server_and_no_entry(make_server: MakeServer) -> None:
    with closed_port() as port:
        gone = redlatch(None, "doctor", "--url", f"redis://127.0.0.1:{port}")
    assert (gone.returncode, gone.stdout) == (69, "") and "refused" in gone.stderr
    server = make_server(requirepass="secret")
    refused = redlatch(None, "doctor", "--url", f"redis://127.0.0.1:{server.port}")
    assert (refused.returncode, refused.stdout) == (69, "") and "password" in refused.stderr


def test_operands(server: RedisServer) -> None:
    done = redlatch(server, "doctor", "a", "b")
    assert done.returncode == 64 and "got 2 operands: expected at most one, the name of a lock" in done.stderr
