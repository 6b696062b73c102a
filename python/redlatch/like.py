"""connect_like(): a client for the server of a redis-py client. redis-py is never imported here: all is read from the
attributes of the caller's object.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, cast
from urllib.parse import quote, urlencode

from redlatch.client import Client
from redlatch.errors import InvalidArgumentError, UnsupportedError
from redlatch.opening import connect

# redis-py's connection classes whose addresses are understood, and whether they use TLS. A subclass that is not
# redis-py's is not among them, because it may connect to anything.
_TLS_OF_CLASS = {
    "Connection": False,
    "SSLConnection": True,
    "UnixDomainSocketConnection": False,
    "SentinelManagedConnection": False,
    "SentinelManagedSSLConnection": True,
}
# redis-py's options of TLS whose counterpart takes the same value.
_TLS_OPTIONS = {
    "ssl_ca_certs": "tls_ca_file",
    "ssl_ca_path": "tls_ca_dir",
    "ssl_certfile": "tls_cert_file",
    "ssl_keyfile": "tls_key_file",
}
# These, and the other options that _tls() reads.
_TLS_READ = (*_TLS_OPTIONS, "ssl_cert_reqs", "ssl_check_hostname", "ssl_min_version")
# Whether the certificate is verified, by the names of ssl.VerifyMode and of redis-py. A client verifies the same with
# "optional" as with "required".
_VERIFIES = {"cert_none": False, "none": False, "cert_optional": True, "optional": True, "cert_required": True,
             "required": True}  # fmt: skip
# The number of TLS 1.3 in ssl.TLSVersion. Versions before 1.2 are never used.
_TLS_1_3 = 0x0304


def connect_like(redis_client: Any, **options: Any) -> Client:
    """Opens a client for the server of a redis-py client: with its address, database, credentials, TLS options and
    timeouts. The two clients share no connection. A setting that cannot be taken over, such as a connection class of
    the caller's own, is an error.

    Args:
        redis_client: A redis.Redis or redis.asyncio.Redis, also of Sentinel.master_for(), or a connection pool of one,
            or a RedisCluster of either. Its client_name becomes the label.
        options: Those of connect() except `url`. They override what is taken over.

    Raises:
        UnsupportedError: Something cannot be taken over; the message names it.

    Example:
        >>> import redis
        >>> theirs = redis.Redis.from_url(client.url, socket_timeout=2)
        >>> with redlatch.connect_like(theirs) as ours:
        ...     ours.url == client.url
        True
    """
    return connect(**options_like(redis_client, options))


def options_like(redis_client: Any, options: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the arguments of connect() for the server of a redis-py client. `options` override them."""
    if "url" in options:
        raise InvalidArgumentError("connect_like() takes the address from the redis-py client; expected no url")
    if hasattr(redis_client, "nodes_manager"):
        return {**_of_cluster(redis_client, options), **options}
    return {**_taken(pool_of(redis_client), options), **options}


def pool_of(given: Any) -> Any:
    """Returns the connection pool of a client, or the object itself if it is a pool."""
    if hasattr(given, "discover_master"):
        raise TypeError(f"redis_client is a {type(given).__name__}; expected its master_for(service)")
    pool = getattr(given, "connection_pool", given)
    if not isinstance(getattr(pool, "connection_kwargs", None), Mapping) or not hasattr(pool, "connection_class"):
        raise TypeError(
            f"redis_client is of type {type(given).__name__}; expected a client of redis-py or its connection pool"
        )
    return pool


