"""The defaults of connect(), and Tuning: those of its options that few programs change.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from redlatch.durations import Seconds


class UrlDefault(float):
    """The default of an option that the URL may set. It is shown in signatures, but not passed to the core, so that the
    URL overrides it."""

    def __repr__(self) -> str:
        return f"{self:g}"


CONNECT_TIMEOUT = UrlDefault(5)
COMMAND_TIMEOUT = UrlDefault(5)
DEAD_PEER_TIMEOUT = UrlDefault(10)
DNS_INTERVAL = UrlDefault(5)
REPLICA_TIMEOUT = UrlDefault(1)


@dataclass(frozen=True)
class Tuning:
    """The options of connect() that few programs change. Times are seconds or timedeltas.

    Attributes:
        busy_poll: Whether a caller polls its socket briefly before it sleeps, where that is faster.
        linger: How long a subscription stays after its last waiter.
        dead_peer_timeout: A connection that waits for replies and gets none for this long is closed. The URL may set
            it.
        dns_interval: While anything is held or waited for, the URL's host name is looked up again this often, and the
            master of redis+replicas or the topology of redis+cluster is searched for. The URL may set it.
        close_timeout: Client.close() waits at most this long.
        sharded_messages: With a redis+cluster:// URL only. "on": messages stay within a shard, by SPUBLISH, which Redis
            7 and newer have. "off": they go to all nodes. "auto": as "on" if the node has SPUBLISH. All clients of a
            name must use the same. None: the URL's value, else "auto".
        claim_timeout: A grant of an asynchronous call is released if its event is not collected for this long.
    """

    busy_poll: bool = True
    linger: Seconds = 3
    dead_peer_timeout: Seconds = DEAD_PEER_TIMEOUT
    dns_interval: Seconds = DNS_INTERVAL
    close_timeout: Seconds = 1
    claim_timeout: Seconds = 30
    sharded_messages: Optional[Literal["auto", "on", "off"]] = None
