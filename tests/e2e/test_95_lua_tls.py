# SPDX-License-Identifier: Apache-2.0
"""Lua over TLS: the options."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Iterator, List

import pytest
from support.certificates import Authority
from support.lua_programs import LUAS
from support.lua_programs import environment as lua_environment
from support.tls_server import TlsServer

LUA = """
local redlatch = require "redlatch"
local url, ca, name = arg[1], arg[2], arg[3]
local client = assert(redlatch.connect(url, {tls_ca_file = ca, tls_verify = "full", tls_min_version = "1.2"}))
assert(client:lock(name):with(function(held) assert(not held:lost()) end))
local refused, message, code = redlatch.connect(url, {tls_ca_file = ca, tls_server_name = "other"})
assert(not refused and code == "authentication" and message:find("expected one for DNS:other", 1, true), message)
client:close()
"""


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


@pytest.mark.parametrize("lua", LUAS)
def test_lua(tls: TlsServer, ca: Authority, lock_name: str, tmp_path: Path, lua: str) -> None:
    """The names of the options are the same in Lua."""
    script = tmp_path / "tls.lua"
    script.write_text(LUA)
    done = subprocess.run(
        [lua, str(script), tls.url, str(ca.file), lock_name], env=lua_environment(lua), capture_output=True, text=True,
        timeout=60, check=False,
    )
    assert done.returncode == 0, done.stderr
