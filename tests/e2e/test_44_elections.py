# SPDX-License-Identifier: Apache-2.0
"""Elections: one candidate leads at a time, its callbacks come in order, and another candidate follows it."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from typing import Any, Iterator, List, Tuple

import pytest
import redlatch
from redlatch import elections
from support import Proxy, RedisServer, wait_until
from support.wire import fields, subscribers

SOON = 10.0


@pytest.fixture
def clients(server: RedisServer) -> Iterator[Tuple[redlatch.Client, redlatch.Client]]:
    """Two clients. To the library they are two processes."""
    with redlatch.connect(server.url, watchdog_lease=3) as one, redlatch.connect(server.url) as other:
        yield one, other


class Story:
    """The callbacks of candidates, in the order of their calls."""

    def __init__(self) -> None:
        self.events: List[str] = []

    def candidate(self, client: redlatch.Client, name: str, who: str) -> redlatch.Election:
        """Returns a candidate whose callbacks are recorded here."""
        gain, loss = (lambda event=event: self.events.append(f"{who} {event}") for event in ("gain", "loss"))
        return client.elect(name, on_gain=gain, on_loss=loss)

    def wait(self, *lines: str) -> None:
        """Waits until exactly these events were recorded."""
        wait_until(lambda: len(self.events) >= len(lines), SOON, f"{lines}, and not {self.events}")
        assert self.events == list(lines)


def test_one_leads_and_another_follows(
    clients: Tuple[redlatch.Client, redlatch.Client], server: RedisServer, lock_name: str
) -> None:
    story = Story()
    one, other = (story.candidate(*each) for each in zip(clients, (lock_name, lock_name), ("one", "other")))
    assert one.leader() is None and not one.is_leader
    with one:
        story.wait("one gain")
        with other:
            leader = other.leader()
            assert leader is not None and leader.owner.startswith(clients[0].uuid) and leader.host is not None
            assert one.is_leader and not other.is_leader
            one.resign()
            assert not one.is_leader
            story.wait("one gain", "one loss", "other gain")
            one.resign()
        assert fields(server, lock_name) == {}
    assert story.events == ["one gain", "one loss", "other gain", "other loss"]
    assert repr(one) == f"<redlatch.Election {lock_name!r}, over>"
    with pytest.raises(RuntimeError, match="has begun before; expected another client"):
        one.__enter__()


def test_on_loss_returns_before_another_one_gains(
    clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    story = Story()
    stops, stopped = threading.Event(), threading.Event()
    gained = threading.Event()

    def stop() -> None:
        stops.set()
        assert not first.is_leader and stopped.wait(SOON)
        story.events.append("one stopped")

    with clients[0].elect(lock_name, on_gain=gained.set, on_loss=stop) as first, gained_then(gained):
        with story.candidate(clients[1], lock_name, "other"):
            resigning = threading.Thread(target=first.resign)
            resigning.start()
            leader = first.leader() if stops.wait(SOON) else None
            assert leader is not None and leader.owner.startswith(clients[0].uuid)
            assert story.events == []
            stopped.set()
            resigning.join()
            story.wait("one stopped", "other gain")


def gained_then(gained: threading.Event) -> Any:
    """Waits for the event. Returns a context manager for the rest of the block."""
    assert gained.wait(SOON)
    return threading.Lock()


def test_a_loss_is_noticed_and_it_stands_again(
    clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    story = Story()
    with story.candidate(clients[0], lock_name, "one") as election:
        story.wait("one gain")
        assert clients[1].lock(lock_name).force_release()
        story.wait("one gain", "one loss", "one gain")
        assert election.is_leader
    assert story.events[3:] == ["one loss"]
    assert clients[0].stats()["held"] == 0


def test_a_leader_that_is_cut_off_stops_by_the_clock_and_another_one_follows(
    proxy: Proxy, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    story = Story()
    with redlatch.connect(proxy.url, watchdog_lease=1.5, unreachable_timeout=1) as far:
        with story.candidate(far, lock_name, "far") as election:
            story.wait("far gain")
            found: List[bool] = []  # whether the old leader still led when the next one gained
            near = clients[1].elect(lock_name, on_gain=lambda: found.append(election.is_leader))
            with near:
                refusing = proxy.refuse()
                proxy.cut_all()
                wait_until(lambda: found != [], SOON, "the one that follows")
                assert found == [False]
                story.wait("far gain", "far loss")
                proxy.discard(refusing)
            story.wait("far gain", "far loss", "far gain")


def test_a_candidate_outlives_errors(
    proxy: Proxy, lock_name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(elections, "RETRY", 0.05)
    story = Story()
    with redlatch.connect(proxy.url, unreachable_timeout=0.2) as client:
        refusing = proxy.refuse()
        proxy.cut_all()
        with caplog.at_level(logging.WARNING, "redlatch"), story.candidate(client, lock_name, "one"):
            wait_until(lambda: "goes on after" in caplog.text, SOON, "the complaint")
            proxy.discard(refusing)
            story.wait("one gain")
    assert caplog.text.count("goes on after") == 1


def cut_all(server: RedisServer) -> None:
    for kind in ("normal", "pubsub"):
        server.admin.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def read_only(server: RedisServer) -> None:
    server.admin.replicaof("127.0.0.1", "1")


def writable(server: RedisServer) -> None:
    server.admin.replicaof("NO", "ONE")


def closed_to_all(server: RedisServer) -> None:
    server.admin.config_set("requirepass", "word")
    cut_all(server)


def open_to_all(server: RedisServer) -> None:
    server.admin.config_set("requirepass", "")


def without_scripts(server: RedisServer) -> None:
    server.admin.acl_setuser("default", commands=["-evalsha", "-eval"])


def with_scripts(server: RedisServer) -> None:
    server.admin.acl_setuser("default", commands=["+evalsha", "+eval"])


# Misconfigurations of a server: what makes and what mends each.
FLAWS = {
    "read_only": (read_only, writable),
    "authentication": (closed_to_all, open_to_all),
    "no_permission": (without_scripts, with_scripts),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_candidate_goes_on_until_the_server_is_mended(
    fresh_server: RedisServer,
    lock_name: str,
    flaw: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(elections, "RETRY", 0.05)
    story, (spoil, mend) = Story(), FLAWS[flaw]
    with redlatch.connect(fresh_server.url, unreachable_timeout=0.2) as client:
        spoil(fresh_server)
        with caplog.at_level(logging.WARNING, "redlatch"), story.candidate(client, lock_name, "one") as election:
            wait_until(lambda: "goes on after" in caplog.text, SOON, "the complaint")
            errors = client.stats()["scripts"]
            wait_until(lambda: client.stats()["scripts"] > errors + 1 or flaw == "authentication", SOON, "it to repeat")
            assert not election.is_leader and story.events == []
            mend(fresh_server)
            story.wait("one gain")
    assert caplog.text.count("goes on after") == 1
    assert story.events == ["one gain", "one loss"]


def test_a_candidate_resigns_while_the_server_refuses(
    fresh_server: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with redlatch.connect(fresh_server.url, unreachable_timeout=0.2) as client:
        read_only(fresh_server)
        with client.elect(lock_name) as election:
            wait_until(lambda: "goes on after" in caplog.text, SOON, "the complaint")
            election.resign()
            assert not election.is_leader


def test_an_error_that_stays_ends_the_candidacy(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    server.admin.lpush(lock_name, "no lock")
    with pytest.raises(redlatch.WrongTypeError), clients[0].elect(lock_name) as election:
        assert election._thread is not None
        election._thread.join(SOON)
        assert not election.is_leader


@pytest.mark.parametrize("which", ["on_gain", "on_loss"])
def test_a_callback_that_raises_ends_the_candidacy(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str, which: str
) -> None:
    story = Story()

    def fail() -> None:
        raise KeyError(which)

    callbacks = {"on_gain": lambda: story.events.append("gain"), "on_loss": lambda: story.events.append("loss")}
    callbacks[which] = fail
    with pytest.raises(KeyError, match=which), clients[0].elect(lock_name, **callbacks) as election:
        wait_until(lambda: election.is_leader or not election._thread.is_alive(), SOON, "the gain")
    assert story.events == ([] if which == "on_gain" else ["gain"])
    assert fields(server, lock_name) == {} and clients[0].stats()["held"] == 0


def test_a_callback_may_resign(
    server: RedisServer, clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str
) -> None:
    story = Story()

    def resign() -> None:
        election.resign()

    election = clients[0].elect(lock_name, on_gain=resign, on_loss=lambda: story.events.append("loss"))
    with election:
        story.wait("loss")
    assert fields(server, lock_name) == {}


def test_the_exception_of_the_block_wins(clients: Tuple[redlatch.Client, redlatch.Client], lock_name: str) -> None:
    with pytest.raises(ZeroDivisionError), clients[0].elect(lock_name):
        raise ZeroDivisionError
    with clients[1].lock(lock_name, timeout=SOON):  # an acquire in flight is undone in the background
        pass


def test_a_waiting_candidate_resigns_at_once(
    server: RedisServer,
    clients: Tuple[redlatch.Client, redlatch.Client],
    lock_name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with clients[1].lock(lock_name), clients[0].elect(lock_name) as election:
        wait_until(lambda: subscribers(server, lock_name) == 1, SOON, "it to wait")
        election.resign()
        assert not election.is_leader
    assert caplog.records == []


def test_a_client_that_is_closed(server: RedisServer, lock_name: str) -> None:
    story = Story()
    client = redlatch.connect(server.url)
    with story.candidate(client, lock_name, "one") as election:
        story.wait("one gain")
        client.close()
        story.wait("one gain", "one loss")
        assert not election.is_leader
    assert fields(server, lock_name) == {}


def test_an_exception_while_it_begins_ends_it(
    server: RedisServer,
    clients: Tuple[redlatch.Client, redlatch.Client],
    lock_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exception is that of Ctrl-C or of a SIGTERM, before the block is entered."""
    story = Story()
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        story.wait("one gain")
        raise KeyboardInterrupt

    election = story.candidate(clients[0], lock_name, "one")
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        election.__enter__()
    assert story.events == ["one gain", "one loss"]
    assert fields(server, lock_name) == {}


