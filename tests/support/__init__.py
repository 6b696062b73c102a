# SPDX-License-Identifier: Apache-2.0
"""What several suites share: private servers, a faulty network, peers that are not redlatch, ways to run its programs.

The project's Python finds this package by itself (make_venv in dev). The servers are real, and redis-py is the
independent witness. What is exported here knows nothing of redlatch.
"""

from .broken import GarbageServer, HttpServer, ScriptedServer, SilentServer, SynBlackHole, closed_port
from .faults import Command, Fault, Hit, Outcome, Script, containing
from .launcher import bound
from .monitor import Entries, Entry, Monitor
from .ports import free_port
from .proxy import Connection, Proxy
from .raw import RawClient
from .redisson_shaped import NotHeld, RedissonShapedPeer
from .resp import ErrorReply, encode_command, encode_reply
from .server import RedisServer
from .waiting import wait_until

__all__ = [
    "Command",
    "Connection",
    "Entries",
    "Entry",
    "ErrorReply",
    "Fault",
    "GarbageServer",
    "Hit",
    "HttpServer",
    "Monitor",
    "NotHeld",
    "Outcome",
    "Proxy",
    "RawClient",
    "RedisServer",
    "RedissonShapedPeer",
    "Script",
    "ScriptedServer",
    "SilentServer",
    "SynBlackHole",
    "bound",
    "closed_port",
    "containing",
    "encode_command",
    "encode_reply",
    "free_port",
    "wait_until",
]
