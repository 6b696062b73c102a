# SPDX-License-Identifier: Apache-2.0
"""More cycles, clients or errors leave no more memory, descriptors, threads and connections behind."""

from __future__ import annotations

import subprocess
import sys
from typing import Dict

import pytest
from scenes import play, scenes_of
from support import RedisServer, wait_until


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scene", scenes_of("scenes_resources"))
def test_resources_in_c(server: RedisServer, lock_name: str, scene: str) -> None:
    play("scenes_resources", scene, server.url, lock_name, timeout=280)


# Runs in a process of its own, where nothing else takes memory. Measures what is left by `cycle(number)`.
MEASURE = """
import gc, os, sys, threading, time
import redlatch

url, name, few, many = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def rss_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024

def count(folder):
    return len(os.listdir(folder))

def measure():
    gc.collect()
    time.sleep(0.2)
    # A client opens a connection when it first needs it: when two threads use it at a time, or when it first renews,
    # which in a slow run is after the first measurement. Those are not counted.
    clients = [value for value in globals().values() if isinstance(value, redlatch.Client)]
    connections = sum(client.stats()["connections"] for client in clients)
    return rss_kib(), count("/proc/self/fd") - connections, count("/proc/self/task"), sys.getallocatedblocks()

%s

for number in range(few):
    cycle(number)
before = measure()
for number in range(few, many):
    cycle(number)
after = measure()
print(*[b - a for a, b in zip(before, after)])
"""

CYCLES: Dict[str, str] = {
    "with": """
client = redlatch.connect(url)
lock = client.lock(name)
def cycle(number):
    with lock:
        pass
""",
    "names": """
client = redlatch.connect(url)
def cycle(number):
    with client.lock(f"{name}:{number}", timeout=60) as hold:
        hold.remaining()
""",
    "events": """
client = redlatch.connect(url)
lock = client.lock(name)
def cycle(number):
    with lock as hold:
        hold.lost_event.is_set()
""",
    "clients": """
def cycle(number):
    client = redlatch.connect(url)
    lock = client.lock(name)
    lock.acquire()
    if number % 2:
        lock.held().lost_event
        lock.release()
    if number % 3:
        client.close()
""",
    "errors": """
client = redlatch.connect(url)
lock = client.lock(name)
calls = [
    lock.release, lambda: client.lock(""), lambda: lock.acquire(lease=0), lambda: redlatch.connect("redis://h:0"),
    lambda: client.lock(name, owner="x"), lambda: lock.extend(5),
]
def cycle(number):
    try:
        calls[number % len(calls)]()
    except redlatch.RedlatchError:
        return
    raise AssertionError(number)
""",
    "time-outs": """
client = redlatch.connect(url)
other = redlatch.connect(url)
other.lock(name).acquire()
lock = client.lock(name)
def cycle(number):
    assert not lock.acquire(timeout=0 if number % 10 else 0.001)
""",
    "losses": """
client = redlatch.connect(url)
other = redlatch.connect(url).lock(name)
lock = client.lock(name)
def cycle(number):
    lock.acquire()
    hold = lock.held()
    event = hold.lost_event if number % 2 else None
    other.force_release()
    try:
        lock.release()
    except redlatch.LockLostError:
        assert hold.lost
        return
    raise AssertionError(number)
""",
    "threads": """
client = redlatch.connect(url)
lock = client.lock(name)
def use():
    with lock:
        pass
def cycle(number):
    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
""",
}
COUNTS = {"clients": (200, 2_000), "errors": (10_000, 100_000), "losses": (20_000, 40_000), "threads": (500, 3_000)}
ALLOWED_KIB = 256


@pytest.mark.timeout(200)
@pytest.mark.parametrize("cycle", list(CYCLES))
def test_resources_in_python(server: RedisServer, lock_name: str, cycle: str) -> None:
    few, many = COUNTS.get(cycle, (2_000, 20_000))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE % CYCLES[cycle], server.url, lock_name, str(few), str(many)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rss_kib, descriptors, threads, blocks = map(int, done.stdout.split())
    assert (descriptors, threads) == (0, 0)
    assert rss_kib < ALLOWED_KIB, f"{rss_kib} KiB more"
    assert blocks < 1_000, f"{blocks} objects more"
    wait_until(lambda: not server.client_list("redlatch:"))
