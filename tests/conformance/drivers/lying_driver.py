# SPDX-License-Identifier: Apache-2.0
"""A driver that answers wrongly, to show that the runner notices.

    lying_driver.py LIE COMMAND...

It has the calls made by another driver, the COMMAND, apart from the one lie that it is asked for.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Callable, Dict, List

Call = Dict[str, Any]
Outcome = Dict[str, Any]


class Driver:
    """The driver that tells the truth."""

    def __init__(self, command: List[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, call: Call) -> Outcome:
        """Its answer to a call."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(call).encode() + b"\n")
        self._process.stdin.flush()
        answer: Outcome = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> int:
        """Ends it; its exit status."""
        self._process.communicate()
        return self._process.returncode


Lie = Callable[[Driver, Call], Any]


def altered(name: str, change: Callable[[Outcome], Any]) -> Lie:
    """The right answer, changed for the calls of one name."""

    def lie(driver: Driver, call: Call) -> Any:
        answer = driver.answer(call)
        return change(answer) if call["call"] == name else answer

    return lie


def altered_failure(name: str, change: Callable[[Outcome], Any]) -> Lie:
    """As altered(), for the calls that fail."""
    return altered(name, lambda answer: answer if answer["status"] == "ok" else change(answer))


def says_ok(_driver: Driver, call: Call) -> Outcome:
    """Does nothing at all and is content."""
    if "start" in call:
        return {"started": True}
    values: Dict[str, Any] = {
        "open": {"uuid": ""},
        "query": {"locked": False, "ttl_ms": 0, "owner": ""},
        "hold": {"held": True, "lost": False, "count": 1, "remaining_ms": 29_000, "owner": "", "token": 0},
        "force_release": True,
        "is_waiting": True,
    }
    return {"status": "ok", "value": values[call["call"]]} if call["call"] in values else {"status": "ok"}


def acquires_twice(driver: Driver, call: Call) -> Outcome:
    """Takes two levels where one is asked for."""
    if call["call"] == "acquire":
        driver.answer(call)
    return driver.answer(call)


def forgets_to_release(driver: Driver, call: Call) -> Outcome:
    """Says that it has released, and has not."""
    return {"status": "ok"} if call["call"] == "release" else driver.answer(call)


def ends(driver: Driver, call: Call) -> Outcome:
    """Dies in the middle."""
    if call["call"] == "release":
        sys.exit(3)
    return driver.answer(call)


def prints(driver: Driver, call: Call) -> Outcome:
    """Writes to the standard error, as no library should."""
    sys.stderr.write("a warning from the library\n")
    return driver.answer(call)


def talks(driver: Driver, call: Call) -> Outcome:
    """Prints a line too many."""
    if call["call"] == "query":
        print(json.dumps({"status": "ok"}))
    return driver.answer(call)


LIES: Dict[str, Lie] = {
    "says_ok": says_ok,
    "acquires_twice": acquires_twice,
    "forgets_to_release": forgets_to_release,
    "ends": ends,
    "prints": prints,
    "talks": talks,
    "wrong_status": altered("release", lambda answer: {"status": "not_owned", "message": "not held"}),
    "another_failure": altered_failure("lock", lambda answer: {**answer, "status": "exit 69"}),
    "no_message": altered_failure("lock", lambda answer: {"status": answer["status"]}),
    "empty_message": altered_failure("lock", lambda answer: {**answer, "message": ""}),
    "message_without_the_value": altered_failure("lock", lambda answer: {**answer, "message": "bad"}),
    "wrong_owner": altered("query", lambda answer: {**answer, "value": {**answer["value"], "owner": ""}}),
    "wrong_flag": altered("query", lambda answer: {**answer, "value": {**answer["value"], "locked": 1}}),
    "wrong_time": altered("hold", lambda answer: {**answer, "value": {**answer["value"], "remaining_ms": 31_000}}),
    "wrong_count": altered("hold", lambda answer: {**answer, "value": {**answer["value"], "count": 2}}),
    "wrong_number": altered("available", lambda answer: {**answer, "value": answer["value"] + 1}),
    "same_permit_twice": altered("acquire_permits", lambda answer: {**answer, "value": answer["value"][:1] * 2}),
    "a_member_too_few": altered("hold", lambda answer: {**answer, "value": {"held": True}}),
    "a_member_too_many": altered("release", lambda answer: {**answer, "value": True}),
    "wrong_uuid": altered("open", lambda answer: {**answer, "value": {"uuid": answer["value"]["uuid"][:-1] + "?"}}),
    "no_object": altered("release", lambda answer: [answer]),
    "no_json": altered("release", lambda answer: None),
}

# What looks odd and is allowed: a language may have no uuid to tell.
HABITS: Dict[str, Lie] = {"no_uuid": altered("open", lambda answer: {**answer, "value": {"uuid": ""}})}


def main() -> None:
    """As a driver's, with the lie in between."""
    lie = {**LIES, **HABITS}[sys.argv[1]]
    driver = Driver(sys.argv[2:])
    for line in sys.stdin:
        answer = lie(driver, json.loads(line))
        print("ok" if answer is None else json.dumps(answer), flush=True)
    sys.exit(driver.close())


if __name__ == "__main__":
    main()
