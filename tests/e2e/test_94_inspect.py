# SPDX-License-Identifier: Apache-2.0
"""`redlatch list`, `show` and `unlock`: what they find, what they cost the server, what they print."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Set

import pytest
import redlatch as library
from forms import UUID, put_every_form, put_hash, put_permits, put_what_is_no_lock
from support import RedisServer, RedissonShapedPeer, closed_port, wait_until
from support.shell import environment, names, program, redlatch, shown
from support.wire import channel, counts
from usage_texts import RECORDED, usage_texts

# ------------------------------------------------------------------------------------------------------------ list --


def test_list_finds_locks_of_every_form_and_nothing_else(server: RedisServer) -> None:
    expected = put_every_form(server)
    put_what_is_no_lock(server)
    found = shown(server, "list")
    assert {lock["name"]: lock["kind"] for lock in found} == expected
    assert names(found) == sorted(expected)
    assert names(shown(server, "list", "*ing")) == ["reading", "writing"]
    assert shown(server, "list", "nothing*") == []


def test_odd_keys_hide_no_lock(server: RedisServer) -> None:
    owner = f"{'0' * 8}-0000-4000-8000-{'0' * 12}:1"
    server.admin.hset("good", owner, "1")
    server.admin.hset("huge", owner, "1" * 22)
    server.admin.hset("group", mapping={f"{'A' * 22}:{owner}:lock_count": "abc", "x": "1"})
    server.admin.hset("settings", mapping={"mode": "read", "colour": "blue", "size": "3"})
    server.admin.set("redisson_lock_token:{good}", "1" * 22)
    with library.connect(server.url) as client:
        found = {report.name: report.detected_kind for report in client.scan()}
    assert found["good"] == "mutex" and "huge" not in found and "settings" not in found


def test_hashes_that_are_no_locks_are_not_read(server: RedisServer) -> None:
    if server.version < (6, 2, 0):
        pytest.skip("no HRANDFIELD")
    put_what_is_no_lock(server)
    server.reset_commandstats()
    assert shown(server, "list") == []
    counts = server.commandstats()
    assert counts["hrandfield"] > 0 and "hscan" not in counts


def test_a_prefix_is_no_pattern(server: RedisServer) -> None:
    for name in ("a*b:one", "a*b:two", "axb:one", "a*b:[x]"):
        put_hash(server, name, {f"{UUID}:1": 1})
    assert names(shown(server, "list", "--prefix", "a*b:")) == ["[x]", "one", "two"]
    assert names(shown(server, "list", "--prefix", "a*b:", "t*")) == ["two"]


def slow_commands(server: RedisServer) -> Dict[bytes, int]:
    """Returns the commands in the server's slow log, and the longest that each took, in microseconds."""
    client: Any = server.admin
    slow: Dict[bytes, int] = {}
    for entry in client.slowlog_get(5000):
        slow[entry["command"]] = max(entry["duration"], slow.get(entry["command"], 0))
    return slow


def memory_of_list(server: RedisServer, out: Path) -> int:
    """Runs `list` into a file and returns the most memory it had, in kilobytes. A launcher measures, since a child of
    this process would be charged with this process's memory until it becomes the command.
    """
    launcher = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], 'w'), check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    command = [sys.executable, "-I", "-S", "-c", launcher, str(out), program(), "list"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(server), check=True)
    return int(done.stdout)


def quietest_us(server: RedisServer, expected: Set[str], out: Path) -> int:
    """Lists all into a file and returns the longest that any command of the server took. Each command counts with its
    quickest try, since a command that the system interrupts for another process counts as slow, too.
    """
    client: Any = server.admin
    client.config_set("slowlog-max-len", 5000)
    slowest: Dict[bytes, int] = {}
    for attempt in range(10):
        client.config_set("slowlog-log-slower-than", 1000)
        client.slowlog_reset()
        kilobytes = memory_of_list(server, out)
        client.config_set("slowlog-log-slower-than", -1)
        assert {line.split()[0] for line in out.read_text().splitlines()} == {"NAME", *expected}
        assert kilobytes < 50 * 1024
        slow = slow_commands(server)
        slowest = {command: min(took, slowest.get(command, took)) for command, took in slow.items()
                   if attempt == 0 or command in slowest}
        if max(slowest.values(), default=0) < 5_000:
            break
    return max(slowest.values(), default=0)


