# SPDX-License-Identifier: Apache-2.0
"""Plays a trace step by step. The driver makes the calls; the runner does everything else."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing
from typing import Any, Callable, Dict, List

from . import outcomes, reports
from .mismatch import Mismatch
from .owners import Owners
from .processes import Speaker
from .servers import FIRST, Servers
from .traces import FOR_RUNNER, Step, Trace, expand, text_bytes
from .world import World
from .worlds import Worlds

# The time limit of a step marked `until`. Its condition becomes true within milliseconds or when a lease ends.
TIMEOUT_SECONDS = 15.0
PAUSE_SECONDS = 0.005


def play(trace: Trace, process: Speaker, servers: Servers, timeout: float = TIMEOUT_SECONDS) -> None:
    """Runs a trace on servers without holds. Raises Mismatch if anything differs from the trace."""
    with closing(Worlds(servers, trace, timeout)) as worlds, ExitStack() as unless_good:
        unless_good.callback(process.give_up)
        player = Player(process, worlds, timeout)
        for number, step in enumerate(trace.steps, start=1):
            try:
                player.step(step)
            except Exception as error:
                place = f"{trace.name}, step {number} {json.dumps(step)[:300]}"
                raise Mismatch(f"{place}: {error}") from (None if isinstance(error, Mismatch) else error)
        process.reset()
        left = worlds.our_holds()
        if bool(left) != trace.leaves_holds:
            wish = "some" if trace.leaves_holds else "none"
            raise Mismatch(f"{trace.name}: when the driver was done, {left} were still held; expected {wish}")
        unless_good.pop_all()


class Player:
    """The state that the steps of one run share."""

    def __init__(self, process: Speaker, worlds: Worlds, timeout: float) -> None:
        self._timeout = timeout
        self._process = process
        self._worlds = worlds
        self._owners = Owners(worlds.peer_owner)
        self._started_at: Dict[str, float] = {}
        self._permits: Dict[str, str] = {}

    def step(self, step: Step) -> None:
        """Carries one step out."""
        world = self._world_of(step)
        if "call" in step:
            self._until(step, lambda: self._call(step))
        elif "keys" in step:
            database = step.get("database", 0)
            self._until(step, lambda: world.check_keys(self._with_ids(step["keys"]), self._owners, database))
        elif "messages" in step:
            world.check_messages(step["messages"])
        elif "subscribers" in step:
            self._until({"until": True}, lambda: self._check_subscribers(step))
        elif "foreign" in step:
            world.foreign(step)
        elif "lose_reply" in step:
            world.lose_reply(step["lose_reply"])
        else:
            world.command(step["server"])

    def _world_of(self, step: Step) -> World:
        return self._worlds[step.get("at", FIRST)]

    def _until(self, step: Step, attempt: Callable[[], None]) -> None:
        """Makes one attempt. With `until`, repeats it until it succeeds or the deadline is reached."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return attempt()
            except Mismatch:
                if not step.get("until") or time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE_SECONDS)

    def _check_subscribers(self, step: Step) -> None:
        found = self._world_of(step).subscribers(text_bytes(step["channel"]))
        if found != step["subscribers"]:
            raise Mismatch(f"expected {step['subscribers']} subscribers, found {found}")

    def _call(self, step: Step) -> None:
        began = time.monotonic()
        answer = self._process.ask(self._request(step))
        if step.get("start"):
            self._started_at[step["by"]] = began
            if answer != {"started": True}:
                raise Mismatch(f"expected the call to be started, got {answer}")
            return
        if step["call"] == "finish":
            began = self._started_at.pop(step["by"], began)
        took_ms = round((time.monotonic() - began) * 1000)
        outcomes.check(step, answer, self._owners, self._process.driver)
        if step["call"] in outcomes.REPORTING and answer["status"] == "ok":
            reports.check_reports(self._with_ids_of_parties(step), answer["value"], self._owners)
        if "took_ms" in step and not outcomes.within(took_ms, step["took_ms"]):
            raise Mismatch(f"the call took {took_ms} ms; expected {step['took_ms']}")
        if "as" in step and answer["status"] == "ok":
            self._permits.update(zip(step["as"], answer["value"]))
        if step["call"] == "open" and answer["status"] == "ok":
            self._owners.add_client(step["client"], answer["value"]["uuid"])

    def _with_ids(self, keys: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """Returns expected keys with the ids of the permits that they name."""
        return [
            {**key, "permits": [self._permits[label] for label in key["permits"]]} if "permits" in key else key
            for key in keys
        ]

    def _with_ids_of_parties(self, step: Step) -> Step:
        """Returns a step that expects a report, with the ids of the permits that are held."""
        expected = step["expect"]
        if step["call"] != "inspect" or "parties" not in expected:
            return step
        parties = [
            {**party, "id": self._permits[party["permit"]]} if "permit" in party else party
            for party in expected["parties"]
        ]
        return {**step, "expect": {**expected, "parties": parties}}

    def _request(self, step: Step) -> Dict[str, Any]:
        """Returns the call as the driver receives it."""
        request = {member: value for member, value in step.items() if member not in FOR_RUNNER}
        if "permit" in request:
            request["id"] = self._permits[request.pop("permit")]
        if "name" in request:
            request["name"] = expand(request["name"])
        if "name_prefix" in request.get("options", {}):
            request["options"] = {**request["options"], "name_prefix": expand(request["options"]["name_prefix"])}
        if request["call"] == "open":
            url = request.get("url", "{server}")
            if "{host}" in url and self._world_of(step).over_tls:
                url = url.replace("redis://", "rediss://", 1)
            for placeholder, address in self._world_of(step).urls.items():
                url = url.replace(placeholder, address)
            if "{proxy}" in url:
                url = url.replace("{proxy}", self._world_of(step).proxy.url)
            request["url"] = url
        return request
