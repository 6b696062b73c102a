# SPDX-License-Identifier: Apache-2.0
"""`redlatch run --once` and `--at-least`: a job that many machines start and one of them runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import redlatch as library
from support import Proxy, RedisServer, RedissonShapedPeer, wait_until
from support.shell import TIMEOUT, redlatch, start, start_holder
from support.wire import SCRIPTS, remaining_ms

# Waits for a file, then fills the pipe at standard error to its last byte.
FILL = """while ! [ -e {0} ]; do sleep 0.02; done
exec 3>&2; dd if=/dev/zero of=/dev/fd/3 bs=4096 oflag=nonblock 2>/dev/null; true"""


def test_at_least_is_the_lease_of_who_is_killed(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(server, lock_name, tmp_path, "--at-least", "60")
    holder.kill()
    holder.wait(10)
    assert 50_000 < remaining_ms(server, lock_name) <= 60_000
    (tmp_path / "other").mkdir()
    holder = start_holder(server, lock_name + "-2", tmp_path / "other", "--at-least", "60", "--lease", "20")
    assert 0 < remaining_ms(server, lock_name + "-2") <= 20_000
    holder.terminate()
    assert holder.wait(10) == 5


def test_once_is_skipped_without_a_failure(server: RedisServer, peer: RedissonShapedPeer, lock_name: str) -> None:
    once = ("run", "--once", "--at-least", "60")
    for printed in ("ran\n", ""):  # the second run comes before --at-least is over
        done = redlatch(server, *once, lock_name, "--", "echo", "ran")
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
    peer.lock(lock_name + "-2")
    done = redlatch(server, *once, "-E", "1", lock_name + "-2", "--", "echo", "ran")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    done = redlatch(server, *once, "--verbose", lock_name + "-2", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "") and f"is held by {peer.owner()}" in done.stderr


@pytest.mark.parametrize("names", [1, 2])
def test_a_lock_that_is_left_is_not_renewed(server: RedisServer, lock_name: str, tmp_path: Path, names: int) -> None:
    """redlatch hangs in its last message, as nobody reads it. The lock ends after --at-least all the same."""
    locks = [f"{lock_name}:{number}" for number in range(names)]
    options = ["--verbose", "--lease", "3", "--at-least", "1"]
    running = start(server, "run", *options, *locks, "--", "sh", "-c", FILL.format(tmp_path / "go"))
    try:
        assert running.stderr is not None
        printed = [running.stderr.readline() for _ in range(3)]
        assert "runs sh" in printed[-1]
        (tmp_path / "go").touch()
        wait_until(lambda: not server.admin.exists(*locks), TIMEOUT, "the end of --at-least")
        assert running.poll() is None
        running.communicate(timeout=10)
    finally:
        running.kill()
    assert running.returncode == 0


@pytest.mark.parametrize(("script", "count"), [("extend", 1), ("extend", 2), ("extend_permit", 1)])
def test_a_reply_after_the_end_of_at_least_is_no_loss(
    server: RedisServer, proxy: Proxy, lock_name: str, script: str, count: int
) -> None:
    """The lease is set to the rest of --at-least, which is over when the reply comes."""
    kind = ["--kind", "permit-semaphore", "--limit", "1"] if script == "extend_permit" else []
    names = [lock_name, f"{lock_name}:other"][:count]
    setting = proxy.hold_reply(SCRIPTS[script])
    running = start(server, "run", "--url", proxy.url, "--at-least", "1", *kind, *names, "--", "true")
    try:
        setting.wait_hit(TIMEOUT)
        with library.connect(server.url) as client:
            slots = client.permit_semaphore(lock_name)
            wait_until(lambda: slots.available() == 1 if kind else not server.admin.exists(*names), TIMEOUT)
        setting.release()
        assert (*running.communicate(timeout=10), running.returncode) == ("", "", 0)
    finally:
        running.kill()
