# SPDX-License-Identifier: Apache-2.0
"""A suspended machine: leases that ended meanwhile are reported as losses as soon as it resumes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest
from support import RedisServer


def is_portable() -> bool:
    """Returns whether the tested build uses only POSIX system calls, and therefore CLOCK_MONOTONIC."""
    cache = Path(__file__).resolve().parents[2] / os.environ.get("REDLATCH_BUILD", "build") / "CMakeCache.txt"
    return "REDLATCH_PORTABLE:BOOL=ON" in cache.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def suspend_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to preload, with a function `suspend`."""
    library = tmp_path_factory.mktemp("suspend") / "suspend.so"
    source = Path(__file__).with_name("suspend.c")
    clock = ["-DMONOTONIC_COUNTS"] if is_portable() else []
    subprocess.run(["cc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", *clock, "-o", library, source], check=True)
    return library


PROGRAM = """
import ctypes, sys, redlatch
with redlatch.connect(sys.argv[1], watchdog_lease=120) as client:
    lock = client.lock(sys.argv[2])
    assert lock.acquire(lease=float(sys.argv[3]))
    lost = lock.held().lost_event
    assert not lost.wait(0.3)
    ctypes.CDLL(None).suspend(3600)
    assert lost.wait(10), "the loss is not told"
    try:
        lock.release()
    except redlatch.LockLostError:
        print("lost")
"""


@pytest.mark.parametrize("lease", [-1, 40])
def test_a_loss_is_reported_when_the_machine_goes_on(
    server: RedisServer, suspend_library: Path, lock_name: str, lease: int
) -> None:
    environment: Dict[str, str] = {**os.environ, "LD_PRELOAD": str(suspend_library)}
    words = [sys.executable, "-c", PROGRAM, server.url, lock_name, str(lease)]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "lost\n"), ended.stderr
