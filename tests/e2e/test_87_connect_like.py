# SPDX-License-Identifier: Apache-2.0
"""connect_like(): which settings of a redis-py client it takes, and which it refuses. The clients share nothing."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redis
import redlatch
import redlatch.aio
from loops import RUNNERS, World, run
from redis import asyncio as redis_asyncio
from redis.sentinel import Sentinel as TheirSentinel
from redlatch import like
from redlatch.compat import redis_py
from support import RedisServer
from support.certificates import Authority
from support.cluster import whole_cluster
from support.sentinels import SERVICE, Watched
from support.tls_server import Identity, TlsServer

ANY: Dict[str, Any] = {"lazy": True}


@pytest.fixture
def arguments(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Dict[str, Any]]:
    """Returns a function that returns the arguments with which connect_like() calls connect()."""

    def taken(given: Any, **options: Any) -> Dict[str, Any]:
        seen: Dict[str, Any] = {}
        monkeypatch.setattr(like, "connect", lambda **keywords: seen.update(keywords))
        redlatch.connect_like(given, **options)
        return {name: value for name, value in seen.items() if value is not None}

    return taken


# ----------------------------------------------------------------------------------------------------- what it takes --


@pytest.mark.parametrize("package", [redis, redis_asyncio], ids=["sync", "asyncio"])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"url": "redis://localhost:6379", "database": 0}),
        ({"host": "::1", "port": "7000", "db": "3"}, {"url": "redis://[::1]:7000", "database": 3}),
        (
            {"unix_socket_path": "/run/a b.sock", "password": "p"},
            {"url": "unix:///run/a%20b.sock", "database": 0, "password": "p"},
        ),
        ({"username": "u", "password": "p@/"}, {"username": "u", "password": "p@/"}),
        ({"client_name": "billing"}, {"label": "billing"}),
        ({"socket_timeout": 2}, {"command_timeout": 2, "connect_timeout": 2}),
        ({"socket_timeout": 2, "socket_connect_timeout": 0.5}, {"command_timeout": 2, "connect_timeout": 0.5}),
        ({"ssl": True}, {"url": "rediss://localhost:6379", "tls_verify": "full"}),
        ({"ssl": True, "ssl_check_hostname": False}, {"tls_verify": "ca"}),
        ({"ssl": True, "ssl_cert_reqs": "optional"}, {"tls_verify": "full"}),
        ({"ssl": True, "ssl_cert_reqs": "none", "ssl_check_hostname": False}, {"tls_verify": "none"}),
        ({"ssl": True, "ssl_cert_reqs": ssl.CERT_NONE, "ssl_check_hostname": False}, {"tls_verify": "none"}),
        ({"ssl": True, "ssl_min_version": ssl.TLSVersion.TLSv1_3}, {"tls_min_version": "1.3"}),
        ({"ssl": True, "ssl_min_version": ssl.TLSVersion.TLSv1_2}, {"tls_min_version": "1.2"}),
        (
            {"ssl": True, "ssl_ca_certs": "/ca", "ssl_certfile": "/crt", "ssl_keyfile": "/key"},
            {"tls_ca_file": "/ca", "tls_cert_file": "/crt", "tls_key_file": "/key"},
        ),
        (
            {"credential_provider": redis.UsernamePasswordCredentialProvider("u", "p")},
            {"username": "u", "password": "p"},
        ),
    ],
    ids=" ".join,
)
def test_what_is_taken(
    arguments: Callable[..., Dict[str, Any]], package: Any, settings: Dict[str, Any], expected: Dict[str, Any]
) -> None:
    theirs = package.Redis(**{"retry": None, **settings})
    taken = arguments(theirs)
    assert {name: taken.get(name) for name in expected} == expected
    assert arguments(theirs.connection_pool) == taken


def test_a_folder_of_certificates(arguments: Callable[..., Dict[str, Any]]) -> None:
    """redis-py's asynchronous client has no option for it."""
    assert arguments(redis.Redis(ssl=True, ssl_ca_path="/dir"))["tls_ca_dir"] == "/dir"


