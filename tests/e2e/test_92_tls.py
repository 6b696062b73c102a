# SPDX-License-Identifier: Apache-2.0
"""The command over TLS: its options, and what CMD of `run` gets of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Iterator, List

import pytest
from support.certificates import Authority
from support.shell import program, redlatch
from support.tls_server import TlsServer


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority of the tests."""
    return Authority(tmp_path_factory.mktemp("certificates"), "test CA")


@pytest.fixture(scope="module")
def tls(server_binary: List[str], ca: Authority) -> Iterator[TlsServer]:
    """The module's server, at 127.0.0.1."""
    started = TlsServer(ca.certificate(), ca.file, tls_auth_clients="optional")
    with started.server:
        yield started


def test_the_command(tls: TlsServer, ca: Authority, lock_name: str, tmp_path: Path) -> None:
    """`show --mine` in CMD finds the TLS options of `run`, in whatever folder it runs."""
    shown = redlatch(None, "show", "-u", tls.url, "--tls-ca-file", ca.file, lock_name)
    assert shown.returncode == 3, shown.stderr
    refusing = redlatch(None, "show", "-u", tls.url, "--tls-ca-file", "/dev/null", lock_name)
    assert refusing.returncode == 64 and '--tls-ca-file "/dev/null": expected' in refusing.stderr, refusing.stderr
    relative = os.path.relpath(ca.file)
    script = f"cd {tmp_path} && {program()} show --mine"
    run = redlatch(
        None, "run", "-u", tls.url, "--tls-ca-file", relative, "--tls-min-version", "1.3", lock_name, "--",
        *("sh", "-c", script),
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ca-file", "/nowhere/ca.pem"),
        ("ca-dir", "/nowhere"),
        ("cert-file", "/nowhere/own.pem"),
        ("key-file", "/nowhere/own.key"),
        ("server-name", ""),
        ("verify", "some"),
        ("min-version", "0.9"),
    ],
)
def test_each_option_reaches_the_library(tls: TlsServer, lock_name: str, option: str, value: str) -> None:
    """The library refuses the wrong values."""
    done = redlatch(None, "show", "-u", tls.url, f"--tls-{option}", value, lock_name)
    assert done.returncode == 64, done.stderr
    assert f'redlatch: --tls-{option} "{value}": ' in done.stderr


def test_complaints_name_what_was_used(tls: TlsServer, ca: Authority, lock_name: str, tmp_path: Path) -> None:
    """A message names the option as it was given, in the URL or to the command. It names a missing option as one of
    the command."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT_")}

    def complaint(url: str, *options: str) -> str:
        words = [program(), "show", "-u", url, *options, lock_name]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=plain)
        assert done.returncode in (64, 69), done.stderr
        return done.stderr

    assert complaint(f"{tls.url}?tls_ca_file=/dev/null").startswith('redlatch: tls_ca_file "/dev/null": ')
    assert '--tls-ca-file "/dev/null": ' in complaint(f"{tls.url}?tls_ca_file=/dev/zero", "--tls-ca-file", "/dev/null")
    assert "--tls-ca-file" in complaint(tls.url) and "tls_ca_file" not in complaint(tls.url)
    stranger = tmp_path / "tls_ca_file"
    stranger.write_text(Authority(tmp_path, "stranger").file.read_text())
    shown = str(stranger)[:60]
    assert f'expected one of --tls-ca-file "{shown}' in complaint(tls.url, "--tls-ca-file", str(stranger))
    assert f'expected one of tls_ca_file "{shown}' in complaint(f"{tls.url}?tls_ca_file={stranger}")
    key = complaint(f"{tls.url}?tls_key_file={ca.key}")
    assert f'tls_key_file "{ca.key}": expected a --tls-cert-file with it' in key


def test_all_options_are_in_the_environment(tls: TlsServer, ca: Authority, lock_name: str, tmp_path: Path) -> None:
    """Paths are absolute, as CMD may change its folder. Other values are as they were given. Without options there are
    no variables."""
    own = ca.certificate("worker", names="DNS:worker")
    (tmp_path / "ca.pem").write_text(ca.file.read_text())
    subprocess.run(["openssl", "rehash", str(tmp_path)], check=True)
    given = {
        "ca-file": os.path.relpath(ca.file),
        "ca-dir": os.path.relpath(tmp_path),
        "cert-file": os.path.relpath(own.file),
        "key-file": os.path.relpath(own.key),
        "server-name": "127.0.0.1",
        "verify": "full",
        "min-version": "1.2",
    }
    options = [word for option, value in given.items() for word in (f"--tls-{option}", value)]
    listing = ("sh", "-c", "env | grep ^REDLATCH_TLS_ | sort")
    done = redlatch(None, "run", "-u", tls.url, *options, lock_name, "--", *listing)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == sorted(
        [
            f"REDLATCH_TLS_CA_FILE={os.getcwd()}/{given['ca-file']}",
            f"REDLATCH_TLS_CA_DIR={os.getcwd()}/{given['ca-dir']}",
            f"REDLATCH_TLS_CERT_FILE={os.getcwd()}/{given['cert-file']}",
            f"REDLATCH_TLS_KEY_FILE={os.getcwd()}/{given['key-file']}",
            "REDLATCH_TLS_SERVER_NAME=127.0.0.1",
            "REDLATCH_TLS_VERIFY=full",
            "REDLATCH_TLS_MIN_VERSION=1.2",
        ]
    )
    bare = ("env", "-u", "SSL_CERT_FILE", "sh", "-c", "env | grep ^REDLATCH_TLS_ | sort")
    outer = {"SSL_CERT_FILE": str(ca.file), "REDLATCH_TLS_VERIFY": "none", "REDLATCH_TLS_SERVER_NAME": "other"}
    done = redlatch(None, "run", "-u", tls.url, lock_name, "--", *bare, **outer)
    assert done.returncode == 0 and done.stdout == "", done.stderr


def test_relative_paths_of_the_url(tls: TlsServer, ca: Authority, lock_name: str, tmp_path: Path) -> None:
    """They are relative to where `run` was started. CMD, which may change its folder, gets absolute paths. Links in
    them are not resolved, since they may change later."""
    folder = tmp_path / "a folder, 100% & more"
    folder.mkdir()
    (folder / "a ca.pem").symlink_to(ca.file)
    url = f"{tls.url}?tls_verify=ca&tls_ca_file=a%20ca.pem"
    script = f"cd / && {program()} show --mine && echo $REDLATCH_URL"
    for options, variables in ((["-u", url], {}), ([], {"REDIS_URL": url})):
        usual = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
        done = subprocess.run(
            [program(), "run", *options, lock_name, "--", "sh", "-c", script],
            capture_output=True, text=True, timeout=60, check=False, env={**usual, **variables}, cwd=folder,
        )
        assert done.returncode == 0, done.stderr
        path = f"{tmp_path}/a%20folder,%20100%25%20%26%20more/a%20ca.pem"
        assert done.stdout.splitlines()[-1] == f"{tls.url}?tls_verify=ca&tls_ca_file={path}"


def test_what_is_given_within_run_wins(tls: TlsServer, ca: Authority, lock_name: str) -> None:
    """It precedes what `run` was given."""
    script = f'"{program()}" show --mine --tls-ca-file /dev/null; echo "$?"; "{program()}" show --mine >&2; echo "$?"'
    done = redlatch(None, "run", "-u", tls.url, "--tls-ca-file", str(ca.file), lock_name, "--", "sh", "-c", script)
    assert done.stdout.splitlines() == ["64", "0"], done.stderr
