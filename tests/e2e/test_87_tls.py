# SPDX-License-Identifier: Apache-2.0
"""TLS: what is verified, what is refused, and with which message. Locks work over it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest
import redlatch
from support import RedisServer, wait_until
from support.certificates import Authority, Certificate, openssl
from support.tls_front import TlsFront
from support.tls_server import TlsServer
from support.wire import subscribers

MakeTls = Callable[..., TlsServer]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the certificates."""
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ca(folder: Path) -> Authority:
    """The authority of the tests."""
    return Authority(folder, "test CA")


@pytest.fixture(scope="module")
def stranger(folder: Path) -> Authority:
    """An authority that nobody trusts."""
    return Authority(folder, "strange CA")


@pytest.fixture(scope="module")
def certificate(ca: Authority) -> Certificate:
    """The certificate of a server at 127.0.0.1."""
    return ca.certificate()


@pytest.fixture(scope="module")
def tls(server_binary: List[str], ca: Authority, certificate: Certificate) -> Iterator[TlsServer]:
    """The module's server."""
    started = TlsServer(certificate, ca.file, tls_auth_clients="no")
    with started.server:
        yield started


@pytest.fixture
def make_tls(server_binary: List[str], ca: Authority) -> Iterator[MakeTls]:
    """Starts servers with other certificates: make_tls(certificate)."""
    started: List[TlsServer] = []

    def make(certificate: Certificate, chain: Optional[Path] = None, **options: Any) -> TlsServer:
        options.setdefault("tls_auth_clients", "no")
        started.append(TlsServer(certificate, ca.file, chain=chain, **options))
        return started[-1]

    yield make
    for each in started:
        each.server.close()


def use(url: str, name: str, **options: Any) -> None:
    """Hold a lock for a moment."""
    with redlatch.connect(url, **options) as client, client.lock(name) as held:
        assert not held.lost


def refused(url: str, **options: Any) -> str:
    """Returns the message of a connection that is refused because of a certificate."""
    with pytest.raises(redlatch.AuthenticationError) as raised:
        redlatch.connect(url, **options)
    assert not raised.value.retryable
    return str(raised.value)


# ----------------------------------------------------------------------------------------------- what is accepted --


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_locks_work(make_tls: MakeTls, certificate: Certificate, ca: Authority, lock_name: str, version: str) -> None:
    """A waiter in another client is woken by a message, over TLS 1.2 and 1.3."""
    server = make_tls(certificate, tls_protocols=version)
    with redlatch.connect(server.url, tls_ca_file=ca.file) as one, redlatch.connect(
        server.url, tls_ca_file=ca.file
    ) as other:
        assert one.url == server.url
        with one.lock(lock_name):
            assert not other.lock(lock_name).acquire(timeout=0)
            started = other.lock(lock_name, owner="handle")
            waiting = subprocess.Popen(
                [sys.executable, "-c", WAITER, server.url, str(ca.file), lock_name], stdout=subprocess.PIPE
            )
            wait_until(lambda: subscribers(server.server, lock_name) > 0)
        assert waiting.communicate(timeout=20)[0] == b"held\n"
        with started:
            pass


WAITER = """
import sys, redlatch
url, ca, name = sys.argv[1:]
with redlatch.connect(url, tls_ca_file=ca) as client, client.lock(name, timeout=20):
    print("held", flush=True)
"""