def test_a_client_works_with_what_was_taken(server: RedisServer, lock_name: str) -> None:
    server.set_user("taken", "p@ss/word", "+@all")
    for package in (redis, redis_asyncio):
        theirs = package.Redis(host="127.0.0.1", port=server.port, db=2, username="taken", password="p@ss/word")
        with redlatch.connect_like(theirs) as ours:
            assert ours.url == f"redis://127.0.0.1:{server.port}/2"
            with ours.lock(lock_name):
                users = {entry["user"] for entry in server.client_list("redlatch:")}
                assert users == {"taken"}
                assert server.admin.dbsize() == 0, "the lock is in the client's database"
    server.admin.execute_command("ACL", "DELUSER", "taken")


@pytest.mark.parametrize("loop", RUNNERS)
def test_for_tasks(server: RedisServer, lock_name: str, loop: str) -> None:
    async def main(world: World) -> None:
        theirs = redis_asyncio.Redis.from_url(server.url, client_name="billing")
        async with redlatch.aio.connect_like(theirs, watchdog_lease=7) as ours, ours.lock(lock_name) as held:
            assert ours.url == server.url and held.remaining() < 7
            report = await ours.inspect(lock_name)
            assert report.parties[0].label == "billing"
        lazy = redlatch.aio.connect_like(theirs.connection_pool, lazy=True)
        async with lazy.lock(lock_name):
            assert server.admin.exists(lock_name)
        await lazy.close()

    run(loop, main)
    with pytest.raises(redlatch.InvalidArgumentError, match="expected no url"):
        redlatch.aio.connect_like(redis_asyncio.Redis(), url="redis://elsewhere")


def test_over_a_unix_socket(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect_like(redis.Redis(unix_socket_path=server.unix_path)) as ours, ours.lock(lock_name):
        assert ours.url == f"unix://{server.unix_path}?db=0"
        assert server.admin.exists(lock_name)


def test_options_win(arguments: Callable[..., Dict[str, Any]]) -> None:
    theirs = redis.Redis(socket_timeout=2, db=3, username="u", password="p")
    taken = arguments(theirs, command_timeout=9, database=4, watchdog_lease=7, password="other")
    assert (taken["command_timeout"], taken["database"], taken["watchdog_lease"]) == (9, 4, 7)
    assert taken["password"] == "other" and "username" not in taken


def test_nothing_is_shared(server: RedisServer, lock_name: str) -> None:
    theirs = redis.Redis.from_url(server.url)
    with redlatch.connect_like(theirs) as ours, ours.lock(lock_name):
        theirs.close()
        theirs.connection_pool.disconnect()
        assert ours.lock(lock_name).state().locked
    assert theirs.ping()
    theirs.connection_pool.disconnect()


def test_redis_py_is_not_needed() -> None:
    """Neither the package nor connect_like() imports redis-py."""
    program = "import sys, redlatch; redlatch.connect_like; sys.exit('redis' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# --------------------------------------------------------------------------------------------------- what it refuses --


class OfTheirOwn(redis.Connection):
    """A connection that may lead anywhere."""


class Provider:
    """A provider of a token that the caller renews."""

    def get_credentials(self) -> Tuple[str, str]:
        """User and password."""
        return "u", "p"


def of_connection(kind: Any) -> redis.Redis:
    """A client with connections of a class."""
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=kind))