def test_slowest_command_among_a_hundred_thousand_keys(fresh_server: RedisServer, tmp_path: Path) -> None:
    client: Any = fresh_server.admin
    client.execute_command("DEBUG", "POPULATE", 89_000)
    fill = """
        for i = 1, 10000 do redis.call('hset', 'session:' .. i, 'user', i, 'since', i) end
        for i = 1, 1000 do
            redis.call('hset', 'lock:' .. i, ARGV[1] .. ':' .. i, 1)
            redis.call('pexpire', 'lock:' .. i, 600000)
        end"""
    client.eval(fill, 0, UUID)
    assert client.dbsize() == 100_000
    assert quietest_us(fresh_server, {f"lock:{number}" for number in range(1, 1001)}, tmp_path / "out") < 5_000


def test_slowest_command_among_large_hashes_and_locks(fresh_server: RedisServer, tmp_path: Path) -> None:
    client: Any = fresh_server.admin
    fill = """
        for i = 1, 300 do for j = 1, 500 do redis.call('hset', 'large:' .. i, 'field:' .. j, 'value:' .. j) end end
        for i = 1, 100 do
            redis.call('hset', 'read:' .. i, 'mode', 'read')
            for j = 1, 300 do redis.call('hset', 'read:' .. i, ARGV[1] .. ':' .. j, 1) end
            for j = 1, 60 do
                local value = string.format('%022d', j)
                local owner = value .. ':' .. ARGV[1] .. ':' .. j
                redis.call('hset', 'group:' .. i, value, ARGV[1] .. ':' .. j, owner .. ':lock_count', 1,
                    owner .. ':expire_time', '9000000000000')
            end
        end"""
    client.eval(fill, 0, UUID)
    client.hset("value", "field", "x" * 20_000_000)
    client.hset("count", f"{UUID}:1", "1" * 20_000_000)
    client.hset("field", "x" * 20_000_000, 1)
    client.hset("fields", mapping={"mode": "x" * 20_000_000, "x" * 20_000_000: 1})
    expected = {f"{kind}:{number}" for kind in ("read", "group") for number in range(1, 101)}
    assert quietest_us(fresh_server, expected, tmp_path / "out") < 5_000
    one = shown(fresh_server, "show", "read:7")
    assert (one["kind"], one["holder_count"]) == ("read_write", 300) and 1 < len(one["holders"]) <= 100
    assert all(redlatch(fresh_server, "show", name).returncode == 65 for name in ("value", "count", "field", "fields"))


def test_names_of_any_bytes(server: RedisServer) -> None:
    for name in (b"\xff\xfe", b"tab\there", "\u00e4\u4e2d".encode(), b"quote\"\\"):
        put_hash(server, name, {f"{UUID}:1": 1})
    found = {lock["name"]: lock.get("name_hex") for lock in shown(server, "list")}
    assert found == {"\ufffd\ufffd": "fffe", "tab\there": None, "\u00e4\u4e2d": None, 'quote"\\': None}
    plain = redlatch(server, "list", LC_ALL="C.UTF-8").stdout
    assert "\\xff\\xfe " in plain and "tab\\x09here " in plain and "\u00e4\u4e2d " in plain


