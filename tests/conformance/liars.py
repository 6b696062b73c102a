# SPDX-License-Identifier: Apache-2.0
"""Drivers that answer wrongly, to show that the runner notices."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict

from runner import Answer, Driver, DriverProcess

Call = Dict[str, Any]
Ask = Callable[[Call], Answer]
Lie = Callable[[Ask, Call], Any]


class Liar:
    """A driver whose answers are replaced by lies."""

    def __init__(self, process: DriverProcess, lie: Lie) -> None:
        self.driver: Driver = process.driver
        self._process = process
        self._lie = lie

    def ask(self, call: Call) -> Answer:
        """Returns the lie."""
        answer: Answer = self._lie(self._process.ask, call)
        return answer

    def reset(self) -> None:
        """Resets the driver truthfully."""
        self._process.reset()

    def give_up(self) -> None:
        """Only resets the driver, since it made no mistake itself, unless the driver was killed."""
        if self._process.running:
            self._process.reset()


class Idler:
    """A driver that does nothing and answers with success."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def ask(self, call: Call) -> Answer:
        """Returns a plausible answer."""
        return says_ok(self.ask, call)

    def reset(self) -> None:
        """Does nothing."""

    give_up = reset


def altered(name: str, change: Callable[[Answer], Any]) -> Lie:
    """A lie that changes the answers to the calls of one name."""

    def lie(ask: Ask, call: Call) -> Any:
        answer = ask(call)
        return change(answer) if call["call"] == name else answer

    return lie


def altered_failure(name: str, change: Callable[[Answer], Any]) -> Lie:
    """A lie that changes the failures of the calls of one name."""
    return altered(name, lambda answer: answer if answer["status"] == "ok" else change(answer))


def says_ok(_ask: Ask, call: Call) -> Answer:
    """Does nothing and answers with success."""
    if "start" in call:
        return {"started": True}
    values: Dict[str, Any] = {
        "open": {"uuid": ""},
        "query": {"locked": False, "ttl_ms": 0, "owner": "", "count": 0, "holders": 0, "waiters": 0},
        "hold": {"held": True, "lost": False, "count": 1, "remaining_ms": 29_000, "owner": "", "token": 0},
        "force_release": True,
        "is_waiting": True,
    }
    return {"status": "ok", "value": values[call["call"]]} if call["call"] in values else {"status": "ok"}


def acquires_twice(ask: Ask, call: Call) -> Answer:
    """Acquires twice for one acquire."""
    if call["call"] == "acquire":
        ask(call)
    return ask(call)


def forgets_to_release(ask: Ask, call: Call) -> Answer:
    """Answers a release with success, without releasing."""
    return {"status": "ok"} if call["call"] == "release" else ask(call)


def elsewhere(answer: Answer, **place: Any) -> Answer:
    """Returns a report with its only party changed."""
    (party,) = answer["value"]["parties"]
    return {**answer, "value": {**answer["value"], "parties": [{**party, **place}]}}


def reworded(answer: Answer, pattern: str, words: str) -> Answer:
    """Returns a failure with a part of its message replaced."""
    return {**answer, "message": re.sub(pattern, words, answer["message"])}


def another(answer: Answer) -> Dict[str, Any]:
    """Returns the first report, under another name."""
    first: Dict[str, Any] = answer["value"][0]
    return {**first, "name": "another"}


LIES: Dict[str, Lie] = {
    "says_ok": says_ok,
    "acquires_twice": acquires_twice,
    "forgets_to_release": forgets_to_release,
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
    "wrong_form": altered("inspect", lambda answer: {**answer, "value": {**answer["value"], "detected_kind": "fair"}}),
    "nobody_holds": altered("inspect", lambda answer: {**answer, "value": {**answer["value"], "parties": []}}),
    "another_process": altered("inspect", lambda answer: elsewhere(answer, pid=0)),
    "another_machine": altered("inspect", lambda answer: elsewhere(answer, host="elsewhere")),
    "a_name_too_few": altered("scan", lambda answer: {**answer, "value": []}),
    "a_name_too_many": altered("scan", lambda answer: {**answer, "value": [*answer["value"], another(answer)]}),
    "a_member_too_few": altered("hold", lambda answer: {**answer, "value": {"held": True}}),
    "a_member_too_many": altered("release", lambda answer: {**answer, "value": True}),
    "no_holder": altered_failure("acquire", lambda answer: {**answer, "message": "\"orders\" is held"}),
    "another_holder": altered_failure("acquire", lambda answer: reworded(answer, "[0-9a-f]{8}-", "00000000-")),
    "no_process": altered_failure("acquire", lambda answer: reworded(answer, r" \(process .*?\)", "")),
    "holder_elsewhere": altered_failure("acquire", lambda answer: reworded(answer, r" on [^ )]+\)", " on elsewhere)")),
    "wrong_uuid": altered("open", lambda answer: {**answer, "value": {"uuid": answer["value"]["uuid"][:-1] + "?"}}),
}

# Unusual answers that are allowed: a language may not know the uuid.
HABITS: Dict[str, Lie] = {"no_uuid": altered("open", lambda answer: {**answer, "value": {"uuid": ""}})}