def _taken(pool: Any, given: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the arguments of connect() for a connection pool. Settings that `given` overrides need no counterpart."""
    settings: Mapping[str, Any] = pool.connection_kwargs
    if settings.get("redis_connect_func") is not None:
        raise UnsupportedError("redis_connect_func is set, and redlatch cannot run it on its connections")
    tls = _uses_tls(pool.connection_class)
    taken = _common(settings, given, tls)
    if hasattr(pool, "sentinel_manager"):
        taken.update(_sentinels(pool, tls, taken))
    elif settings.get("path") is not None:
        taken["url"] = f"unix://{quote(str(settings['path']))}"
    else:
        taken["url"] = f"redis{'s' if tls else ''}://{_endpoint(settings.get('host'), settings.get('port'))}"
    return taken


def _of_cluster(cluster: Any, given: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the arguments of connect() for a client of a cluster. Its redis_connect_func is a method of its own; the
    function that the program gave is in user_on_connect_func."""
    settings: Mapping[str, Any] = getattr(cluster, "connection_kwargs", None) or cluster.nodes_manager.connection_kwargs
    on_connect = settings.get("redis_connect_func")
    if getattr(on_connect, "__self__", cluster) is not cluster or getattr(cluster, "user_on_connect_func", None):
        raise UnsupportedError("redis_connect_func is set, and redlatch cannot run it on its connections")
    if getattr(cluster.nodes_manager, "address_remap", None) is not None:
        raise UnsupportedError("address_remap is set; connect() has address_map in the URL for that")
    kind = settings.get("connection_class")
    tls = bool(settings.get("ssl")) or (kind is not None and _uses_tls(kind))
    nodes = cluster.nodes_manager.startup_nodes.values()
    endpoints = ",".join(sorted(_endpoint(node.host, node.port) for node in nodes))
    return {**_common(settings, given, tls), "url": f"redis{'s' if tls else ''}+cluster://{endpoints}"}


def _common(settings: Mapping[str, Any], given: Mapping[str, Any], tls: bool) -> Dict[str, Any]:
    """Returns the arguments that do not depend on how the server is found."""
    taken: Dict[str, Any] = {"database": int(settings.get("db") or 0), "label": settings.get("client_name") or None}
    taken.update(_credentials(settings, given))
    timeout = settings.get("socket_timeout")
    connect_timeout = settings.get("socket_connect_timeout")
    for argument, seconds in (
        ("command_timeout", timeout),
        ("connect_timeout", timeout if connect_timeout is None else connect_timeout),
    ):
        if seconds is not None:
            taken[argument] = seconds
    if tls:
        taken.update(_tls(settings, given))
    return taken


def _uses_tls(kind: Any) -> bool:
    """Returns whether connections of a class use TLS."""
    name = getattr(kind, "__name__", repr(kind))
    of_redis_py = str(getattr(kind, "__module__", "")).partition(".")[0] == "redis"
    if not of_redis_py or name not in _TLS_OF_CLASS:
        raise UnsupportedError(
            f"connection_class is {getattr(kind, '__module__', '')}.{name}, of which redlatch does not know how it "
            f"connects; expected one of redis-py's {', '.join(_TLS_OF_CLASS)}"
        )
    return _TLS_OF_CLASS[name]


def _credentials(settings: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the user and the password, or the provider of both. Returns nothing if `given` has any of them."""
    if any(given.get(argument) is not None for argument in ("username", "password", "credentials")):
        return {}
    provider = settings.get("credential_provider")
    if provider is None:
        return {argument: settings.get(argument) or None for argument in ("username", "password")}
    kind = type(provider)
    if kind.__name__ == "UsernamePasswordCredentialProvider" and kind.__module__.partition(".")[0] == "redis":
        return {"username": provider.username or None, "password": provider.password or None}
    return {"credentials": provider}


def _tls(settings: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the options of TLS. `ssl_ca_data`, which has no counterpart, is ignored if `given` has a CA file or
    folder."""
    unknown = [
        name for name, value in settings.items() if name.startswith("ssl_") and name not in _TLS_READ and value
    ]
    if "ssl_ca_data" in unknown and (given.get("tls_ca_file") or given.get("tls_ca_dir")):
        unknown.remove("ssl_ca_data")
    if unknown:
        raise UnsupportedError(f"{', '.join(sorted(unknown))}: redlatch has no such option of TLS")
    taken = {ours: settings.get(theirs) for theirs, ours in _TLS_OPTIONS.items()}
    taken["tls_verify"] = _verify(settings.get("ssl_cert_reqs", "required"), settings.get("ssl_check_hostname", True))
    least = settings.get("ssl_min_version")
    if least is not None:
        taken["tls_min_version"] = "1.3" if int(least) >= _TLS_1_3 else "1.2"
    return taken


def _verify(wanted: Any, name_too: bool) -> str:
    """Returns the value of tls_verify: what is verified of the server's certificate."""
    word = "none" if wanted is None else str(getattr(wanted, "name", wanted)).lower()
    if word not in _VERIFIES:
        raise InvalidArgumentError(f"ssl_cert_reqs is {wanted!r}; expected 'required', 'optional' or 'none'")
    return "none" if not _VERIFIES[word] else "full" if name_too else "ca"


def _endpoint(host: Any, port: Any) -> str:
    """Returns host:port, as in a URL."""
    host = str(host or "localhost")
    return f"{f'[{host}]' if ':' in host else host}:{int(port or 6379)}"


def _sentinels(pool: Any, tls: bool, master: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the URL of a pool's sentinels, with their user, password and options of TLS."""
    manager = pool.sentinel_manager
    if not pool.is_master:
        raise UnsupportedError("the client is for replicas (slave_for), and locks are on the master; use master_for")
    if getattr(manager, "_force_master_ip", None) is not None:
        raise UnsupportedError("force_master_ip is set; connect() has address_map in the URL for that")
    if manager.min_other_sentinels:
        raise UnsupportedError(
            f"min_other_sentinels is {manager.min_other_sentinels}, and redlatch does not count sentinels: it asks the "
            "announced master for its role; open the client by connect('redis+sentinel://...')"
        )
    pools = [pool_of(each) for each in manager.sentinels]
    each_one = [_for_sentinel(each, tls) for each in pools]
    if any(each != each_one[0] for each in each_one):
        raise UnsupportedError("the sentinels have different credentials or options of TLS; expected the same for all")
    credentials, options = each_one[0]
    query: Dict[str, str] = {}
    if options != {name: value for name, value in master.items() if name.startswith("tls_")}:
        query = {f"sentinel_{name}": str(value) for name, value in options.items() if value is not None}
    hosts = ",".join(
        _endpoint(each.connection_kwargs.get("host"), each.connection_kwargs.get("port")) for each in pools
    )
    url = f"redis{'s' if tls else ''}+sentinel://{hosts}/{quote(str(pool.service_name), safe='')}"
    return {"url": url + (f"?{urlencode(query, quote_via=quote)}" if query else ""), **credentials}


def _for_sentinel(pool: Any, tls: bool) -> Tuple[Dict[str, Optional[str]], Dict[str, Any]]:
    """Returns the user and the password for a sentinel, by the names of connect(), and its options of TLS."""
    settings: Mapping[str, Any] = pool.connection_kwargs
    if _uses_tls(pool.connection_class) != tls:
        raise UnsupportedError("of sentinels and master only one uses TLS; redlatch uses it for both or neither")
    own = _credentials(settings, {})
    if "credentials" in own:
        raise UnsupportedError("the sentinels have a credential_provider; expected user and password for them")
    credentials = {f"sentinel_{name}": cast(Optional[str], value) for name, value in own.items()}
    return credentials, _tls(settings, {}) if tls else {}