def test_the_table_of_every_form(server: RedisServer) -> None:
    expected = put_every_form(server)
    put_permits(server, "taken", taken=3)
    put_hash(server, "held:long", {f"{UUID}:1": 1}, ttl_ms=90_000_000)
    head, *rows = (re.split(r"  +", line) for line in redlatch(server, "list").stdout.splitlines())
    assert head == ["NAME", "KIND", "HOLDER", "HOST", "COUNT", "TTL", "WAITERS"]
    table = {cells[0]: [*cells[2:5], re.sub(r"^(5\d|60)\.\d s$", "60 s", cells[5]), cells[6]] for cells in rows}
    assert {cells[0]: cells[1] for cells in rows} == {**expected, "taken": "permit_semaphore", "held:long": "mutex"}
    assert table == {
        "mutex": [f"{UUID}:42", "-", "2", "60 s", "-"],
        "fenced": [f"{UUID}:1", "-", "1", "60 s", "-"],
        "{t}:fair": [f"{UUID}:1", "-", "1", "60 s", "2"],
        "writing": [f"{UUID}:1 and 1 more", "-", "1", "60 s", "-"],
        "reading": [f"{UUID}:1 and 1 more", "-", "1", "60 s", "-"],
        "group": [f"{UUID}:3", "-", "1", "60 s", "-"],
        "plain": [f"{UUID[:14]}8{UUID[15:]}:5", "-", "1", "60 s", "-"],
        "slots": [f"{'00' * 16} and 1 more", "-", "1", "-", "-"],
        "taken": [f"{'00' * 16} and 2 more", "-", "1", "-", "-"],
        "held:long": [f"{UUID}:1", "-", "1", "1499 min", "-"],
    }


def in_terminal(server: RedisServer, *arguments: str, columns: int = 60, **more: str) -> str:
    """Returns what a command prints on a terminal of that width."""
    parent, child = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=child, check=True)
    values = {**environment(server, TERM="xterm", LC_ALL="C.UTF-8"), **more}
    if "NO_COLOR" not in more:
        values.pop("NO_COLOR", None)
    process = subprocess.Popen([program(), *arguments], stdout=child, stdin=subprocess.DEVNULL, env=values)
    os.close(child)
    printed = b""
    try:
        while True:
            printed += os.read(parent, 4096)
    except OSError:  # the other end of the terminal is closed
        os.close(parent)
    assert process.wait(20) == 0
    return printed.decode().replace("\r\n", "\n")


def test_a_table_fits_the_terminal_and_colours_can_be_refused(server: RedisServer) -> None:
    put_hash(server, "orders:" + "long" * 20, {f"{UUID}:1": 1})
    put_hash(server, "b", {f"{UUID}:2": 1})
    for columns in (60, 100):
        coloured = in_terminal(server, "list", columns=columns)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
        assert plain != coloured
        assert max(map(len, plain.splitlines())) <= columns and "..." in plain
        assert "\x1b" not in in_terminal(server, "list", columns=columns, NO_COLOR="1")
    narrow = in_terminal(server, "list", "b*", columns=60, NO_COLOR="1").splitlines()
    assert narrow[1].split()[:2] == ["b", "mutex"]
    put_hash(server, "deploy:shop:production", {f"{UUID}:3": 1})
    named = in_terminal(server, "list", "deploy:*", columns=80, NO_COLOR="1").splitlines()[1]
    assert named.startswith("deploy:shop:production ") and "..." in named, "ids are cut, names are not"
    piped = redlatch(server, "list").stdout
    assert "\x1b" not in piped and "long" * 20 in piped and f"{UUID}:1" in piped


# ------------------------------------------------------------------------------------------------------------ show --


