"""Scene 3: a holder that is stopped for longer than its lease is notified of the loss, and disturbs nobody.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import sys
import time
from pathlib import Path

from show import Child, say, title, verdict

import redlatch

HERE = Path(__file__).resolve().parent
LEASE = 1.0


def run(url: str) -> bool:
    """Plays the scene. Returns whether it showed what it should."""
    title(f"3. A pause: a holder is stopped (SIGSTOP) for longer than its lease of {LEASE:.0f} s")
    name = "demo:pause"
    command = [sys.executable, str(HERE / "holder.py"), url, name, str(LEASE)]
    with Child(command) as holder, redlatch.connect(url) as client:
        say("holder: " + holder.read())
        os.kill(holder.process.pid, signal.SIGSTOP)
        say("holder stopped")
        stopped = time.monotonic()
        lock = client.lock(name)
        lock.acquire()
        say(f"somebody else has the lock {time.monotonic() - stopped:.3f} s later")
        mine = lock.state().owner
        os.kill(holder.process.pid, signal.SIGCONT)
        say("holder woken")
        event = holder.read()
        say("holder: " + event)
        holder.tell()
        answer = holder.read()
        say("holder: " + answer)
        release = holder.read()
        say("holder: " + release)
        notified = verdict(event == "event lost" and answer == "lost" and release.startswith("release says"),
                       "the holder was told by an event, by `lost` and by release")
        untouched = verdict(lock.owned() and lock.state().owner == mine, "the new holder still holds the lock")
        lock.release()
        return notified and untouched
