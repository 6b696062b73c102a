# SPDX-License-Identifier: Apache-2.0
"""The hand-off game of hand_off.h for a Python lock library: two processes pass one lock to and fro.

A sample is the time from the call of release in one process to the return of acquire in the other.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import socket
import struct
import sys
import time
from typing import Any

from python_locks import LIBRARIES


def play(lock: Any, side: int, link: socket.socket, board: mmap.mmap, options: argparse.Namespace) -> None:
    """Play one side; side 0 begins as the holder. Slot 0 of the board is the time of the last release."""
    passes = options.passes

    def tell() -> None:
        link.sendall(b"x")

    def hear() -> None:
        if link.recv(1) != b"x":
            raise RuntimeError("the other player of the hand-off is gone")

    if side == 0:
        lock.acquire()
        tell()
    for number in range(passes):
        if number % 2 == side:
            hear()  # the other is about to wait
            time.sleep(random.uniform(0.002, options.hold))
            struct.pack_into("q", board, 0, time.monotonic_ns())
            lock.release()
        else:
            hear()  # the other holds
            tell()
            lock.acquire()
            (released_ns,) = struct.unpack_from("q", board, 0)
            struct.pack_into("q", board, 8 * (number + 1), time.monotonic_ns() - released_ns)
            if number + 1 < passes:
                tell()
    if passes % 2 == side:
        lock.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=sorted(LIBRARIES), required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--passes", type=int, default=40)
    parser.add_argument("--hold", type=float, default=0.004, help="longest time to hold, in seconds")
    options = parser.parse_args()

    board = mmap.mmap(-1, 8 * (options.passes + 1))
    links = socket.socketpair()
    child = os.fork()
    side = 1 if child == 0 else 0
    links[1 - side].close()
    lock = LIBRARIES[options.library](options.port)("bench:hand_off")
    play(lock, side, links[side], board, options)
    if child == 0:
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit("the second process of the hand-off failed")
    samples = struct.unpack_from(f"{options.passes}q", board, 8)
    print(json.dumps({"samples_us": [sample / 1000 for sample in samples]}))


if __name__ == "__main__":
    main()