@pytest.mark.parametrize("leads", [True, False])
def test_a_program_that_ends_without_resigning(server: RedisServer, lock_name: str, leads: bool) -> None:
    """The candidacy ends with the client, and prints nothing. The thread of a leader may or may not call on_loss before
    Python ends."""
    text = (
        "import os, sys, threading, redlatch\n"
        "client = redlatch.connect(sys.argv[1])\n"
        "gained = threading.Event()\n"
        "election = client.elect(sys.argv[2], on_gain=gained.set, on_loss=lambda: os.write(1, b'loss'))\n"
        "election.__enter__()\n"
    ) + ("gained.wait()\n" if leads else "")
    with contextlib.ExitStack() as others:
        if not leads:
            others.enter_context(redlatch.connect(server.url)).lock(lock_name).acquire()
        ended = subprocess.run(
            [sys.executable, "-c", text, server.url, lock_name], capture_output=True, text=True, timeout=30, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout in (["", "loss"] if leads else [""])


def test_an_election_made_before_a_fork(server: RedisServer, lock_name: str) -> None:
    """A forked child can use an election that the parent made: it stands, leads, and is notified of its loss."""
    with redlatch.connect(server.url, watchdog_lease=1.0) as client:
        leads, lost = threading.Event(), threading.Event()
        election = client.elect(lock_name, on_gain=leads.set, on_loss=lost.set)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with election:
                    assert leads.wait(10) and election.is_leader
                    server.client().delete(lock_name)
                    status = 0 if lost.wait(10) else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert not leads.is_set() and not election.is_leader