def test_show_tells_all_of_a_lock(server: RedisServer) -> None:
    put_every_form(server)
    mutex = shown(server, "show", "mutex")
    assert 50_000 < mutex.pop("ttl_ms") <= 60_000
    assert mutex == {"name": "mutex", "kind": "mutex", "held": True, "type": "hash", "holder_count": 1,
                     "node": f"127.0.0.1:{server.port}",
                     "holders": [{"owner": f"{UUID}:42", "count": 2}], "waiters": [], "waiter_count": 0}
    assert shown(server, "show", "fenced")["token"] == 17
    assert shown(server, "show", "{t}:fair")["waiters"] == [f"{UUID}:7", f"{UUID}:8"]
    writing = shown(server, "show", "writing")["holders"]
    assert sorted((one["role"], one["owner"], one["count"]) for one in writing) == [
        ("reader", f"{UUID}:1", 2), ("writer", f"{UUID}:1", 1)]
    assert shown(server, "show", "reading")["holder_count"] == 2
    (group,) = shown(server, "show", "group")["holders"]
    assert 50_000 < group.pop("ttl_ms") <= 60_000
    assert group == {"owner": f"{UUID}:3", "count": 1, "value": "t6rZwibGo2uy1OSmNVe8pg"}
    line = r":3  count 1  value t6rZwibGo2uy1OSmNVe8pg  ttl (5\d\.\d|60\.0) s"
    assert re.search(line, redlatch(server, "show", "group").stdout)
    plain = redlatch(server, "show", "mutex").stdout
    assert f"{UUID}:42  count 2" in plain and "held" in plain


def test_show_says_by_its_status_whether_it_is_held(server: RedisServer, lock_name: str) -> None:
    put_hash(server, lock_name, {f"{UUID}:1": 1})
    assert redlatch(server, "show", lock_name).returncode == 0
    server.admin.delete(lock_name)
    free = redlatch(server, "show", lock_name, "--json")
    assert free.returncode == 3 and '"kind": "nothing"' in free.stdout
    for name in put_what_is_no_lock(server):
        done = redlatch(server, "show", name)
        assert done.returncode == 65 and "unknown" in done.stdout


def test_a_lock_without_a_lease_is_distinguished(server: RedisServer, lock_name: str) -> None:
    server.admin.hset(lock_name, f"{UUID}:1", 1)
    assert shown(server, "show", lock_name)["ttl_ms"] == -1
    assert "no lease" in redlatch(server, "list").stdout
    server.admin.delete(lock_name)


def test_a_free_lock_with_waiters_and_one_with_a_token(server: RedisServer) -> None:
    client: Any = server.admin
    client.rpush("redisson_lock_queue:{one}", f"{UUID}:7")
    client.set("redisson_lock_token:{two}", 3)
    one, two = shown(server, "show", "one"), shown(server, "show", "two")
    assert (one["kind"], one["held"], one["waiters"]) == ("fair", False, [f"{UUID}:7"])
    assert (two["kind"], two["held"], two["token"]) == ("fenced", False, 3)
    assert redlatch(server, "show", "one").returncode == 3


def test_owners_of_redlatch_have_a_machine_and_a_process(server: RedisServer, lock_name: str) -> None:
    with library.connect(server.url) as client, client.lock(lock_name) as held:
        found = shown(server, "show", lock_name)["holders"]
        assert found == [{"owner": held.owner, "count": 1, "host": os.uname().nodename, "pid": os.getpid()}]
        assert f"process {os.getpid()} on {os.uname().nodename}" in redlatch(server, "show", lock_name).stdout
        server.reset_commandstats()
        assert shown(server, "list")[0]["holders"] == found
        assert server.commandstats()["client|list" if server.version >= (7, 0, 0) else "client"] >= 1
        row = redlatch(server, "list").stdout.splitlines()[1].split()
        assert row[:4] == [lock_name, "mutex", held.owner, f"{os.uname().nodename}:{os.getpid()}"]
        refused = redlatch(server, "unlock", lock_name).stderr
        assert f"held by {held.owner} (process {os.getpid()} on {os.uname().nodename}), count 1" in refused


def test_who_may_not_see_connections_gets_the_rest(server: RedisServer, lock_name: str) -> None:
    server.set_user("blind", "secret", "+@all", "-client|list")
    try:
        with library.connect(server.url) as holder, holder.lock(lock_name) as held:
            url = server.url.replace("redis://", "redis://blind:secret@")
            found = shown(server, "show", "--url", url, lock_name)
            assert found["holders"] == [{"owner": held.owner, "count": 1}]
            assert shown(server, "list", "--url", url)[0]["holders"] == found["holders"]
    finally:
        server.admin.execute_command("ACL", "DELUSER", "blind")


