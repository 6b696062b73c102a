# SPDX-License-Identifier: Apache-2.0
"""`redlatch run --once` and `--at-least`: a job that many machines start and one of them runs."""

from __future__ import annotations

from pathlib import Path

from support import RedisServer, RedissonShapedPeer
from support.shell import redlatch, start_holder
from support.wire import remaining_ms


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
