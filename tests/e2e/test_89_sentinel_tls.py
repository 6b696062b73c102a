# SPDX-License-Identifier: Apache-2.0
"""Sentinels and their master over TLS, and a master among its replicas: rediss+sentinel://, rediss+replicas://."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest
import redlatch
from hosts import Host
from support import wait_until
from support.certificates import Authority
from support.ports import free_port
from support.sentinels import SERVICE, Sentinel
from support.shell import program
from support.tls_server import Identity, TlsServer
from support.topologies import Replicas


class WatchedByTls(NamedTuple):
    """A server that a sentinel watches; clients reach both by TLS."""

    server: TlsServer
    url: str
    ca: Path
    stranger: Path


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedByTls]:
    """The server's certificate is for its address, the sentinel's for localhost."""
    folder = tmp_path_factory.mktemp("certificates")
    ca, stranger = Authority(folder, "test CA"), Authority(folder, "strange CA")
    own, of_sentinel = ca.certificate("server"), ca.certificate("sentinel", names="DNS:localhost")
    server = TlsServer(own, ca.file, tls_auth_clients="no")
    port = free_port()
    lines = [
        f"tls-port {port}",
        f"tls-cert-file {of_sentinel.file}",
        f"tls-key-file {of_sentinel.key}",
        f"tls-ca-cert-file {ca.file}",
        "tls-auth-clients no",
        "tls-replication yes",
    ]
    with server.server, closing(Sentinel(("127.0.0.1", server.tls_port), quorum=1, lines=lines)):
        yield WatchedByTls(server, f"rediss+sentinel://localhost:{port}/{SERVICE}/0", ca.file, stranger.file)


def test_sentinel_and_master_each_under_its_own_name(watched: WatchedByTls, lock_name: str) -> None:
    """The sentinel's certificate is for localhost, the master's for the address that the sentinel announces."""
    with redlatch.connect(watched.url, tls_ca_file=watched.ca) as client:
        assert client.url == watched.url
        with client.lock(lock_name, timeout=5) as held:
            assert not held.lost and watched.server.server.admin.exists(lock_name)
        assert not watched.server.server.admin.exists(lock_name)


def test_a_sentinel_of_an_unknown_ca_is_refused(watched: WatchedByTls) -> None:
    """Nothing is sent to the sentinel, not even the question for the master."""
    with pytest.raises(redlatch.AuthenticationError, match='the certificate of "CN=sentinel".*unknown CA'):
        redlatch.connect(watched.url, tls_ca_file=watched.stranger)


def test_a_refused_certificate_is_no_refused_password(watched: WatchedByTls, lock_name: str) -> None:
    """A wait ends at once, also after a push of credentials, which new ones could not mend. The host gets no event."""
    with redlatch.connect(watched.url, tls_ca_file=watched.stranger, lazy=True) as client:
        host = Host(client)
        client.set_credentials("default", "any")
        began = time.monotonic()
        with pytest.raises(redlatch.AuthenticationError, match='the certificate of "CN=sentinel".*unknown CA'):
            client.lock(lock_name, owner="handle").acquire(timeout=20)
        assert time.monotonic() - began < 5.0
        assert host.quiet()


def test_sentinels_with_options_of_their_own(watched: WatchedByTls, lock_name: str) -> None:
    """These options are for the sentinels only. If one is given, the master's options do not apply to the sentinels."""
    own = f"{watched.url}?sentinel_tls_ca_file="
    with redlatch.connect(f"{own}{watched.ca}", tls_ca_file=watched.ca) as client, client.lock(lock_name, timeout=5):
        assert client.url == watched.url
    with pytest.raises(redlatch.AuthenticationError, match='"CN=server".*unknown CA: expected one of tls_ca_file'):
        redlatch.connect(f"{own}{watched.ca}", tls_ca_file=watched.stranger)
    unknown = '"CN=sentinel".*unknown CA: expected one of sentinel_tls_ca_file'
    with pytest.raises(redlatch.AuthenticationError, match=unknown):
        redlatch.connect(f"{own}{watched.stranger}", tls_ca_file=watched.ca)
    with pytest.raises(redlatch.InvalidArgumentError, match='^sentinel_tls_key_file "k": .* a sentinel_tls_cert_file'):
        redlatch.connect(f"{watched.url}?sentinel_tls_key_file=k")
    with pytest.raises(redlatch.InvalidArgumentError, match='^sentinel_tls_ca_file "%zz": expected %XX escapes'):
        redlatch.connect(f"{watched.url}?sentinel_tls_ca_file=%zz")
    with pytest.raises(redlatch.InvalidArgumentError, match='^sentinel_tls_ca_file "/nowhere"'):
        redlatch.connect(f"{own}/nowhere", tls_ca_file=watched.ca)


def test_relative_paths_of_the_command(watched: WatchedByTls, lock_name: str, tmp_path: Path) -> None:
    """CMD of `run` may be in another folder. By REDIS_URL, which has the password, it finds what `run` holds."""
    (tmp_path / "ca.pem").symlink_to(watched.ca)
    query = "sentinel_tls_ca_file=ca.pem&tls_ca_file=ca.pem"
    url = f"{watched.url.replace('://', '://default:any@')}?{query}"
    done = subprocess.run(
        [program(), "run", lock_name, "--", "sh", "-c", f"cd / && {program()} show --mine && echo $REDLATCH_URL"],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "REDIS_URL": url}, cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    absolute = query.replace("=ca.pem", f"={tmp_path}/ca.pem")
    assert done.stdout.splitlines()[-1] == f"{watched.url.replace('://', '://default@')}?{absolute}"


@pytest.mark.parametrize("scheme", ["redis", "rediss", "redis+sentinel", "rediss+replicas"])
def test_options_of_sentinels_with_tls_elsewhere(scheme: str) -> None:
    """They are refused, since no TLS option is ignored."""
    service = "/service" if scheme == "redis+sentinel" else ""
    with pytest.raises(redlatch.InvalidArgumentError, match='URL option "sentinel_tls_ca_file"'):
        redlatch.connect(f"{scheme}://h{service}/0?sentinel_tls_ca_file=/x")


def test_tls_is_not_left_out(watched: WatchedByTls) -> None:
    """A TLS option with a URL of plain sentinels is an error. A plain client cannot use the TLS port."""
    plain = watched.url.replace("rediss", "redis")
    with pytest.raises(redlatch.InvalidArgumentError, match="tls_ca_file .*: expected a rediss:// URL"):
        redlatch.connect(plain, tls_ca_file=watched.ca)
    with pytest.raises(redlatch.UnreachableError, match="rediss://"):
        redlatch.connect(plain)


def test_replicas_without_sentinels(watched: WatchedByTls, lock_name: str, tmp_path: Path) -> None:
    """The client searches for the master by TLS, and also for the new one, where the hold is renewed. It does not ask
    servers without TLS or of an unknown CA."""
    with Replicas(Identity.make(tmp_path)) as replicas:
        url = replicas.master.url
        assert url.startswith("rediss+replicas://")
        with redlatch.connect(url, watchdog_lease=3.0) as client, client.lock(lock_name, timeout=5) as held:
            wait_until(replicas.in_step)
            master = replicas.change("in-order")
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] > before + 1, 10.0)
            assert not held.lost and master.admin.exists(lock_name)
        assert not master.admin.exists(lock_name)
        with pytest.raises(redlatch.AuthenticationError, match="unknown CA"):
            redlatch.connect(url, tls_ca_file=watched.stranger)
        with pytest.raises(redlatch.UnreachableError, match="rediss://"):
            redlatch.connect(url.partition("?")[0].replace("rediss", "redis"))