def test_what_eyes_see_holds_no_control_characters(server: RedisServer) -> None:
    client: Any = server.admin
    client.rpush("redisson_lock_queue:{\x1b[31mred}", "who\x1b]0;title\x07")
    shows = redlatch(server, "show", "\x1b[31mred").stdout
    assert "\\x1b[31mred" in shows and "who\\x1b]0;title\\x07" in shows and "\x1b" not in shows
    value = "t6rZwibGo2uy1OSmNVe8pg"
    owner = "who\x1b[2J"
    put_hash(server, "group", {value: owner, f"{value}:{owner}:expire_time": int(time.time() * 1000) + 60_000,
                               f"{value}:{owner}:lock_count": 1})
    listed = redlatch(server, "list").stdout
    assert "who\\x1b[2J" in listed and "\x1b" not in listed
    refused = redlatch(server, "unlock", "\x1b[31mred")
    assert refused.returncode == 3 and "\x1b" not in refused.stderr


def test_permits_are_shown_with_their_ids(server: RedisServer) -> None:
    put_permits(server, "slots", taken=2)
    found = shown(server, "show", "slots")
    assert (found["kind"], found["number"], found["holder_count"]) == ("permit_semaphore", 4, 2)
    assert [one["owner"] for one in found["holders"]] == ["00" * 16, "01" * 16]
    assert all(50_000 < one["ttl_ms"] <= 60_000 for one in found["holders"])
    assert redlatch(server, "show", "--owner", "01" * 16, "slots").returncode == 0
    with library.connect(server.url) as client:
        permit = client.permit_semaphore("slots").acquire()
        assert permit
        report = client.inspect("slots")
        assert (report.detected_kind, report.count, report.holders) == ("permit_semaphore", 3, 3)
        assert permit.id in [party.owner for party in report.parties]
        client.permit_semaphore("slots").release(permit)


def test_a_number_may_be_a_semaphore_a_latch_or_anything(server: RedisServer) -> None:
    for number in (5, 0, -2):
        server.admin.set("number", number)
        found = shown(server, "show", "number")
        assert (found["kind"], found["number"], found["holders"]) == ("count", number, [])
        plain = redlatch(server, "show", "number")
        assert plain.returncode == 0 and re.search(rf"^number +{number}$", plain.stdout, re.MULTILINE)
    assert shown(server, "list") == [], "any counter would be there"


def test_what_is_counted_is_neither_held_nor_free(server: RedisServer) -> None:
    """None, some or all of its permits are taken. Before the first acquire its data look like a latch's, later they do
    not."""
    with library.connect(server.url) as client:
        slots = client.permit_semaphore("slots")
        slots.try_set_permits(2)
        for kind in ("count", "permit_semaphore", "permit_semaphore"):
            found, plain = shown(server, "show", "slots"), redlatch(server, "show", "slots")
            assert (found["kind"], "held" in found, plain.returncode) == (kind, False, 0)
            assert not re.search("^(state|ttl)", plain.stdout, re.MULTILINE)
            slots.acquire(blocking=False)
    server.admin.pexpire("slots", 50_000)
    assert re.search(r"^ttl +[45]\d\.\d s$", redlatch(server, "show", "slots").stdout, re.MULTILINE)


