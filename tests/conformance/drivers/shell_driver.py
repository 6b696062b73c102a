# SPDX-License-Identifier: Apache-2.0
"""The shell driver: reads calls as lines of JSON from the standard input and makes them with the command `redlatch`.

    shell_driver.py COMMAND

It only translates. A hold is a `redlatch run` whose CMD waits for the end of its input: that end is the release. An
actor is the owner of such a process. The status of a failure is "exit" with the exit status of the command; its message
is what the command wrote to its standard error. A release where no CMD runs has nothing to end: "not_owned".

The shell has no client objects and no lock objects. Opening a client lists the locks of its server, and making a lock
runs `redlatch wait -w 0` on its name. Both report a wrong URL or name. Their other failures are left to the later call
that has the same failure.
"""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import Any, Dict, List, Optional, Tuple, Union

from lines import serve

Call = Dict[str, Any]
Outcome = Dict[str, Any]
Text = Union[str, Dict[str, str]]

COMMAND = sys.argv[1] if len(sys.argv) > 1 else "redlatch"
# The CMD under the lock: prints its owner and its token, and ends with its input.
HOLD = ["sh", "-c", 'echo "$REDLATCH_OWNER ${REDLATCH_TOKEN:-0}" && exec cat >/dev/null']
USAGE = 64
FREE = 3
NOBODY = {"held": False, "lost": False, "count": 0, "remaining_ms": 0, "owner": "", "token": 0}


def text(value: Text) -> bytes:
    """Returns a name as an argument of a program."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()


def seconds(milliseconds: int) -> str:
    """Returns a time as an argument of the command."""
    return f"{milliseconds / 1000:.3f}"


def failure(status: int, message: str) -> Outcome:
    """Returns the outcome of a command that failed."""
    return {"status": f"exit {status}", "message": message.strip()}


def done(words: List[Any]) -> Tuple[int, str, str]:
    """Runs a command to its end. Returns its exit status, its output and its errors."""
    ended = subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode("utf-8", "replace")


class Run:
    """A `redlatch run` that waits, holds or has ended."""

    def __init__(self, words: List[Any]) -> None:
        with ExitStack() as stack:
            # The errors are read at the end only. A pipe could fill before, so this is a file.
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                [COMMAND, "run", *words, "--", *HOLD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
            self._files = stack.pop_all()
        self.owner = ""
        self.token = 0

    def is_waiting(self) -> bool:
        """Returns whether CMD has not begun and the command has not ended."""
        return not self.owner and not select.select([self._process.stdout], [], [], 0)[0]

    def has_ended(self) -> bool:
        """Returns whether the command has ended before its CMD was ended."""
        return self._process.poll() is not None

    def granted(self) -> Optional[Outcome]:
        """Waits until CMD has begun. Returns the failure if it never does."""
        assert self._process.stdout is not None
        notified = self._process.stdout.readline().decode().split()
        if not notified:
            return self.end()
        self.owner, self.token = notified[0], int(notified[1])
        return None

    def end(self, number: int = 0) -> Outcome:
        """Ends CMD by closing its input, or the command by a signal. Returns the outcome of the command."""
        if number:
            self._process.send_signal(number)
        self._process.communicate()
        status = self._process.returncode
        with self._files:
            self._errors.seek(0)
            message = self._errors.read().decode("utf-8", "replace")
        return {"status": "ok"} if status == 0 else failure(status, message)


class Wait:
    """A `redlatch wait` that was started."""

    def __init__(self, words: List[Any]) -> None:
        command = [COMMAND, "wait", *words]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def is_waiting(self) -> bool:
        """Returns whether it is still running."""
        return self._process.poll() is None

    def end(self, number: int = 0) -> Outcome:
        """Waits for the end of the command, after sending it a signal if `number` is given. Returns its outcome."""
        if number:
            self._process.send_signal(number)
        _, errors = self._process.communicate()
        status = self._process.returncode
        # When the name was held all the time, only the exit status shows it.
        message = errors.decode("utf-8", "replace") or "held all the time"
        return {"status": "ok"} if status == 0 else failure(status, message)


# What `show` reports of a waiter, besides its owner id.
WAITER: Dict[str, Any] = {"role": "waiter", "count": 0, "host": "", "pid": 0, "label": ""}


def notified(found: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a report of `show` or `list` as the vocabulary has it."""
    parties = [
        {
            "role": holder.get("role", "holder"),
            "owner": holder["owner"],
            "count": holder["count"],
            "host": holder.get("host", ""),
            "pid": holder.get("pid", 0),
            "label": holder.get("label", ""),
        }
        for holder in found["holders"]
    ]
    parties += [{**WAITER, "owner": waiter} for waiter in found["waiters"]]
    return {
        "name": {"hex": found["name_hex"]} if "name_hex" in found else found["name"],
        "detected_kind": found["kind"],
        "type": found["type"],
        "ttl_ms": found["ttl_ms"],
        "token": found.get("token", 0),
        "holders": found["holder_count"],
        "waiters": found["waiter_count"],
        "count": found.get("count", 0),
        "parties": parties,
    }


