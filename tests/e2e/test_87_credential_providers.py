# SPDX-License-Identifier: Apache-2.0
"""Credentials from a provider in Python, and set_credentials in Lua."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import threading
from typing import Any, Callable, Iterator, List, Optional, Type, Union

import pytest
import redlatch
import redlatch.aio
from support import Proxy, RedisServer, wait_until
from support.lua_programs import LUAS, environment

NAME = "provided"


@pytest.fixture(name="server_of_user")
def server_of_user_fixture(server: RedisServer) -> Iterator[RedisServer]:
    """The server with a user, whose first password is "one"."""
    server.set_user(NAME, "one", "+@all")
    yield server
    server.admin.execute_command("ACL", "DELUSER", NAME)


def url_of(server: Union[RedisServer, Proxy]) -> str:
    """Returns the server's URL without credentials."""
    return "redis://{}:{}".format(*server.address)


def change_password(server: RedisServer, password: str) -> None:
    """Replaces the password. From now on the server refuses the old one."""
    server.admin.execute_command("ACL", "SETUSER", NAME, "resetpass", f">{password}")


class Plain:
    """A provider in the shape of redis-py's CredentialProvider."""

    def __init__(self, *given: Any) -> None:
        self.given = list(given)
        self.calls = 0

    def get_credentials(self) -> Any:
        """Returns the next of the given values, and the last one from then on. Raises a value that is an exception."""
        self.calls += 1
        value = self.given.pop(0) if len(self.given) > 1 else self.given[0]
        if isinstance(value, Exception):
            raise value
        return value


class Token:
    """A token in the shape of redis-py's TokenInterface."""

    def __init__(self, user: str, value: str) -> None:
        self._user, self._value = user, value

    def try_get(self, key: str) -> Optional[str]:
        """Returns a claim of the token. The claim "oid" is the user."""
        return self._user if key == "oid" else None

    def get_value(self) -> str:
        """The token itself."""
        return self._value


class Streaming(Plain):
    """A provider in the shape of redis-py's StreamingCredentialProvider."""

    next: Callable[[Any], None]
    error: Callable[[Exception], None]

    def on_next(self, callback: Callable[[Any], None]) -> None:
        """Sets the function that is called with a new token."""
        self.next = callback

    def on_error(self, callback: Callable[[Exception], None]) -> None:
        """Sets the function that is called with a failure."""
        self.error = callback

    def is_streaming(self) -> bool:
        """Returns True only after the first get_credentials()."""
        return self.calls > 0


def threads() -> List[str]:
    """Returns the names of redlatch's Python threads."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("redlatch-")]


def test_an_interval(server_of_user: RedisServer, lock_name: str) -> None:
    """The provider is asked before the connection, and then at the interval; each answer is used."""
    provider = Plain((NAME, "one"), (NAME, "two"))
    server_of_user.admin.execute_command("ACL", "SETUSER", NAME, ">two")
    url = url_of(server_of_user)
    with redlatch.connect(url, credentials=provider, credentials_interval=0.02) as client, client.lock(lock_name):
        wait_until(lambda: provider.calls > 2)
        change_password(server_of_user, "two")
        server_of_user.admin.execute_command("CLIENT", "KILL", "USER", NAME)
        assert client.lock(lock_name + ":new").acquire(blocking=False)
    assert "redlatch-credentials" not in threads()
    calls = provider.calls
    with pytest.raises(redlatch.ClosedError):
        client.lock(lock_name).acquire()
    assert provider.calls == calls


def test_a_provider_that_tells(server_of_user: RedisServer, lock_name: str) -> None:
    """The provider gets callbacks. A token of redis-py or a tuple is used at once. No thread is needed."""
    provider = Streaming((NAME, "one"))
    with redlatch.connect(url_of(server_of_user), credentials=provider) as client, client.lock(lock_name) as held:
        assert "redlatch-credentials" not in threads()
        for number, make in enumerate((Token, lambda *pair: pair, Token)):
            password = f"no. {number}"
            change_password(server_of_user, password)
            provider.next(make(NAME, password))
            server_of_user.admin.execute_command("CLIENT", "KILL", "USER", NAME)
            assert client.lock(f"{lock_name}:{number}", owner="handle").acquire(blocking=False)
        assert not held.lost
    provider.next(Token(NAME, "after the end"))


def test_a_token_that_comes_before_the_connection(server_of_user: RedisServer, lock_name: str) -> None:
    """A token that a provider reports while the client is opened is not missed."""

    class Hasty(Streaming):
        """Reports a token before its first answer is used."""

        def get_credentials(self) -> Any:
            self.next(Token(NAME, "two"))
            return super().get_credentials()

    server_of_user.admin.execute_command("ACL", "SETUSER", NAME, ">two")
    with redlatch.connect(url_of(server_of_user), credentials=Hasty((NAME, "one"))) as client:
        change_password(server_of_user, "two")
        server_of_user.admin.execute_command("CLIENT", "KILL", "USER", NAME)
        assert client.lock(lock_name).acquire(blocking=False)


def test_a_provider_that_fails(
    server_of_user: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider is asked again. Each failure is logged, and the password is not."""
    monkeypatch.setattr("redlatch.credentials.FIRST_PAUSE", 0.01)
    failures = (OSError("no token today"), 5, ("S3CR3T", 1), (NAME, "S3CR3T\0"))
    provider = Plain((NAME, "one"), *failures, (NAME, "one"))
    with caplog.at_level(logging.WARNING, "redlatch"):
        options: Any = {"credentials": provider, "credentials_interval": 0.05}
        with redlatch.connect(url_of(server_of_user), **options) as client, client.lock(lock_name):
            wait_until(lambda: provider.calls > 6)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 4 and all("no new credentials from Plain" in message for message in messages)
    assert "no token today" in messages[0] and "gave a int" in messages[1]
    assert "NUL" in messages[3] and "S3CR3T" not in "".join(messages)
    streaming = Streaming((NAME, "one"))
    with redlatch.connect(url_of(server_of_user), credentials=streaming), caplog.at_level(logging.WARNING, "redlatch"):
        streaming.error(OSError("no token at all"))
        streaming.next("no token")
    assert "no token at all" in caplog.messages[-2] and "gave a str" in caplog.messages[-1]


