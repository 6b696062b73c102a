"""connect(): opens a client with the options of the URL and of the call.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Dict, Literal, Optional, Tuple

from redlatch._ffi import CData, ffi, lib
from redlatch.client import Client
from redlatch.credentials import CredentialProvider, Renewal
from redlatch.durations import Seconds
from redlatch.errors import InvalidArgumentError, LockName, failure
from redlatch.options import FilePath, c_string, client_options
from redlatch.other_names import explain_other_names
from redlatch.tuning import COMMAND_TIMEOUT, CONNECT_TIMEOUT, REPLICA_TIMEOUT, Tuning


@explain_other_names
def connect(
    url: Optional[str] = None,
    *,
    watchdog_lease: Seconds = 30,
    name_prefix: LockName = "",
    label: Optional[str] = None,
    lazy: bool = False,
    username: Optional[str] = None,
    password: Optional[str] = None,
    credentials: Optional[CredentialProvider] = None,
    credentials_interval: Optional[Seconds] = None,
    sentinel_username: Optional[str] = None,
    sentinel_password: Optional[str] = None,
    database: Optional[int] = None,
    connect_timeout: Seconds = CONNECT_TIMEOUT,
    command_timeout: Seconds = COMMAND_TIMEOUT,
    unreachable_timeout: Seconds = 30,
    fair_timeout: Seconds = 30,
    min_replicas: Optional[int] = None,
    replica_timeout: Seconds = REPLICA_TIMEOUT,
    durable: Optional[bool] = None,
    release_on_close: bool = True,
    after_fork: Literal["reopen", "refuse"] = "reopen",
    tls_ca_file: Optional[FilePath] = None,
    tls_ca_dir: Optional[FilePath] = None,
    tls_cert_file: Optional[FilePath] = None,
    tls_key_file: Optional[FilePath] = None,
    tls_server_name: Optional[str] = None,
    tls_verify: Optional[Literal["full", "ca", "none"]] = None,
    tls_min_version: Optional[Literal["1.2", "1.3"]] = None,
    tuning: Optional[Tuning] = None,
) -> Client:
    """Opens a client and connects, unless `lazy`. Times are seconds or timedeltas. Options override the URL.

    Args:
        url: redis[s]://[user[:password]@]host[:port][/database], unix:///path, redis[s]+sentinel://host,.../service,
            redis[s]+replicas://host,..., redis[s]+cluster://host,...; None: $REDIS_URL, else redis://127.0.0.1:6379/0.
        watchdog_lease: The lease of a lock that is renewed.
        name_prefix: The prefix of every name.
        label: Tells others whose locks these are, such as "billing": see Party.label. 1 to 64 visible ASCII characters.
        lazy: True: connects at the first use, for servers that may be down now.
        username: For the server.
        password: For the server. It is never shown.
        credentials: In place of both, a provider like redis-py's CredentialProvider or StreamingCredentialProvider.
        credentials_interval: How often the provider is called; required unless it reports new credentials by itself.
        sentinel_username: For the sentinels of a redis+sentinel URL.
        sentinel_password: For these sentinels. It is never shown.
        database: The number of the database.
        connect_timeout: The longest time to open a connection.
        command_timeout: The longest time of a call that does not wait for other owners.
        unreachable_timeout: A wait, with a timeout or without, fails when the server cannot be used for this long.
        fair_timeout: How long a silent client's positions for fair locks last. Use the same value in all processes.
        min_replicas: A grant or renewal counts only when this many replicas acknowledged it. None: as in the URL.
        replica_timeout: The longest wait for replicas; less than command_timeout, at most a third of watchdog_lease.
        durable: A grant or renewal counts only when it is in the append-only file, from Redis 7.2 on. None: as the URL.
        release_on_close: Whether close() releases all holds. False: their leases run out.
        after_fork: "reopen": a forked child opens connections of its own. "refuse": its calls raise ForkedError.
        tls_ca_file: With a rediss:// URL: CA certificates in PEM; None means the system's.
        tls_ca_dir: A folder of CA certificates, as `openssl rehash` makes it.
        tls_cert_file: The client's certificate chain in PEM.
        tls_key_file: The client's private key in PEM; None means that tls_cert_file has it.
        tls_server_name: The name in the server's certificate; None means the URL's host.
        tls_verify: "full", "ca" (the CA, not the name) or "none"; None means "full".
        tls_min_version: The oldest version of TLS; None means "1.2".
        tuning: Options that few programs change; None means its defaults.

    Example:
        >>> redlatch.connect(client.url, command_timeout=2, tuning=redlatch.Tuning(linger=0)).close()
    """
    return Client(*open_handle(dict(locals())))


def open_handle(given: Dict[str, Any]) -> Tuple[CData, Optional[Renewal]]:
    """Opens a client of the core with the arguments of connect(). Returns it, and what renews its credentials, if
    anything."""
    url, tuning = given["url"], given["tuning"]
    if url is not None and not isinstance(url, str):
        raise TypeError(f"url is of type {type(url).__name__}; expected str or None")
    if not isinstance(tuning, (Tuning, type(None))):
        raise TypeError(f"tuning is {tuning!r}, of type {type(tuning).__name__}; expected redlatch.Tuning or None")
    renewal, first = _renewal(given)
    options, alive = client_options({**given, **first, **vars(tuning or Tuning())})
    client_out = ffi.new("redlatch_client **")
    status: int = lib.redlatch_client_open(ffi.NULL if url is None else c_string(url, "url"), options, client_out)
    alive.clear()
    if status:
        raise failure(status)
    return client_out[0], renewal


def _renewal(given: Dict[str, Any]) -> Tuple[Optional[Renewal], Dict[str, Any]]:
    """Returns the Renewal of the provider among the arguments, and its first credentials as arguments; None and nothing
    without a provider."""
    provider, interval = given["credentials"], given["credentials_interval"]
    if provider is None:
        if interval is not None:
            raise InvalidArgumentError(f"credentials_interval is {interval!r}; expected credentials with it")
        return None, {}
    for argument in ("username", "password"):
        if given[argument] is not None:
            raise InvalidArgumentError(f"{argument} and credentials are both given; expected one of the two")
    renewal = Renewal(provider, interval)
    username, password = renewal.first()
    return renewal, {"username": username, "password": password}
