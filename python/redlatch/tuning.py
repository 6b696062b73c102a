"""The defaults of connect(), and Tuning: those of its options that few programs change.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from redlatch.durations import Seconds


class UrlDefault(float):
    """The default of an option that the URL may set. It is shown, and not passed on: so the URL wins over it."""

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
        linger: A subscription outlives its last waiter by this.
        dead_peer_timeout: A connection that owes a reply for this long is closed. The URL may set it.
        dns_interval: While anything is held or waited for, the URL's host name is looked up again this often, and the
            master of redis+replicas searched for. The URL may set it.
        close_timeout: Client.close() waits at most this long.
        sharded_messages: With a redis+cluster:// URL: "on" if messages stay within a shard, by SPUBLISH; "off" if
            they go to all nodes; "auto" for "on" where the node has it, since Redis 7. The same for all clients of a
            name; None means the URL's, else "auto".
        claim_timeout: An asynchronous grant whose event is not collected for this long is given back.
    """

    busy_poll: bool = True
    linger: Seconds = 3
    dead_peer_timeout: Seconds = DEAD_PEER_TIMEOUT
    dns_interval: Seconds = DNS_INTERVAL
    close_timeout: Seconds = 1
    claim_timeout: Seconds = 30
    sharded_messages: Optional[Literal["auto", "on", "off"]] = None
