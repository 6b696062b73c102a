# SPDX-License-Identifier: Apache-2.0
"""A client's `label`: it is a part of the name of its connections, and shows who holds, waits or leads."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any, Callable, List

import pytest
import redlatch
import redlatch.aio
from loops import RUNNERS, World, run
from support import RedisServer, wait_until
from support.shell import environment, program, start_holder
from support.shell import redlatch as command

HOST = socket.gethostname()


def labels(server: RedisServer, name: str) -> List[Any]:
    """Returns label, host and process of the parties of a name, as another client finds them."""
    with redlatch.connect(server.url, label="other") as other:
        return [(party.label, party.host, party.pid) for party in other.inspect(name).parties]


def test_every_connection_has_it_in_its_name(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, label="a@b:c/1") as client, client.lock(lock_name):
        with redlatch.connect(server.url) as other:
            assert not other.lock(lock_name).acquire(timeout=0.1)  # the holder's process subscribes
        name = f"redlatch:a@b:c/1@{HOST}:{os.getpid()}:{client.uuid}"
        wait_until(lambda: {each["name"] for each in server.client_list("redlatch:")} == {name})
        assert labels(server, lock_name) == [("a@b:c/1", HOST, os.getpid())]


def test_without_one_there_is_none(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    with client.lock(lock_name):
        assert labels(server, lock_name) == [(None, HOST, os.getpid())]
        assert {each["name"] for each in server.client_list("redlatch:")} == {
            f"redlatch:{HOST}:{os.getpid()}:{client.uuid}"
        }


def test_the_option_overrides_the_url(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(f"{server.url}?label=url") as by_url, redlatch.connect(
        f"{server.url}?label=url", label="option"
    ) as by_option, redlatch.connect(f"{server.url}?label=url", label=None) as by_none:
        with by_url.lock(lock_name + ":1"), by_option.lock(lock_name + ":2"), by_none.lock(lock_name + ":3"):
            found = [labels(server, f"{lock_name}:{number}")[0][0] for number in (1, 2, 3)]
    assert found == ["url", "option", "url"]


@pytest.mark.parametrize("label", ["", "two words", "tab\t", "größe", "x" * 65])
def test_what_no_connection_can_be_called_is_refused(server: RedisServer, label: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match='^label ".*": expected 1 to 64 visible ASCII characters'):
        redlatch.connect(server.url, label=label)
    with pytest.raises(redlatch.InvalidArgumentError, match="label holds a NUL byte"):
        redlatch.connect(server.url, label="a\0b")
    with pytest.raises(TypeError, match="label is of type int"):
        redlatch.connect(server.url, label=7)  # type: ignore[arg-type]


def timed_out(server: RedisServer, make: Callable[[redlatch.Client], redlatch.Lock]) -> str:
    """Returns the error text of a timeout that names the holder's process. It takes several attempts if the explanation
    comes too late for one error text."""
    words = ""
    for _ in range(20):
        with redlatch.connect(server.url) as fresh, pytest.raises(redlatch.LockTimeoutError) as caught:
            with make(fresh):
                pass
        words = str(caught.value)
        if "process" in words:
            break
    return words


def test_a_time_out_names_it(server: RedisServer, lock_name: str) -> None:
    where = f"process {os.getpid()} on {HOST})"
    with redlatch.connect(server.url, label="billing") as client, client.lock(lock_name) as held:
        words = timed_out(server, lambda fresh: fresh.lock(lock_name, timeout=0.5))
        assert words.endswith(f'now by {held.owner} (label "billing", {where}')
        done = command(server, "run", "-n", lock_name, "--", "true")
        assert f'is held by {held.owner} (label "billing", {where}' in done.stderr


def test_a_forked_child_has_it_with_its_own_process(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, label="worker") as client:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with client.lock(lock_name):
                    status = labels(server, lock_name) != [("worker", HOST, os.getpid())]
            finally:
                os._exit(int(status))
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("denied", ["client|setname", "client|list", "client"])
def test_where_the_rules_deny_it_nothing_breaks(fresh_server: RedisServer, lock_name: str, denied: str) -> None:
    if fresh_server.version < (7, 0, 0) and "|" in denied:
        pytest.skip("rules for subcommands")
    fresh_server.admin.acl_setuser("weak", enabled=True, nopass=True, keys=["*"], channels=["*"],
                                   commands=["+@all", f"-{denied}"])
    url = fresh_server.url.replace("redis://", "redis://weak@")
    with redlatch.connect(url, label="mine") as client, client.lock(lock_name):
        with redlatch.connect(url, label="other") as other:
            found = other.inspect(lock_name).parties[0]
            assert (found.label, found.host) == (None, None)
            with pytest.raises(redlatch.LockTimeoutError, match="held by another owner during the wait"):
                with other.lock(lock_name, timeout=0.1):
                    pass
            assert not client.stats()["reconnects"] and not other.stats()["reconnects"]


def test_leaders_have_it(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, label="leads") as client, client.elect(lock_name) as election:
        wait_until(lambda: election.is_leader)
        leader = election.leader()
        assert leader is not None and leader.label == "leads"


@pytest.mark.parametrize("loop", RUNNERS)
def test_tasks(server: RedisServer, lock_name: str, loop: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url, label="tasks") as client, client.lock(lock_name):
            report = await client.inspect(lock_name)
            assert report.parties[0].label == "tasks"

    run(loop, main)


# ------------------------------------------------------------------------------------------------------ the command --


def test_the_command_shows_it(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, label="billing") as client:
        assert client.lock(lock_name).acquire()
        (listed,) = json.loads(command(server, "list", "--json", lock_name).stdout)
        shown = json.loads(command(server, "show", "--json", lock_name).stdout)
        for found in (listed, shown):
            (holder,) = found["holders"]
            assert (holder["label"], holder["host"], holder["pid"]) == ("billing", HOST, os.getpid())
        assert f"billing@{HOST}:{os.getpid()} " in command(server, "list", lock_name).stdout
        assert f"label billing  process {os.getpid()} on {HOST}\n" in command(server, "show", lock_name).stdout
        done = command(server, "unlock", "--force", lock_name)
        assert f'(label "billing", process {os.getpid()} on {HOST})' in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("option", "variable", "label"),
    [("deploy", "other", "deploy"), (None, "variable", "variable"), (None, "", None), (None, None, None)],
)
def test_run_has_it(
    server: RedisServer, lock_name: str, tmp_path: Path, option: Any, variable: Any, label: Any,
    monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv("REDLATCH_LABEL", variable)
    options = [] if option is None else ["--label", option]
    holder = start_holder(server, lock_name, tmp_path, *options)
    assert labels(server, lock_name) == [(label, HOST, holder.pid)]
    holder.terminate()
    holder.communicate(timeout=20)


def test_elect_has_it(server: RedisServer, lock_name: str) -> None:
    text = [program(), "elect", "--label", "leads", lock_name, "--", program(), "show", "--json", lock_name]
    done = subprocess.run(text, capture_output=True, text=True, timeout=60, env=environment(server), check=True)
    assert json.loads(done.stdout)["holders"][0]["label"] == "leads"


def test_the_command_refuses_what_no_connection_can_be_called(server: RedisServer, lock_name: str) -> None:
    done = command(server, "run", "--label", "two words", lock_name, "--", "true")
    assert done.returncode == 64 and 'label "two words": expected 1 to 64 visible ASCII' in done.stderr