def test_refused_credentials_are_logged(
    server_of_user: RedisServer, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The credentials may come from a provider or from the program."""
    provider = Streaming((NAME, "one"))
    with caplog.at_level(logging.WARNING, "redlatch"):
        with redlatch.connect(url_of(server_of_user), credentials=provider) as client, client.lock(lock_name):
            provider.next((NAME, "wrong"))
            wait_until(lambda: len(caplog.messages) == 1)
            client.set_credentials(NAME, "wrong again")
            wait_until(lambda: len(caplog.messages) == 2)
    assert all("WRONGPASS" in message and "refused" in message for message in caplog.messages)


def test_a_password_without_a_user(make_server: Callable[..., RedisServer], lock_name: str) -> None:
    """A tuple of one is a password of the default user."""
    server = make_server(requirepass="word")
    with redlatch.connect(url_of(server), credentials=Plain(("word",)), credentials_interval=60) as client:
        assert client.lock(lock_name).acquire(blocking=False)


@pytest.mark.parametrize(("given", "options", "error", "words"), [
    ((NAME, "one"), {}, redlatch.InvalidArgumentError, "credentials_interval is None"),
    (None, {"credentials_interval": 5}, redlatch.InvalidArgumentError, "expected credentials with it"),
    ((NAME, "one"), {"credentials_interval": 0}, redlatch.InvalidArgumentError, "is 0"),
    (None, {"credentials": "word", "credentials_interval": 5}, TypeError, "get_credentials"),
    ("word", {"credentials_interval": 5}, TypeError, "gave a str"),
    ((NAME, None), {"credentials_interval": 5}, TypeError, "password of the provider"),
    ((5, "one"), {"credentials_interval": 5}, TypeError, "username of the provider"),
    (OSError("none"), {"credentials_interval": 5}, OSError, "none"),
    (("one",), {"credentials_interval": 5, "password": "y"}, redlatch.InvalidArgumentError, "both"),
    ((NAME, "no"), {"credentials_interval": 5}, redlatch.AuthenticationError, "WRONGPASS"),
])
def test_what_is_refused_at_once(
    server_of_user: RedisServer, given: Any, options: Any, error: Type[Exception], words: str
) -> None:
    """The error is raised in the caller's thread, before a thread is started."""
    before = threads()
    provider = {} if given is None else {"credentials": Plain(given)}
    with pytest.raises(error, match=words):
        redlatch.connect(url_of(server_of_user), **{**provider, **options})
    assert threads() == before


def test_a_client_of_tasks_is_connected_again(server_of_user: RedisServer, proxy: Proxy, lock_name: str) -> None:
    """After a failure, and by two tasks at once. The provider is called each time."""
    provider = Plain((NAME, "one"))

    async def main() -> None:
        client = redlatch.aio.connect(url_of(proxy), credentials=provider, credentials_interval=60)
        refused = proxy.refuse()
        with pytest.raises(redlatch.UnreachableError):
            await client
        refused.release()

        async def use() -> bool:
            return await (await client).lock(lock_name).acquire(blocking=False)

        assert sorted(await asyncio.gather(use(), use())) == [False, True]
        await client.close()

    asyncio.run(main())
    assert provider.calls == 3


def test_a_loop_goes_on_while_a_slow_provider_is_waited_for(
    server_of_user: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redlatch.credentials.END", 10)
    called, go, gone_on = threading.Event(), threading.Event(), []

    class Slow(Plain):
        """Its second call waits for the loop."""

        def get_credentials(self) -> Any:
            """Returns the pair."""
            if self.calls:
                called.set()
                gone_on.append(go.wait(5))
            return super().get_credentials()

    async def main() -> None:
        client = redlatch.aio.connect(
            url_of(server_of_user), credentials=Slow((NAME, "one")), credentials_interval=0.01
        )
        await client
        assert called.wait(10)
        asyncio.get_running_loop().call_later(0.05, go.set)
        await client.close()

    asyncio.run(main())
    assert gone_on == [True] and "redlatch-credentials" not in threads()


def test_a_forgotten_client(server_of_user: RedisServer, lock_name: str) -> None:
    """A forgotten client is collected although its provider and its thread live, and the thread ends. redis-py's Lock
    keeps the pool that it saw first, so a client of another test may live on."""
    gc.collect()
    before = threads()
    for provider, interval in ((Plain((NAME, "one")), 0.01), (Streaming((NAME, "one")), None)):
        options: Any = {"credentials": provider, "credentials_interval": interval}
        client = redlatch.connect(url_of(server_of_user), **options)
        client.lock(lock_name).acquire()
        del client
        gc.collect()
        wait_until(lambda: threads() == before)
        assert not server_of_user.admin.exists(lock_name)


def test_a_forked_child(server_of_user: RedisServer, lock_name: str) -> None:
    """The child does not have the provider's thread, so it closes its copy at once. The parent's thread goes on."""
    provider = Plain((NAME, "one"))
    options: Any = {"credentials": provider, "credentials_interval": 0.01}
    with redlatch.connect(url_of(server_of_user), **options) as client, client.lock(lock_name) as held:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                client.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        calls = provider.calls
        wait_until(lambda: provider.calls > calls)
        assert not held.lost


LUA = """
local redlatch = require "redlatch"
local url, name, user = arg[1], arg[2], arg[3]
local client = assert(redlatch.connect(url, {username = user, password = "one"}))
assert(client:event_fd())
local lock = client:lock(name)
assert(lock:acquire())
local function event()
    local event
    repeat event = client:next_event() until event
    return event
end
assert(client:set_credentials(user, "wrong"))
local refused = event()
assert(refused.kind == "credentials_refused" and not refused.ok and refused.code == "authentication")
assert(refused.message:find("WRONGPASS", 1, true) and not refused.tag)
assert(client:set_credentials(user, "two"))
print("pushed")
io.stdout:flush()
io.read()
assert(client:lock(name .. ":new"):try_acquire())
assert(lock:release())
for _, call in ipairs {{nil, 5}, {nil, nil}, {5, "word"}, {nil, "wo\\0rd"}} do
    local ok, message = pcall(client.set_credentials, client, call[1], call[2])
    assert(not ok and message:find("expected", 1, true), message)
end
print("done")
"""


@pytest.mark.parametrize("lua", LUAS)
def test_lua(server_of_user: RedisServer, lock_name: str, lua: str) -> None:
    """A refused password is an event. The new password is used when the server has ended all connections."""
    server_of_user.admin.execute_command("ACL", "SETUSER", NAME, ">two")
    with subprocess.Popen(
        [lua, "-e", LUA.replace("arg[1], arg[2], arg[3]", f"{url_of(server_of_user)!r}, {lock_name!r}, {NAME!r}")],
        env=environment(lua), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "pushed\n"
        change_password(server_of_user, "two")
        server_of_user.admin.execute_command("CLIENT", "KILL", "USER", NAME)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n", process.stdout.read()
        assert process.wait(10.0) == 0