class Driver:
    """The calls: one method each, by their names in the vocabulary."""

    def __init__(self) -> None:
        self._clients: Dict[str, Dict[str, List[Any]]] = {}
        self._locks: Dict[str, Dict[str, List[Any]]] = {}
        self._runs: Dict[Tuple[str, str], Run] = {}
        self._started: Dict[str, Tuple[str, str]] = {}
        self._waits: Dict[str, Wait] = {}

    def answer(self, call: Call) -> Outcome:
        """Makes a call."""
        answer: Outcome = getattr(self, f"call_{call['call']}")(call)
        return answer

    def call_open(self, call: Call) -> Outcome:
        options = call.get("options", {})
        place: List[Any] = ["--url", call["url"]]
        if "name_prefix" in options:
            place += ["--prefix", text(options["name_prefix"])]
        run = ["--lease", seconds(options["watchdog_lease_ms"])] if "watchdog_lease_ms" in options else []
        run += ["--label", options["label"]] if "label" in options else []
        if not options.get("lazy"):
            status, _, errors = done(["list", "--json", *place])
            if status:
                return failure(status, errors)
        self._clients[call["client"]] = {"place": place, "run": run}
        return {"status": "ok", "value": {"uuid": ""}}

    def call_lock(self, call: Call) -> Outcome:
        client = self._clients[call["client"]]
        options = call.get("options", {})
        place = [*client["place"], "--", text(call["name"])]
        status, _, errors = done(["wait", "-w", "0", *place])
        if status == USAGE:
            return failure(status, errors)
        run = ["--max-hold", seconds(options["max_hold_ms"])] if "max_hold_ms" in options else []
        run += ["--kind", call["kind"]] if "kind" in call else []
        run += ["--key-template", text(options["key_template"])] if "key_template" in options else []
        self._locks[call["lock"]] = {"place": place, "run": [*client["run"], *run]}
        return {"status": "ok"}

    def call_acquire(self, call: Call) -> Outcome:
        wait = [] if call["wait_ms"] == "forever" else ["-w", seconds(call["wait_ms"])]
        return self._acquire(call, wait)

    def call_try_acquire(self, call: Call) -> Outcome:
        return self._acquire(call, ["-n"])

    def _acquire(self, call: Call, wait: List[Any]) -> Outcome:
        lock, key = self._locks[call["lock"]], self._key(call)
        if key in self._runs:
            return {"error": "a second level: that is another command, which would wait for the first"}
        self._runs[key] = Run(["--verbose", *wait, *lock["run"], *lock["place"]])
        if "start" in call:
            self._started[call["by"]] = key
            return {"started": True}
        return self._granted(key)

    def _granted(self, key: Tuple[str, str]) -> Outcome:
        failed = self._runs[key].granted()
        if failed:
            del self._runs[key]
        return failed or {"status": "ok"}

    def call_finish(self, call: Call) -> Outcome:
        if call["by"] in self._waits:
            return self._waits.pop(call["by"]).end()
        return self._granted(self._started.pop(call["by"]))

    def call_is_waiting(self, call: Call) -> Outcome:
        if call["by"] in self._waits:
            return {"status": "ok", "value": self._waits[call["by"]].is_waiting()}
        return {"status": "ok", "value": self._runs[self._started[call["by"]]].is_waiting()}

    def call_release(self, call: Call) -> Outcome:
        run = self._runs.pop(self._key(call), None)
        if run is None:
            name = self._locks[call["lock"]]["place"][-1].decode("utf-8", "replace")
            return {"status": "not_owned", "message": f"there is no command to end: none of this actor's holds {name}"}
        return run.end()

    def call_leave(self, call: Call) -> Outcome:
        for key in [key for key in self._runs if key[1] == call["by"]]:
            self._runs.pop(key).end(signal.SIGKILL)
        return {"status": "ok"}

    def call_force_release(self, call: Call) -> Outcome:
        status, _, errors = done(["unlock", "--force", *self._locks[call["lock"]]["place"]])
        return {"status": "ok", "value": status == 0} if status in (0, FREE) else failure(status, errors)

    def call_query(self, call: Call) -> Outcome:
        status, output, errors = done(["show", "--json", *self._locks[call["lock"]]["place"]])
        if status not in (0, FREE):
            return failure(status, errors or output)
        found = json.loads(output)
        holder = found["holders"][0] if found["holders"] else {"owner": "", "count": 0}
        value = {"locked": found["held"], "ttl_ms": found["ttl_ms"], "owner": holder["owner"], "count": holder["count"]}
        return {"status": "ok", "value": {**value, "holders": found["holder_count"], "waiters": found["waiter_count"]}}

    def call_hold(self, call: Call) -> Outcome:
        """Returns what CMD can find out about its hold: whether the server still names its owner."""
        run = self._runs.get(self._key(call))
        if run is None:
            return {"status": "ok", "value": NOBODY}
        if run.has_ended():
            return {"status": "ok", "value": {**NOBODY, "lost": True, "owner": run.owner, "token": run.token}}
        place = self._locks[call["lock"]]["place"]
        status, output, errors = done(["show", "--json", "--owner", run.owner, *place])
        if status not in (0, FREE):
            return failure(status, errors)
        found = json.loads(output)
        counts = {holder["owner"]: holder["count"] for holder in found["holders"]}
        count = counts.get(run.owner, 0)
        left = found["ttl_ms"] if count else 0
        value = {"held": status == 0, "lost": False, "count": count, "remaining_ms": left}
        return {"status": "ok", "value": {**value, "owner": run.owner, "token": run.token}}

    def call_inspect(self, call: Call) -> Outcome:
        place = self._clients[call["client"]]["place"]
        status, output, errors = done(["show", "--json", *place, "--", text(call["name"])])
        return {"status": "ok", "value": notified(json.loads(output))} if output else failure(status, errors)

    def call_scan(self, call: Call) -> Outcome:
        place = self._clients[call["client"]]["place"]
        status, output, errors = done(["list", "--json", *place, "--", text(call["name"])])
        if status:
            return failure(status, errors)
        reports = [notified(found) for found in json.loads(output)]
        for report in reports:  # `list` adds hosts, which the other languages' scans do not
            for party in report["parties"]:
                party.update(host="", pid=0, label="")
        return {"status": "ok", "value": reports}

    def call_wait_free(self, call: Call) -> Outcome:
        limit = [] if call["wait_ms"] == "forever" else ["-w", seconds(call["wait_ms"])]
        wait = Wait([*limit, *self._clients[call["client"]]["place"], "--", text(call["name"])])
        if "start" in call:
            self._waits[call["by"]] = wait
            return {"started": True}
        return wait.end()

    @staticmethod
    def _key(call: Call) -> Tuple[str, str]:
        return call["lock"], call.get("by", "")

    def close(self) -> None:
        """Ends every command by a signal, as in a shell. The commands release their holds."""
        for run in [*self._runs.values(), *self._waits.values()]:
            run.end(signal.SIGTERM)


if __name__ == "__main__":
    serve(Driver)