def test_an_owner_is_found_among_very_many(server: RedisServer) -> None:
    """The owner is found among any number of others, wherever the server's hash has put it."""
    put_hash(server, "read", {"mode": "read", f"{UUID}:7:write": 1, **{f"{UUID}:{one}": 2 for one in range(3000)}})
    until = int(time.time() * 1000) + 60_000
    owners = {f"{one:022d}": f"{UUID}:{one}" for one in range(3000)}
    counted = {f"{value}:{owner}:lock_count": 1 for value, owner in owners.items()}
    ends = {f"{value}:{owner}:expire_time": until for value, owner in owners.items()}
    put_hash(server, "group", {**owners, **counted, **ends})
    client: Any = server.admin
    client.set("slots", 3)
    client.zadd("{slots}:timeout", {one.to_bytes(16, "big"): until + one for one in range(3000)})
    last = {"read": f"{UUID}:2999", "group": f"{UUID}:2999", "slots": f"{2999:032x}"}
    for name, owner in last.items():
        assert redlatch(server, "show", "--owner", owner, name).returncode == 0
        found = shown(server, "show", "--owner", owner, name)
        assert found["holders"][0]["owner"] == owner
        names_of_all = [one["owner"] for one in found["holders"]]
        assert len(names_of_all) > 10 and len(set(names_of_all)) == len(names_of_all), "others are told of, too"
        for nobody in (f"{UUID}:3000", "f" * 32, "*"):
            assert redlatch(server, "show", "--owner", nobody, name).returncode == 3, nobody
    both = shown(server, "show", "--owner", f"{UUID}:7", "read")["holders"][:2]
    assert [(one["role"], one["count"]) for one in both] == [("writer", 1), ("reader", 2)]


# ---------------------------------------------------------------------------------------------------------- unlock --


def test_unlock_wants_force_and_says_whose_it_was(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str
) -> None:
    peer.lock(lock_name)
    refused = redlatch(server, "unlock", lock_name)
    assert refused.returncode == 64 and peer.owner() in refused.stderr
    assert counts(server, lock_name) == [1]
    listener: Any = server.client().pubsub()
    listener.subscribe(channel(lock_name))
    wait_until(lambda: listener.get_message(timeout=0.1), message="the subscription")
    done = redlatch(server, "unlock", "--force", lock_name)
    assert done.returncode == 0 and peer.owner() in done.stdout
    assert server.admin.exists(lock_name) == 0
    message = wait_until(lambda: listener.get_message(timeout=0.1), message="the message")
    assert message["data"] == b"0"
    assert redlatch(server, "unlock", "--force", lock_name).returncode == 3


@pytest.mark.parametrize(("name", "notified"), [
    ("writing", "redisson_rwlock:{writing}"),
    ("reading", "redisson_rwlock:{reading}"),
    ("{t}:fair", f"redisson_lock__channel:{{t}}:fair:{UUID}:7"),
    ("group", channel("group")),
    ("plain", "redlatch_lock__channel:{plain}"),
])
def test_unlock_wakes_those_who_wait_for_any_kind(server: RedisServer, name: str, notified: str) -> None:
    put_every_form(server)
    listener: Any = server.client().pubsub()
    listener.subscribe(notified)
    wait_until(lambda: listener.get_message(timeout=0.1), message="the subscription")
    assert redlatch(server, "unlock", "--force", name).returncode == 0
    assert server.admin.exists(name) == 0
    assert wait_until(lambda: listener.get_message(timeout=0.1), message="the message")["type"] == "message"


def test_unlock_names_each_who_holds_it(server: RedisServer) -> None:
    """If there are more holders than it names, it says how many more."""
    put_every_form(server)
    put_hash(server, "many", {"mode": "read", **{f"{UUID}:{one}": 1 for one in range(300)}})
    expected = {"reading": [f"{UUID}:1, reader, count 1", f"{UUID}:2, reader, count 3"],
                "writing": [f"{UUID}:1, reader, count 2", f"{UUID}:1, writer, count 1"],
                "group": [f"{UUID}:3, value t6rZwibGo2uy1OSmNVe8pg, count 1"]}
    for name, holders in expected.items():
        refused = redlatch(server, "unlock", name).stderr.splitlines()
        assert refused.pop() == f'redlatch: "{name}" is not unlocked: expected --owner ID, or --force to' \
            " take it from any holder"
        assert sorted(refused) == [f'redlatch: "{name}" is held by {holder}' for holder in holders]
        done = redlatch(server, "unlock", "--force", name).stdout.splitlines()
        assert sorted(done) == [f"it was held by {holder}" for holder in holders]
    *named, more = redlatch(server, "unlock", "--force", "many").stdout.splitlines()
    assert 10 < len(named) < 300 and more == f"it was held by {300 - len(named)} more"


