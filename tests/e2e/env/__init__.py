# SPDX-License-Identifier: Apache-2.0
"""The end-to-end test environment: private servers, a faulty network, and peers that are not redlatch.

Nothing in here knows redlatch; the servers are real, and redis-py is the independent witness.
"""

from .broken import GarbageServer, HttpServer, ScriptedServer, SilentServer, SynBlackHole, closed_port
from .faults import Command, Fault, Hit, Outcome, Script, containing
from .launcher import bound
from .monitor import Entries, Entry, Monitor
from .ports import free_port
from .proxy import Connection, Proxy
from .raw import RawClient
from .redisson import NotHeld, RedissonShapedPeer
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