@pytest.mark.parametrize(
    ("make", "options", "error", "words"),
    [
        (lambda: of_connection(OfTheirOwn), {}, redlatch.UnsupportedError, "connection_class is .*OfTheirOwn.*SSL"),
        (
            lambda: redis.Redis(redis_connect_func=print),
            {},
            redlatch.UnsupportedError,
            "redis_connect_func is set",
        ),
        (
            lambda: redis.Redis(ssl=True, ssl_ca_data="PEM", ssl_ciphers="X", ssl_password="p"),
            {},
            redlatch.UnsupportedError,
            "^ssl_ca_data, ssl_ciphers, ssl_password: redlatch has no such option of TLS",
        ),
        (lambda: redis.Redis(credential_provider=Provider()), {}, ValueError, "credentials_interval is None"),
        (lambda: TheirSentinel([("h", 1)]), {}, TypeError, r"is a Sentinel; expected its master_for\(service\)"),
        (lambda: TheirSentinel([("h", 1)]).slave_for("s"), {}, redlatch.UnsupportedError, "slave_for.*use master_for"),
        (
            lambda: TheirSentinel([("h", 1)], min_other_sentinels=2).master_for("s"),
            {},
            redlatch.UnsupportedError,
            "min_other_sentinels is 2",
        ),
        (
            lambda: TheirSentinel([("h", 1)], ssl=True).master_for("s"),
            {},
            redlatch.UnsupportedError,
            "only one uses TLS",
        ),
        (object, {}, TypeError, "redis_client is of type object; expected a client of redis-py"),
        (lambda: "redis://h", {}, TypeError, "redis_client is of type str"),
        (redis.Redis, {"url": "redis://h"}, redlatch.InvalidArgumentError, "expected no url"),
        (redis.Redis, {"db": 2}, TypeError, "did you mean database=2"),
    ],
)
def test_what_is_refused(make: Callable[[], Any], options: Dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        redlatch.connect_like(make(), **{**ANY, **options})


def test_a_cluster(lock_name: str) -> None:
    with whole_cluster() as server:
        theirs = redis.RedisCluster(host="127.0.0.1", port=server.port, socket_timeout=3, client_name="billing")
        with redlatch.connect_like(theirs) as client, client.lock(lock_name):
            assert client.url.startswith(f"redis+cluster://127.0.0.1:{server.port}")
            assert theirs.exists(lock_name)
            assert [party.label for party in client.inspect(lock_name).parties] == ["billing"]
        theirs.close()


def test_a_cluster_for_tasks(arguments: Callable[..., Dict[str, Any]]) -> None:
    node = redis_asyncio.cluster.ClusterNode("other", 7001)
    theirs = redis_asyncio.RedisCluster(host="one", port=7000, startup_nodes=[node], ssl=True, password="p")
    taken = arguments(theirs)
    assert taken["url"] == "rediss+cluster://one:7000,other:7001"
    assert (taken["password"], taken["tls_verify"]) == ("p", "full")


def test_a_cluster_with_other_addresses_is_refused() -> None:
    theirs = redis_asyncio.RedisCluster(host="one", port=7000, address_remap=lambda address: address)
    with pytest.raises(redlatch.UnsupportedError, match="address_remap is set"):
        redlatch.connect_like(theirs)


def test_a_lock_of_the_compatible_class_on_a_cluster(lock_name: str) -> None:
    with whole_cluster() as server:
        theirs = redis.RedisCluster(host="127.0.0.1", port=server.port)
        with redis_py.Lock(theirs, lock_name, timeout=10):
            assert theirs.exists(lock_name)
        theirs.close()


def test_a_cluster_with_a_function_for_new_connections_is_refused() -> None:
    with whole_cluster() as server:
        theirs = redis.RedisCluster(host="127.0.0.1", port=server.port, redis_connect_func=print)
        with pytest.raises(redlatch.UnsupportedError, match="redis_connect_func is set"):
            redlatch.connect_like(theirs)
        theirs.close()


def test_a_provider_with_an_interval(arguments: Callable[..., Dict[str, Any]]) -> None:
    provider = Provider()
    taken = arguments(redis.Redis(credential_provider=provider), credentials_interval=60)
    assert taken["credentials"] is provider and taken["credentials_interval"] == 60
    assert "username" not in taken and "password" not in taken


def test_an_option_in_place_of_what_cannot_be_taken(arguments: Callable[..., Dict[str, Any]]) -> None:
    taken = arguments(redis.Redis(ssl=True, ssl_ca_data="PEM"), tls_ca_file="/ca")
    assert taken["tls_ca_file"] == "/ca"


# ------------------------------------------------------------------------------------------------- TLS and sentinels --


def test_tls(server_binary: List[str], tmp_path: Path, lock_name: str) -> None:
    """The server is verified as redis-py does it, and the client has a certificate."""
    ca, stranger = Authority(tmp_path, "test CA"), Authority(tmp_path, "strange CA")
    own, worker = ca.certificate(), ca.certificate("worker", names="DNS:worker")
    tls = TlsServer(own, ca.file, tls_auth_clients="yes")
    settings = {"ssl_certfile": str(worker.file), "ssl_keyfile": str(worker.key), "ssl_cert_reqs": "required"}
    with tls.server:
        theirs = redis.Redis.from_url(tls.url, ssl_ca_certs=str(ca.file), **settings)
        assert theirs.ping()
        with redlatch.connect_like(theirs) as ours, ours.lock(lock_name):
            assert theirs.exists(lock_name)
        theirs.connection_pool.disconnect()
        with pytest.raises(redlatch.AuthenticationError, match="unknown CA|was refused"):
            redlatch.connect_like(redis.Redis.from_url(tls.url, ssl_ca_certs=str(stranger.file), **settings))


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    """Servers with sentinels that require a password."""
    with Watched(sentinels=1, password="of-the-sentinels") as started:
        yield started


def addresses(watched: Watched) -> List[Tuple[str, int]]:
    """Returns the addresses of the sentinels as redis-py takes them."""
    return [("127.0.0.1", int(each.address.rpartition(":")[2])) for each in watched.sentinels]


@pytest.mark.parametrize("kind", [TheirSentinel, redis_asyncio.Sentinel], ids=["sync", "asyncio"])
def test_sentinels(watched: Watched, lock_name: str, kind: Any) -> None:
    sentinel = kind(addresses(watched), sentinel_kwargs={"password": "of-the-sentinels"})
    with redlatch.connect_like(sentinel.master_for(SERVICE, db=1)) as ours:
        hosts = ",".join(f"127.0.0.1:{port}" for _, port in addresses(watched))
        assert ours.url == f"redis+sentinel://{hosts}/{SERVICE}/1"
        with ours.lock(lock_name, timeout=10):
            watched.master.admin.select(1)
            assert watched.master.admin.exists(lock_name)
            watched.master.admin.select(0)


def test_sentinels_by_tls(server_binary: List[str], tmp_path: Path, lock_name: str) -> None:
    """In redis-py the sentinels and the master each have their own TLS options."""
    tls = Identity.make(tmp_path)
    with Watched(sentinels=1, tls=tls) as watched:
        own = {"ssl": True, "ssl_ca_certs": str(tls.ca)}
        for of_sentinel in ({**own}, {**own, "ssl_check_hostname": False}):
            sentinel = TheirSentinel(addresses(watched), sentinel_kwargs=of_sentinel, **own)
            with redlatch.connect_like(sentinel.master_for(SERVICE)) as ours, ours.lock(lock_name, timeout=10):
                assert watched.master.admin.exists(lock_name)


def test_options_of_sentinels_alone(arguments: Callable[..., Dict[str, Any]]) -> None:
    of_sentinel = {"ssl": True, "ssl_ca_certs": "/of sentinels", "username": "s", "password": "x"}
    sentinel = TheirSentinel([("a", 1), ("::1", 2)], sentinel_kwargs=of_sentinel, ssl=True, ssl_ca_certs="/ca")
    taken = arguments(sentinel.master_for("a/service"))
    assert taken == {
        "url": "rediss+sentinel://a:1,[::1]:2/a%2Fservice"
        "?sentinel_tls_ca_file=%2Fof%20sentinels&sentinel_tls_verify=full",
        "database": 0,
        "sentinel_username": "s",
        "sentinel_password": "x",
        "tls_ca_file": "/ca",
        "tls_verify": "full",
    }