def test_options_of_the_url(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """The names of the options are the same in a URL."""
    use(f"{tls.url}?tls_ca_file={ca.file}&tls_min_version=1.3&tls_verify=full", lock_name)


def test_a_folder_of_cas(tls: TlsServer, ca: Authority, folder: Path, lock_name: str) -> None:
    """The files of the folder are named by the hashes of the CAs."""
    cas = folder / "rehashed"
    cas.mkdir()
    (cas / "ca.pem").write_text(ca.file.read_text())
    subprocess.run(["openssl", "rehash", str(cas)], check=True)
    use(tls.url, lock_name, tls_ca_dir=cas)


def test_cas_of_the_environment(
    tls: TlsServer, ca: Authority, lock_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSL_CERT_FILE counts where no option is given."""
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.file))
    use(tls.url, lock_name)


def test_a_chain_in_wrong_order(make_tls: MakeTls, ca: Authority, folder: Path, lock_name: str) -> None:
    """The certificates behind the server's own may come in any order."""
    upper = Authority(folder, "upper CA", ca)
    lower = Authority(folder, "lower CA", upper)
    own = lower.certificate()
    use(make_tls(own, own.chain(upper, lower)).url, lock_name, tls_ca_file=ca.file)
    message = refused(make_tls(own).url, tls_ca_file=ca.file)
    assert "CN=lower CA" in message


def test_another_server_name(make_tls: MakeTls, ca: Authority, lock_name: str) -> None:
    """The name that is expected may differ from the host of the URL."""
    server = make_tls(ca.certificate("redis.example", names="DNS:redis.example"))
    use(server.url, lock_name, tls_ca_file=ca.file, tls_server_name="redis.example")
    use(server.url, lock_name, tls_ca_file=ca.file, tls_verify="ca")


def test_a_client_certificate(make_tls: MakeTls, certificate: Certificate, ca: Authority, lock_name: str) -> None:
    """A server that requires a client certificate accepts it, from two files or from one."""
    server = make_tls(certificate, tls_auth_clients="yes")
    own = ca.certificate("worker", names="DNS:worker")
    use(server.url, lock_name, tls_ca_file=ca.file, tls_cert_file=own.file, tls_key_file=own.key)
    both = own.file.with_name("both.pem")
    both.write_text(own.file.read_text() + own.key.read_text())
    use(server.url, lock_name, tls_ca_file=ca.file, tls_cert_file=both)


def test_nothing_verified(make_tls: MakeTls, stranger: Authority, lock_name: str) -> None:
    """Only tls_verify="none" disables the verification."""
    use(make_tls(stranger.certificate(when="past")).url, lock_name, tls_verify="none")


# ------------------------------------------------------------------------------------------------ what is refused --


def test_expired(make_tls: MakeTls, ca: Authority) -> None:
    """The certificate is valid only in the past, or only in the future."""
    message = refused(make_tls(ca.certificate(when="past")).url, tls_ca_file=ca.file)
    assert '"CN=127.0.0.1"' in message and '"CN=test CA"' in message
    assert "it expired on Feb  1 00:00:00 2020 GMT: expected a valid one" in message
    message = refused(make_tls(ca.certificate(when="future")).url, tls_ca_file=ca.file)
    assert "it is not valid before Jan  1 00:00:00 2090 GMT" in message


def test_wrong_name(make_tls: MakeTls, ca: Authority) -> None:
    """The certificate is that of another server."""
    server = make_tls(ca.certificate("a.example", names="DNS:a.example,IP:10.0.0.1"))
    message = refused(server.url, tls_ca_file=ca.file)
    assert "it is for DNS:a.example, IP:10.0.0.1: expected one for IP:127.0.0.1" in message
    message = refused(server.url, tls_ca_file=ca.file, tls_server_name="b.example")
    assert "expected one for DNS:b.example" in message
    server = make_tls(ca.certificate("in the CN alone", names="DNS:127.0.0.1"))
    assert "it is for DNS:127.0.0.1: expected one for IP:127.0.0.1" in refused(server.url, tls_ca_file=ca.file)


def test_names_with_a_dot_or_a_zone(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """A name's final dot and an address's zone are not compared with the certificate."""
    for name in ("localhost.", "127.0.0.1%eth0"):
        use(tls.url, lock_name, tls_ca_file=ca.file, tls_server_name=name)


def test_a_certificate_is_refused_once_whatever_the_addresses_of_the_name(
    make_tls: MakeTls, stranger: Authority, ca: Authority
) -> None:
    """localhost has two addresses here, and nobody listens at one of them."""
    server = make_tls(stranger.certificate("two", names="DNS:localhost"))
    if len({each[4][0] for each in socket.getaddrinfo("localhost", server.tls_port, type=socket.SOCK_STREAM)}) < 2:
        pytest.skip("localhost has one address")
    assert "strange CA" in refused(f"rediss://localhost:{server.tls_port}", tls_ca_file=ca.file)


def test_the_alert_reaches_the_server(make_tls: MakeTls, stranger: Authority, ca: Authority) -> None:
    """The server's log names the alert."""
    server = make_tls(stranger.certificate("alerted"), loglevel="verbose")
    refused(server.url, tls_ca_file=ca.file)
    wait_until(lambda: "unknown ca" in server.server.log_text(), message="the alert in the log")


def test_a_key_of_another_certificate(
    tls: TlsServer, ca: Authority, stranger: Authority, folder: Path
) -> None:
    """The key is of the same type, of another type, or has a passphrase. Each is refused before anything is sent."""
    own, other = ca.certificate("own", names="DNS:own"), stranger.certificate("their", names="DNS:their")
    rsa, locked = folder / "rsa.key", folder / "locked.key"
    openssl("genrsa", "-out", str(rsa), "2048")
    openssl("ec", "-in", str(own.key), "-aes128", "-passout", "pass:secret", "-out", str(locked))
    for key in (other.key, rsa, locked):
        with pytest.raises(redlatch.InvalidArgumentError, match=f'tls_key_file "{key}": expected the private key'):
            redlatch.connect(tls.url, tls_ca_file=ca.file, tls_cert_file=own.file, tls_key_file=key)


def test_options_that_cannot_work(tls: TlsServer, ca: Authority, folder: Path) -> None:
    """A folder without hashes, a file in place of a folder, CAs that would not be used, a name that is too long."""
    plain = folder / "plain"
    plain.mkdir()
    (plain / "ca.pem").write_text(ca.file.read_text())
    for options, words in (
        ({"tls_ca_dir": plain}, 'plain": expected a folder of CA certificates, prepared by openssl rehash'),
        ({"tls_ca_dir": ca.file}, "expected a folder of CA certificates"),
        ({"tls_ca_file": ca.file, "tls_verify": "none"}, "expected a tls_verify that uses it, full or ca"),
        ({"tls_ca_file": ca.file, "tls_server_name": "x" * 300}, "expected a host name or an address"),
    ):
        with pytest.raises(redlatch.InvalidArgumentError, match=words):
            redlatch.connect(tls.url, **options)


@pytest.mark.parametrize("kind", ["file", "folder", "stale"])
def test_the_variables_of_openssl(
    tls: TlsServer, ca: Authority, folder: Path, lock_name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSL_CERT_FILE and SSL_CERT_DIR, a list, mean the same as for OpenSSL. Missing files are ignored."""
    hashed = folder / f"hashed-{kind}"
    hashed.mkdir()
    (hashed / "ca.pem").write_text(ca.file.read_text())
    openssl("rehash", str(hashed))
    variables = {
        "file": {"SSL_CERT_FILE": str(ca.file)},
        "folder": {"SSL_CERT_DIR": f"/nowhere:{hashed}"},
        "stale": {"SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": str(hashed)},
    }[kind]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    use(tls.url, lock_name)


def test_no_cipher_in_common(make_tls: MakeTls, certificate: Certificate, ca: Authority) -> None:
    """No certificate would help against the server's alert, so the message does not ask for one."""
    server = make_tls(certificate, tls_protocols="TLSv1.2", tls_ciphers="NULL-SHA256:@SECLEVEL=0")
    with pytest.raises(redlatch.UnreachableError, match="the server refused the TLS connection") as raised:
        redlatch.connect(server.url, tls_ca_file=ca.file)
    assert raised.value.status_name == "protocol" and "tls_cert_file" not in str(raised.value)


def test_wrong_ca(make_tls: MakeTls, stranger: Authority, ca: Authority) -> None:
    """No trusted CA has issued the certificate. It is refused even if the name is not verified."""
    server = make_tls(stranger.certificate())
    for verify in ("full", "ca", None):
        message = refused(server.url, tls_ca_file=ca.file, tls_verify=verify)
        assert 'issued by "CN=strange CA"' in message and f'expected one of tls_ca_file "{ca.file}"' in message


def test_revoked(make_tls: MakeTls, folder: Path, lock_name: str) -> None:
    """A list of revoked certificates in the file of CAs is applied."""
    authority = Authority(folder, "revoking CA")
    server = make_tls(authority.certificate("revoked", names="IP:127.0.0.1"))
    good = make_tls(authority.certificate("good", names="IP:127.0.0.1"))
    use(server.url, lock_name, tls_ca_file=authority.file)
    authority.revoke(Certificate(authority.file.parent, "revoked-now"))
    with_list = authority.with_revocations()
    assert "it is revoked" in refused(server.url, tls_ca_file=with_list)
    use(good.url, lock_name, tls_ca_file=with_list)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_client_without_certificate(
    make_tls: MakeTls, certificate: Certificate, ca: Authority, stranger: Authority, version: str
) -> None:
    """The client's certificate is missing, or its CA is unknown to the server."""
    server = make_tls(certificate, tls_auth_clients="yes", tls_protocols=version)
    message = refused(server.url, tls_ca_file=ca.file)
    assert "the server refused a client without a certificate" in message and "tls_cert_file" in message
    own = stranger.certificate("spy", names="DNS:spy")
    message = refused(server.url, tls_ca_file=ca.file, tls_cert_file=own.file, tls_key_file=own.key)
    assert "the server refused the client's certificate" in message


def test_too_old_a_version(make_tls: MakeTls, certificate: Certificate, ca: Authority) -> None:
    """The server does not have the version that the client requires."""
    server = make_tls(certificate, tls_protocols="TLSv1.2")
    with pytest.raises(redlatch.UnreachableError, match="TLS"):
        redlatch.connect(server.url, tls_ca_file=ca.file, tls_min_version="1.3")


def test_plain_to_the_tls_port(tls: TlsServer) -> None:
    """A client without TLS ends soon, and hints at TLS if the server answers."""
    with pytest.raises(redlatch.UnreachableError, match="rediss:// URL") as raised:
        redlatch.connect(f"redis://127.0.0.1:{tls.tls_port}", connect_timeout=2)
    assert raised.value.status_name in ("protocol", "unreachable")


def test_tls_to_the_plain_port(tls: TlsServer, ca: Authority) -> None:
    """The client does not fall back to a connection without encryption."""
    began = time.monotonic()
    with pytest.raises(redlatch.RedlatchError) as raised:
        redlatch.connect(f"rediss://127.0.0.1:{tls.server.port}", tls_ca_file=ca.file, connect_timeout=1)
    assert time.monotonic() - began < 3
    assert "TLS" in str(raised.value)


def test_a_server_that_never_shakes_hands(ca: Authority) -> None:
    """The connect timeout includes the handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        began = time.monotonic()
        with pytest.raises(redlatch.UnreachableError, match="TLS handshake did not end before the connect timeout"):
            url = f"rediss://127.0.0.1:{listening.getsockname()[1]}"
            redlatch.connect(url, tls_ca_file=ca.file, connect_timeout=0.3)
        assert time.monotonic() - began < 2


def test_a_refused_certificate_ends_a_wait(make_tls: MakeTls, stranger: Authority, ca: Authority) -> None:
    """An acquire that would wait for a server that is down does not wait for another certificate."""
    server = make_tls(stranger.certificate())
    with redlatch.connect(server.url, tls_ca_file=ca.file, lazy=True) as client:
        began = time.monotonic()
        with pytest.raises(redlatch.AuthenticationError, match="CN=strange CA"):
            client.lock("whatever").acquire(timeout=30)
        assert time.monotonic() - began < 10


# ------------------------------------------------------------------------------------------------------- options --

BAD: List[Dict[str, Any]] = [
    {"tls_ca_file": "/nowhere/ca.pem"},
    {"tls_ca_file": "/dev/null"},
    {"tls_ca_dir": "/nowhere"},
    {"tls_cert_file": "/nowhere/own.pem"},
    {"tls_key_file": "/nowhere/own.key"},
    {"tls_verify": "never"},
    {"tls_min_version": "1.1"},
    {"tls_server_name": ""},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_options(tls: TlsServer, options: Dict[str, Any]) -> None:
    """The message names the option, its value and what was expected."""
    with pytest.raises(redlatch.InvalidArgumentError) as raised:
        redlatch.connect(tls.url, **options)
    [(name, value)] = options.items()
    assert name in str(raised.value) and value in str(raised.value) and "expected" in str(raised.value)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "unix:///nowhere"])
def test_options_without_tls(url: str) -> None:
    """They are refused, so that nobody takes a plain connection for an encrypted one."""
    with pytest.raises(redlatch.InvalidArgumentError, match="expected a rediss:// URL"):
        redlatch.connect(url, tls_verify="full", lazy=True)


# ---------------------------------------------------------------------------------------------- over a long time --


def break_connections(server: RedisServer, client: redlatch.Client) -> None:
    """Ends the connections of a client and waits until it has a new one."""
    before = client.stats()["reconnects"]
    admin: Any = server.admin
    admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert not client.lock("nobody's").state().locked
    wait_until(lambda: client.stats()["reconnects"] > before, 10.0, "a new connection")


def test_reconnects(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """A hold outlives a reconnect."""
    with redlatch.connect(tls.url, tls_ca_file=ca.file) as client, client.lock(lock_name) as held:
        for _ in range(3):
            break_connections(tls.server, client)
            assert client.lock(lock_name).state().locked
        assert not held.lost


def test_sessions_are_resumed(tls: TlsServer, ca: Authority, certificate: Certificate, lock_name: str) -> None:
    """Only the first connection of a client needs a full handshake."""
    with TlsFront(certificate, tls.server.port) as front:
        with redlatch.connect(front.url, tls_ca_file=ca.file) as client, client.lock(lock_name) as held:
            for _ in range(3):
                break_connections(tls.server, client)
            assert not held.lost
        assert front.resumed[0] is False and all(front.resumed[1:]), front.resumed


def replace(old: Certificate, new: Certificate) -> None:
    """Replaces each file by a rename, as programs that renew certificates do."""
    for to, source in ((old.file, new.file), (old.key, new.key)):
        fresh = to.with_suffix(".fresh")
        fresh.write_bytes(source.read_bytes())
        fresh.rename(to)


def test_renewed_files(
    make_tls: MakeTls, certificate: Certificate, ca: Authority, stranger: Authority, folder: Path, lock_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next connection uses the renewed files, even if the program has changed its folder. While they cannot be
    used, the old ones stay in use."""
    server = make_tls(certificate, tls_auth_clients="yes")
    used, renewed = stranger.certificate("used", names="DNS:used"), ca.certificate("renewed", names="DNS:renewed")
    (folder / "trusted.pem").write_text(stranger.file.read_text())
    files = {"tls_cert_file": used.file, "tls_key_file": used.key, "tls_ca_file": folder / "trusted.pem"}
    options = {name: os.path.relpath(path) for name, path in files.items()}
    with redlatch.connect(server.url, lazy=True, **options) as client:
        monkeypatch.chdir("/")
        lock = client.lock(lock_name)
        with pytest.raises(redlatch.AuthenticationError, match="unknown CA"):
            lock.acquire(timeout=0)
        (folder / "trusted.pem").write_text("half of a cert")
        with pytest.raises(redlatch.AuthenticationError, match='on disk is not used: tls_ca_file ".*trusted.pem"'):
            lock.acquire(timeout=0)
        (folder / "trusted.pem").write_text(ca.file.read_text())
        with pytest.raises(redlatch.AuthenticationError, match="the server refused the client's certificate"):
            lock.acquire(timeout=0)
        replace(used, renewed)
        with lock as held:
            used.key.write_text("half of a key")
            break_connections(server.server, client)
            assert not held.lost


def test_a_renewed_certificate_is_shown(
    tls: TlsServer, certificate: Certificate, ca: Authority, lock_name: str
) -> None:
    """No session of the old certificate is resumed."""
    own, renewed = ca.certificate("short", names="DNS:own"), ca.certificate("long", names="DNS:own")
    with TlsFront(certificate, tls.server.port) as front:
        with redlatch.connect(
            front.url, tls_ca_file=ca.file, tls_cert_file=own.file, tls_key_file=own.key
        ) as client, client.lock(lock_name):
            break_connections(tls.server, client)
            assert front.resumed[-1]
            replace(own, renewed)
            before = len(front.resumed)
            break_connections(tls.server, client)  # a connection begun before the renewal may be greeted after it
            wait_until(lambda: False in front.resumed[before:], 10.0, "a whole handshake")


def test_the_end_of_a_session(tls: TlsServer, ca: Authority, certificate: Certificate, lock_name: str) -> None:
    """A server that ends TLS and leaves the socket open has ended the connection."""
    with TlsFront(certificate, tls.server.port) as front:
        with redlatch.connect(front.url, tls_ca_file=ca.file, command_timeout=20) as client, client.lock(lock_name):
            front.end_sessions()
            assert client.lock(lock_name).state().locked
            assert client.stats()["reconnects"] > 0


def test_records_in_pieces(tls: TlsServer, ca: Authority, certificate: Certificate, lock_name: str) -> None:
    """Records arrive byte by byte, in the handshake as well."""
    with TlsFront(certificate, tls.server.port, piece=1) as front:
        use(front.url, lock_name, tls_ca_file=ca.file)


def test_a_thousand_reconnects_leak_nothing(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """Descriptors and memory stay as they are."""
    with redlatch.connect(tls.url, tls_ca_file=ca.file) as client, client.lock(lock_name) as held:
        for _ in range(100):
            break_connections(tls.server, client)
        descriptors, memory = len(os.listdir("/proc/self/fd")), resident()
        for _ in range(1000):
            break_connections(tls.server, client)
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors + 2, 10.0, "descriptors to be closed")
        assert resident() - memory < 3 << 20, (memory, resident())
        assert not held.lost


def resident() -> int:
    """Returns the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_storm_of_handshakes(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """Two hundred clients that shake hands at once, again and again, delay no renewal beyond half of its lease."""
    with redlatch.connect(tls.url, tls_ca_file=ca.file, watchdog_lease=4) as client, client.lock(lock_name) as held:
        while client.stats()["renewals"] < 3:
            together = threading.Barrier(CLIENTS)

            def shake_hands(together: threading.Barrier = together) -> None:
                together.wait()
                redlatch.connect(tls.url, tls_ca_file=ca.file, connect_timeout=30).close()

            with ThreadPoolExecutor(max_workers=CLIENTS) as pool:
                for each in [pool.submit(shake_hands) for _ in range(CLIENTS)]:
                    each.result()
        assert client.stats()["late_renewals"] == 0 and not held.lost


CLIENTS = 200


def test_large_commands_and_replies(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """Names that fill several records, in both directions."""
    with redlatch.connect(tls.url, tls_ca_file=ca.file) as client:
        for size in (100, 16_000, 60_000):
            with client.lock(lock_name + "x" * size):
                reports = list(client.scan(lock_name + "*"))
                assert len(reports) == 1


def test_many_renewals(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """200 holds are renewed three times each."""
    with redlatch.connect(tls.url, tls_ca_file=ca.file, watchdog_lease=3) as client:
        locks = [client.lock(f"{lock_name}:{i}") for i in range(200)]
        for each in locks:
            each.acquire()
        wait_until(lambda: client.stats()["renewals"] >= 600, 20.0)
        assert all(each.owned() for each in locks)
        for each in locks:
            each.release()


def test_a_forked_child(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """A child that closes its copy sends nothing on the parent's connection."""
    with redlatch.connect(tls.url, tls_ca_file=ca.file) as client, client.lock(lock_name) as held:
        child = os.fork()
        if child == 0:
            client.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert client.lock(lock_name).state().locked
        assert client.stats()["reconnects"] == 0
        assert not held.lost
