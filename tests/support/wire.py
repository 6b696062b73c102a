# SPDX-License-Identifier: Apache-2.0
"""What redlatch puts on the wire, for tests that look at it: its scripts, its connections, its hash, its channel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, Iterable, List, Set

import redlatch

from . import Entries, Entry, RedisServer, RedissonShapedPeer, Script

_OWNER = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[1-9][0-9]*")


def build_directory() -> Path:
    """The build folder of the redlatch that is tested. An installed one has no scripts beside it: then build/."""
    beside = Path(redlatch.__file__).resolve().parents[2]
    return beside if (beside / "scripts").is_dir() else Path(__file__).resolve().parents[2] / "build"


def _read_scripts() -> Dict[str, Script]:
    folder = build_directory() / "scripts"
    return {path.stem: Script(path.stem, path.read_bytes()) for path in sorted(folder.glob("*.lua"))}


SCRIPTS = _read_scripts()
_BY_DIGEST = {script.sha1: name for name, script in SCRIPTS.items()}


def script_of(entry: Entry) -> str:
    """The name of the script that a command calls by its digest; empty if it does something else."""
    if entry.command != "EVALSHA" or entry.lua:
        return ""
    return _BY_DIGEST.get(entry.arguments[1].decode(), "")


def scripts(entries: Iterable[Entry]) -> List[str]:
    """The names of redlatch's scripts among what was executed, in order."""
    return [name for name in map(script_of, entries) if name]


def load_scripts(server: RedisServer) -> None:
    """Put all scripts into the server's cache, so that a test sees nothing but the calls it is about."""
    for script in SCRIPTS.values():
        server.admin.script_load(script.text.decode())


def fields(server: RedisServer, name: str) -> Dict[bytes, bytes]:
    """The lock's hash: owners and their counts; empty when it is free."""
    found: Any = server.admin.hgetall(name)
    return dict(found)


def counts(server: RedisServer, name: str) -> List[int]:
    """The hold counts in the lock's hash."""
    return [int(value) for value in fields(server, name).values()]


def remaining_ms(server: RedisServer, name: str) -> int:
    """The lock's remaining lease by the server."""
    left: Any = server.admin.pttl(name)
    return int(left)


def channel(name: str) -> str:
    """The channel on which releases of the lock are published, by Redisson's rule."""
    return RedissonShapedPeer.channel(name).decode()


def has_shards(server: RedisServer) -> bool:
    """Whether the server is a node of a cluster with sharded channels."""
    return "+cluster" in server.reached_by and server.version >= (7, 0, 0)


def listeners_of(server: RedisServer, channel_name: str) -> int:
    """How many connections are subscribed to a channel on a server, also as a sharded channel if it has those."""
    words = ["NUMSUB", "SHARDNUMSUB"] if has_shards(server) else ["NUMSUB"]
    return sum(int(server.admin.execute_command("PUBSUB", word, channel_name)[1]) for word in words)


def channels_about(server: RedisServer, name: str) -> List[bytes]:
    """The channels with a name in them that have subscribers on a server, sharded channels included."""
    words = ["CHANNELS", "SHARDCHANNELS"] if has_shards(server) else ["CHANNELS"]
    return [each for word in words for each in server.admin.execute_command("PUBSUB", word, f"*{name}*")]


def subscribers(server: RedisServer, name: str) -> int:
    """How many connections are subscribed to releases of the lock."""
    return listeners_of(server, channel(name))


def is_owner(field: bytes) -> bool:
    """Whether a field has the form uuid:number, with the version nibble that tells redlatch from Redisson."""
    return _OWNER.fullmatch(field) is not None


def addresses(server: RedisServer, client: redlatch.Client) -> Set[str]:
    """The addresses that the server knows a client's connections by."""
    return {entry["addr"] for entry in server.client_list("redlatch:") if client.uuid in entry["name"]}


def sent_by(entries: Entries, server: RedisServer, client: redlatch.Client) -> Entries:
    """The commands that came from a client's present connections."""
    known = addresses(server, client)
    return Entries(entry for entry in entries.top_level() if entry.client in known)
