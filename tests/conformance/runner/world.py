# SPDX-License-Identifier: Apache-2.0
"""The server as seen without redlatch: keys, messages and subscribers through redis-py, and foreign peers."""

from __future__ import annotations

import concurrent.futures
import re
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Callable, Dict, List, Optional, Tuple

from support import NotHeld, Proxy, RedisServer, RedissonShapedPeer, Script, free_port, wait_until

from .drivers import build_folder
from .mismatch import Mismatch
from .outcomes import within
from .owners import Owners, is_ours
from .traces import Step, text_bytes

_MARK_CHANNEL = b"conformance:mark"


class World:
    """One trace's view of the server, from before its first step. A peer waits at most `timeout` seconds."""

    def __init__(self, server: RedisServer, timeout: float) -> None:
        self._timeout = timeout
        self._server = server
        self._stack = ExitStack()
        self._peers: Dict[str, RedissonShapedPeer] = {}
        self._started: Dict[str, concurrent.futures.Future[None]] = {}
        self._marks = 0
        connection: Any = server.client()
        self._listener = connection.pubsub()
        self._stack.callback(self._listener.close)
        self._listener.psubscribe("*")
        wait_until(lambda: self._listener.get_message(timeout=0.1), message="the confirmation of our subscription")
        self.over_tls = server.url.startswith("rediss:")
        self.urls = {
            "{server}": server.url,
            "{unix}": server.unix_url,
            "{host}": f"127.0.0.1:{server.announced_port}",
            "{nobody}": f"127.0.0.1:{free_port()}",
        }

    def close(self) -> None:
        """Ends peers and connections."""
        self._stack.close()

    # ------------------------------------------------------------------------------------------------------- keys --

    def keys(self, database: int) -> List[Tuple[bytes, Any, int]]:
        """Returns every key of a database: its name, its content, its remaining milliseconds (-1: no expiry). The
        members of a list or a sorted set are in order. The heartbeat and the records of changes of a redlatch client
        are left out if they have an expiry."""
        connection: Any = self._server.client(db=database) if database else self._server.admin
        found: List[Tuple[bytes, Any, int]] = []
        for name in sorted(connection.scan_iter(count=1000)):
            kind = connection.type(name)
            if kind == b"none":
                continue  # it has just expired
            reading = _READING.get(kind)
            value = reading(connection, name) if reading else kind
            left = connection.pttl(name)
            if left != -2 and not (name.startswith((b"redlatch_waiting:", b"redlatch_op:")) and left > 0):
                found.append((name, value, left))
        return found

    def check_keys(self, expected: List[Dict[str, Any]], owners: Owners, database: int) -> None:
        """Raises Mismatch unless the database holds exactly these keys."""
        known = owners.snapshot()
        wished = {text_bytes(key["name"]): key for key in expected}
        found = sorted((_with_labels(name, list(wished), owners), *rest) for name, *rest in self.keys(database))
        same = sorted(wished) == [name for name, _, _ in found]
        if not same or not all(_is_as_wished(wished[name], value, left, owners) for name, value, left in found):
            owners.restore(known)
            raise Mismatch(f"expected the keys {expected}, found {found} (of the owners {owners.explained()})")

    def our_holds(self) -> List[bytes]:
        """Returns the locks in all databases that redlatch clients hold."""
        held = []
        information: Any = self._server.admin.info("keyspace")
        for database in information:
            for name, value, _ in self.keys(int(database[len("db") :])):
                words = value if isinstance(value, dict) else [value] if isinstance(value, bytes) else []
                if any(is_ours(word.decode("utf-8", "replace")) for word in words):
                    held.append(name)
        return held

    # --------------------------------------------------------------------------------------------------- messages --

    def messages(self) -> List[Tuple[bytes, bytes]]:
        """Returns channel and content of the messages since the last call. A message of the runner marks the end."""
        self._marks += 1
        mark = (_MARK_CHANNEL, b"%d" % self._marks)
        self._server.admin.publish(*mark)
        received: List[Tuple[bytes, bytes]] = []
        while mark not in received:
            news: Any = wait_until(lambda: self._listener.get_message(timeout=0.1), message="a message")
            if news["type"] == "pmessage":
                received.append((news["channel"], news["data"]))
        return received[:-1]

    def check_messages(self, expected: List[Dict[str, Any]]) -> None:
        """Raises Mismatch unless exactly these messages were published since the last check, in this order."""
        wished = [(text_bytes(item["channel"]), text_bytes(item["message"])) for item in expected]
        received = self.messages()
        if received != wished:
            raise Mismatch(f"expected the messages {wished}, heard {received}")

    def subscribers(self, channel: bytes) -> int:
        """Returns how many connections are subscribed to a channel by its name."""
        answer: Any = self._server.admin.pubsub_numsub(channel)
        return int(answer[0][1])

    # -------------------------------------------------------------------------------------------------- as others --

    def command(self, words: List[Any]) -> None:
        """Runs a command on the server. Before Redis 6.2 ACL rules cannot name channels, so such rules are dropped."""
        connection: Any = self._server.admin
        if words[:2] == ["ACL", "SETUSER"] and self._server.version < (6, 2, 0):
            words = [word for word in words if not word.startswith("&")]
        connection.execute_command(*[text_bytes(word) for word in words])

    @cached_property
    def proxy(self) -> Proxy:
        """A proxy to the server that can lose replies."""
        return self._stack.enter_context(Proxy(self._server.address))

    def lose_reply(self, script: str) -> None:
        """Cuts the connection through the proxy that next runs this script, after the script has run."""
        text = (build_folder() / "scripts" / f"{script}.lua").read_bytes()
        self.proxy.cut_after(Script(script, text))

    def peer_owner(self, peer: str, thread: int) -> Optional[str]:
        """Returns the owner id of a peer's thread, or None if there is no such peer."""
        return self._peers[peer].owner(thread) if peer in self._peers else None

    def foreign(self, step: Step) -> None:
        """Makes a Redisson-shaped peer do something. The peer is created when it is first named."""
        if step["peer"] not in self._peers:
            self._peers[step["peer"]] = self._stack.enter_context(RedissonShapedPeer(self._server))
        found = self._foreign_result(self._peers[step["peer"]], step)
        if found != step.get("expect", True):
            raise Mismatch(f"expected {step.get('expect', True)!r} of the peer, got {found!r}")

    def _foreign_result(self, peer: RedissonShapedPeer, step: Step) -> Any:
        what, thread, lease = step["foreign"], step.get("thread", 1), step.get("lease_ms", -1)
        if what == "finish":
            self._started.pop(step["peer"]).result(self._timeout)
            return True
        name = text_bytes(step["name"])
        if what == "start_lock":
            self._started[step["peer"]] = peer.start_lock(name, lease, thread=thread)
            return True
        if what == "lock":
            peer.lock(name, lease, thread=thread)
            return True
        if what == "try_lock":
            return peer.try_lock(name, step.get("wait_ms", 0), lease, thread=thread)
        if what == "force_unlock":
            return peer.force_unlock(name)
        try:
            return peer.unlock(name, thread=thread)
        except NotHeld:
            return "not_held"


