# SPDX-License-Identifier: Apache-2.0
"""The rights that a user of the server needs for each kind. The commands are read from the scripts; the keys and the
channels are listed by hand. The table in docs/how-to/access-rules.md must be the one that `table` makes."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

import redlatch
from support import RedisServer
from support.wire import build_directory

SCRIPTS = build_directory() / "scripts"

# For every client: the commands that it sends itself, and those that nearly every script calls.
EVERYBODY = ["evalsha", "eval", "subscribe", "unsubscribe", "ping", "publish", "pttl", "pexpire"]
# Needed in a cluster in addition. With sharded Pub/Sub the values of SHARDED replace its keys in EVERYBODY.
IN_CLUSTER = ["asking", "cluster|slots"]
SHARDED = {"publish": "spublish", "subscribe": "ssubscribe", "unsubscribe": "sunsubscribe"}
# A client also works without these commands, but less well.
BETTER_IN_CLUSTER = ["pubsub|shardnumsub"]  # of Redis 7 and newer
BETTER = ["client|id", "client|kill", "info", "client|setname", "client|list"]


class Rules(NamedTuple):
    """A row of the table: scripts, and patterns of keys and channels, in which N is the name and {N} its hash tag. A
    row with `shown` lists only these commands; what else its scripts call is in another row."""

    scripts: str
    keys: List[str]
    channels: List[str]
    shown: Tuple[str, ...] = ()

    def commands(self) -> List[str]:
        """Returns the commands that the scripts call, without those of EVERYBODY."""
        if self.shown:
            return list(self.shown)
        found: Set[str] = set()
        for name in self.scripts.split():
            text = (SCRIPTS / f"{name}.lua").read_text(encoding="utf-8")
            for command, part in re.findall(r"\b(?:p?call|try)\('([a-z]+)'(?:, '(usage)')?", text):
                found.add(f"{command}|{part}" if part else command)
        return sorted(found - set(EVERYBODY))


RECHECKS = "inspecting a name, waiting until it is free"
MULTI = "multi lock, beside its members'"
APART = "multi lock with members on several servers or in several slots, also"
_LOCK_CHANNEL = "redisson_lock__channel:{N}"
_RECORDS = "redlatch_op:{N}:*"

RULES: Dict[str, Rules] = {
    "mutex, spin lock": Rules(
        "acquire release reenter extend renew query force_release hand_over", ["N"], [_LOCK_CHANNEL]
    ),
    "fenced mutex": Rules(
        "acquire_fenced hand_over_fenced release reenter extend renew query force_release",
        ["N", "redisson_lock_token:{N}"],
        [_LOCK_CHANNEL],
    ),
    "fair mutex": Rules(
        "acquire_fair release_fair hand_over_fair refresh_fair query_fair force_release_fair reenter extend renew",
        ["N", "redisson_lock_queue:{N}", "redisson_lock_timeout:{N}", "redlatch_waiting:{N}:*"],
        [f"{_LOCK_CHANNEL}*"],
    ),
    "read-write lock": Rules(
        "acquire_read acquire_write release_read release_write reenter reenter_read extend_read extend_write renew"
        " renew_read hand_over_write query_read_write force_release_read_write",
        ["N", "{N}:*"],
        ["redisson_rwlock:{N}"],
    ),
    "group lock": Rules(
        "acquire_group release_group reenter_group extend_group renew_group query_group force_release_group"
        " hand_over_group",
        ["N"],
        [_LOCK_CHANNEL],
    ),
    "plain lock": Rules(
        "acquire_plain release_plain extend_plain renew_plain query_plain force_release_plain hand_over_plain",
        ["N"],
        ["redlatch_lock__channel:{N}"],
    ),
    MULTI: Rules("acquire_many release_many", [], [], ("exists",)),
    APART: Rules("watch", [], []),
    "semaphore": Rules(
        "acquire_semaphore release_semaphore add_semaphore drain_semaphore try_set_count count_left delete_count"
        " undo_taken",
        ["N", _RECORDS],
        ["redisson_sc:{N}"],
        ("decrby", "del", "get", "incrby", "set"),
    ),
    "permit semaphore": Rules(
        "acquire_permits release_permits set_permits add_semaphore try_set_count count_permits extend_permit"
        " renew_permits lease_of_permit delete_permits",
        ["N", "{N}:timeout", _RECORDS],
        ["redisson_sc:{N}"],
    ),
    "latch": Rules(
        "count_down try_set_count count_left delete_count watch_latch",
        ["N", _RECORDS],
        ["redisson_countdownlatch__channel__{N}"],
    ),
    RECHECKS: Rules(
        "inspect watch",
        ["N", "{N}:timeout", "redisson_lock_queue:{N}", "redisson_lock_token:{N}"],
        [_LOCK_CHANNEL, "redlatch_lock__channel:{N}", "redisson_rwlock:{N}", "redisson_sc:{N}",
         "redisson_countdownlatch__channel__{N}"],
    ),
}  # fmt: skip


def table() -> str:
    """Returns the table for the page, in Markdown."""

    def cell(words: List[str]) -> str:
        return f" `{' '.join(words)}`".replace("|", "\\|") if words else ""

    sharded = f"all, in a cluster of Redis 7 and newer, instead of{cell(list(SHARDED))}"
    lines = ["| for | commands | keys | channels |", "|---|---|---|---|", f"| all |{cell(EVERYBODY)} | | |",
             f"| all, in a cluster |{cell(IN_CLUSTER)} | | |", f"| {sharded} |{cell(list(SHARDED.values()))} | | |"]
    for row, rules in RULES.items():
        lines.append(f"| {row} |{cell(rules.commands())} |{cell(rules.keys)} |{cell(rules.channels)} |")
    return "\n".join(lines)


# -------------------------------------------------------------------------------------------------- the tests' user --

# The rows of RULES that each kind of foreign_keys.py needs.
ROWS = {
    "mutex": ["mutex, spin lock"],
    "non-reentrant": ["mutex, spin lock"],
    "spin": ["mutex, spin lock"],
    "fenced": ["fenced mutex"],
    "fair": ["fair mutex"],
    "read": ["read-write lock"],
    "write": ["read-write lock"],
    "group": ["group lock"],
    "plain": ["plain lock"],
    "multi": [MULTI, "mutex, spin lock"],
    "multi-fenced": [MULTI, "fenced mutex"],
    "multi-read": [MULTI, "read-write lock"],
    "multi-write": [MULTI, "read-write lock"],
    "multi-group": [MULTI, "group lock"],
    "multi-plain": [MULTI, "plain lock"],
    "semaphore": ["semaphore"],
    "permits": ["permit semaphore"],
    "latch": ["latch"],
}


def everybody_in_cluster(server: RedisServer) -> List[str]:
    """Returns the commands that every client needs in a cluster of servers of this version."""
    if server.version < (7, 0, 0):
        return [*EVERYBODY, *IN_CLUSTER]
    return [*(SHARDED.get(command, command) for command in EVERYBODY), *IN_CLUSTER, *BETTER_IN_CLUSTER]


def permit(
    server: RedisServer,
    name: str,
    rows: List[str],
    *more: str,
    everybody: Sequence[str] = tuple(EVERYBODY),
    without: Sequence[str] = (),
) -> None:
    """Give the user `frugal` the rights of the rows, for the keys and channels of `name` and of `name`:first."""
    allowed = [*everybody, *BETTER, *more, *(word for row in rows for word in RULES[row].commands())]
    commands = [command for command in allowed if command not in without]
    keys, channels = (
        [word.replace("{N}", f"{{{exact}}}").replace("N", exact, word[:1] == "N")
         for word in words for exact in (name, f"{name}:first")]
        for words in ([word for row in rows for word in RULES[row].keys],
                      [word for row in rows for word in RULES[row].channels])
    )
    server.set_user("frugal", "word", "-@all", *(f"+{command}" for command in commands), keys=keys, channels=channels)
    server.admin.execute_command("ACL", "LOG", "RESET")


def open_frugal(server: RedisServer, **options: Any) -> redlatch.Client:
    """Opens a client as the user `frugal`."""
    return redlatch.connect(server.url, username="frugal", password="word", **options)


def denials(server: RedisServer) -> List[str]:
    """Returns what the server has denied since `permit`, including commands within scripts."""
    log: Any = server.admin.execute_command("ACL", "LOG")
    entries = [dict(zip(entry[::2], entry[1::2])) if isinstance(entry, list) else entry for entry in log]
    return [f"{entry[b'reason']!r} {entry[b'object']!r} {entry[b'context']!r}" for entry in entries]