def test_unlock_leaves_what_is_counted(server: RedisServer) -> None:
    put_permits(server, "slots", taken=2)
    server.admin.set("gate", 0)
    kinds = {"slots": "is a permit semaphore:", "gate": "is a number, as semaphores and latches are:"}
    for name, words in kinds.items():
        refused = redlatch(server, "unlock", "--force", name)
        assert refused.returncode == 64 and f'"{name}" {words} expected a lock' in refused.stderr
    assert server.admin.get("slots") == b"3" and server.admin.get("gate") == b"0"
    assert server.admin.zcard("{slots}:timeout") == 3


def test_unlock_leaves_what_is_no_lock(server: RedisServer) -> None:
    for name in put_what_is_no_lock(server):
        assert redlatch(server, "unlock", "--force", name).returncode == 65
        assert server.admin.exists(name) == 1


# ---------------------------------------------------------------------------------------------------------- common --


@pytest.mark.parametrize("command", ["run", "list", "show", "wait", "unlock"])
def test_every_command_helps_and_refuses(server: RedisServer, command: str) -> None:
    helped = redlatch(None, command, "--help")
    assert helped.returncode == 0 and f"usage: redlatch {command}" in helped.stdout and not helped.stderr
    refused = redlatch(server, command, "--no-such-option")
    assert refused.returncode == 64
    assert all(line.startswith("redlatch: ") for line in refused.stderr.splitlines())
    operands = [] if command == "list" else ["x"]
    force = ["--force"] if command == "unlock" else []
    end = ["--", "true"] if command == "run" else []
    with closed_port() as port:
        gone = redlatch(None, command, "--url", f"redis://127.0.0.1:{port}", *force, *operands, *end)
    assert gone.returncode == 69 and "refused" in gone.stderr


def test_what_every_command_prints_about_itself_is_what_was_recorded() -> None:
    """A change of something else must not change these texts. usage_texts.py records them again."""
    assert usage_texts() == RECORDED.read_text(encoding="utf-8")


def test_the_program_itself() -> None:
    assert redlatch(None, "--version").stdout == f"redlatch {library.__version__}\n"
    assert "run NAME" in redlatch(None, "--help").stdout
    assert redlatch(None).returncode == 64 and redlatch(None, "lock").returncode == 64
    assert redlatch(None, "show").returncode == 64 and redlatch(None, "list", "a", "b").returncode == 64
    for command in ("show", "wait", "unlock"):
        refused = redlatch(None, command, "")
        assert refused.returncode == 64 and "the name is empty" in refused.stderr


def test_options_of_every_command_may_stand_before_it(server: RedisServer) -> None:
    put_hash(server, "shop:a", {f"{UUID}:1": 1})
    done = redlatch(None, "--url", server.url, "--prefix=shop:", "list", "--json")
    assert (done.returncode, [one["name"] for one in json.loads(done.stdout)]) == (0, ["a"])
    assert redlatch(None, "-u", server.url, "show", "shop:a", "--json").returncode == 0, "options behind names, too"
    assert redlatch(None, "-u", server.url, "run", "b", "--", "echo", "-n", "x").stdout == "x"
    for wrong in (["--json", "list"], ["--url"], ["-u", server.url], ["help", "nothing"]):
        refused = redlatch(None, *wrong)
        assert refused.returncode == 64 and refused.stderr and not refused.stdout


@pytest.mark.parametrize("command", ["run", "list", "show", "wait", "unlock"])
def test_help_of_a_command(command: str) -> None:
    assert redlatch(None, "help", command).stdout == redlatch(None, command, "--help").stdout


def test_output_that_can_not_be_written_is_an_error(server: RedisServer) -> None:
    put_every_form(server)
    for arguments in (["list"], ["list", "--json"], ["show", "mutex"], ["--help"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([program(), *arguments], stdout=full, stderr=subprocess.PIPE,
                                  env=environment(server), check=False)
        assert done.returncode == 74, arguments