# How the content of a key is read, by its type.
_READING: Dict[bytes, Callable[[Any, bytes], Any]] = {
    b"hash": lambda connection, name: connection.hgetall(name),
    b"string": lambda connection, name: connection.get(name),
    b"list": lambda connection, name: connection.lrange(name, 0, -1),
    b"zset": lambda connection, name: connection.zrange(name, 0, -1),
}

_WRITE = ":write"
_LABEL = re.compile(rb"<([^>]+)>")


def _with_labels(name: bytes, wished: List[bytes], owners: Owners) -> bytes:
    """Returns the name of a key as the trace writes it, with a label such as `<a/first>` instead of an owner id."""
    for wish in wished:
        label = _LABEL.search(wish)
        if label is None:
            continue
        before, after = wish[: label.start()], wish[label.end() :]
        middle = name[len(before) : len(name) - len(after)].decode("utf-8", "replace")
        around = len(name) > len(before) + len(after) and name.startswith(before) and name.endswith(after)
        if around and owners.matches(label[1].decode(), middle):
            return wish
    return name


def _is_field_of(name: str, field: str, owners: Owners) -> bool:
    """Returns whether a field is an owner's; with the suffix `:write`, a writer's."""
    if name.endswith(_WRITE) != field.endswith(_WRITE):
        return False
    if name.endswith(_WRITE):
        return owners.matches(name[: -len(_WRITE)], field[: -len(_WRITE)])
    return owners.matches(name, field)


def _is_as_wished(wish: Dict[str, Any], value: Any, left: int, owners: Owners) -> bool:
    if not within(left, wish["ttl_ms"]):
        return False
    if "value" in wish:
        return bool(value == text_bytes(wish["value"]))
    if "permits" in wish:
        return isinstance(value, list) and sorted(each.hex() for each in value) == sorted(wish["permits"])
    if "waiters" in wish:
        waiters = [owner.decode("utf-8", "replace") for owner in value] if isinstance(value, list) else []
        return len(waiters) == len(wish["waiters"]) and all(map(owners.matches, wish["waiters"], waiters))
    if "holder" in wish:
        return isinstance(value, bytes) and owners.matches(wish["holder"], value.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        return False
    fields = {owner.decode("utf-8", "replace"): count for owner, count in value.items()}
    if fields.pop("mode", b"").decode() != wish.get("mode", "") or len(fields) != len(wish["holders"]):
        return False
    for name, count in wish["holders"].items():
        field = next((owner for owner in fields if _is_field_of(name, owner, owners)), None)
        if field is None or fields.pop(field) != b"%d" % count:
            return False
    return True
