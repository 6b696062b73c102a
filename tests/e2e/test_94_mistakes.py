# SPDX-License-Identifier: Apache-2.0
"""The commonest mistakes with the command, one by one: each message says what happened, why, and what to do."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Tuple

import pytest
from forms import UUID, put_hash
from support import RedisServer, closed_port
from support.shell import redlatch

MakeServer = Callable[..., RedisServer]

USAGE, NO_LOCK, UNREACHABLE = 64, 65, 69
COMMANDS = "run, elect, list, show, wait, unlock, acquire, release, extend, doctor, top or help"


def check(server: RedisServer, line: str, status: int, *messages: str) -> None:
    """Runs a line, which must end with this status and just these messages. `~` stands for a blank within a word."""
    done = redlatch(server, *(word.replace("~", " ") for word in line.split()))
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.splitlines() == [f"redlatch: {message}" for message in messages]


# ------------------------------------------------------------------------------------------------ words of the line --

LINES: Dict[str, Tuple[int, List[str]]] = {
    "lock x -- true": (USAGE, [f"the command is 'lock': expected {COMMANDS}", "did you mean redlatch run?"]),
    "unlok x": (USAGE, [f"the command is 'unlok': expected {COMMANDS}", "did you mean redlatch unlock?"]),
    "frobnicate x": (USAGE, [f"the command is 'frobnicate': expected {COMMANDS}"]),
    "run --wiat 5 x -- true": (USAGE, ["run: there is no option --wiat: did you mean --wait?",
                                       "see: redlatch run --help"]),
    "run --l 5 x -- true": (USAGE, ["run: several options begin with the option --l", "see: redlatch run --help"]),
    "run -t 5 x -- true": (USAGE, ["run: there is no option -t", "see: redlatch run --help"]),
    "run x --wait 5 -- true": (USAGE, ["run: --wait among the names: expected options before them"]),
    "run x": (USAGE, ["run: no command to be run under 'x': expected NAME -- CMD"]),
    "run -- true": (USAGE, ["run: no name before --, or no -- after the name 'true': expected NAME... -- CMD"]),
    "run x -- nosuch -v": (127, ["'nosuch' cannot be run: No such file or directory",
                                 "expected a program in PATH, or its path; what is a part of the shell needs"
                                 " sh -c 'nosuch ...'"]),
    "run x -- make~all": (127, ["'make all' cannot be run: No such file or directory",
                                "it is one word: expected a program and its arguments as words of their own, or"
                                " sh -c 'make all'"]),
    "run -w 5min x -- true": (USAGE, ["-w is '5min': expected seconds, or a number with ms, s, m, h or d, from 0 to"
                                      " 300000000 s"]),
    "run -n -w 5 x -- true": (USAGE, ["-n with -w 5: expected one of them"]),
    "run --kind lock x -- true": (USAGE, ["--kind is 'lock': expected one of mutex, fenced, fair, spin, read, write,"
                                          " plain, semaphore, permit-semaphore"]),
    "run --kind semaphore x -- true": (NO_LOCK, ['there is no semaphore "x": expected --limit, or one that exists']),
    "run --limit 3 x -- true": (USAGE, ["--limit with --kind mutex: expected --kind semaphore or permit-semaphore"]),
    "show": (USAGE, ["show: got no operand: expected one, the name of a lock"]),
    "wait x 5": (USAGE, ["wait: got 2 operands, 'x' and '5': expected one, the name of a lock"]),
    "acquire x": (USAGE, ["acquire: no --lease: expected how long the lock stays, such as --lease 10m"]),
    "release x": (USAGE, ["release: no --owner: expected the id that redlatch acquire printed"]),
    "list -u localhost:6379": (USAGE, [
        'URL scheme "": expected redis://host[:port][/database], the same with rediss:// for TLS, unix:///path,'
        " redis+sentinel://host[:port]/service, redis+replicas://host[:port],host[:port] or"
        " redis+cluster://host[:port],host[:port]",
        "write redis:// before the host, or rediss:// for TLS"]),
    "list -u redis://a:1,b:1": (USAGE, ['port "...": expected a number from 1 to 65535',
                                        "several servers need redis+sentinel:// for sentinels, or redis+replicas://"
                                        " for a master and its replicas"]),
    "list --password-file /nothing": (USAGE, ["--password-file '/nothing': No such file or directory"]),
    "list --tls-ca-file /nothing": (USAGE, ['--tls-ca-file "/nothing": expected a rediss:// URL with it']),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line(server: RedisServer, line: str) -> None:
    status, messages = LINES[line]
    check(server, line, status, *messages)
    left = [key for key in server.admin.scan_iter() if not key.startswith(b"redlatch_op:")]
    assert left == [], "nothing was acquired"


# --------------------------------------------------------------------------------------------- what is there already --


def test_a_lock_that_is_held(server: RedisServer) -> None:
    owner = f"{UUID}:1"
    put_hash(server, "x", {owner: 1})
    for line, before in (("run -n x -- true", ""), ("wait -w 0 x", ""), ("wait -w 200ms x", "gave up after 0.2 s: "),
                         ("acquire -w 0.2 --lease 5 x", "gave up after 0.2 s: ")):
        done = redlatch(server, *line.split())
        (message,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (1, "")
        assert message.startswith(f'redlatch: {before}"x" is held by {owner}, lease ends in ')
    quiet = redlatch(server, "wait", "-qw", "0", "x")
    assert (quiet.returncode, quiet.stderr) == (1, "")
    check(server, "unlock x", USAGE, f'"x" is held by {owner}, count 1',
          '"x" is not unlocked: expected --owner ID, or --force to take it from any holder')


def test_what_is_waited_for_in_vain(server: RedisServer) -> None:
    server.admin.set("gate", 3)
    done = redlatch(server, "wait", "-w", "0", "--kind", "latch", "gate")
    assert done.returncode == 1 and done.stderr == 'redlatch: "gate" was not free\n'


def test_a_key_of_something_else(server: RedisServer) -> None:
    server.admin.set("x", "hello")
    check(server, "run x -- true", NO_LOCK,
          'acquire "x": the key is a string, which is no known lock: expected a mutex')


def test_a_script_that_may_not_be_executed(server: RedisServer, tmp_path: Path) -> None:
    script = tmp_path / "job"
    script.write_text("#!/bin/sh\n")
    check(server, f"run x -- {script}", 126, f"'{script}' cannot be run: Permission denied",
          f"expected a file that may be executed: chmod +x makes it one, or sh {script} runs a script")


# ------------------------------------------------------------------------------------------------- the wrong server --


def last(server: RedisServer, *arguments: str, **more: str) -> Tuple[int, List[str]]:
    """Returns the exit status and the messages of `list` for a server."""
    done = redlatch(None, "list", *arguments, **more)
    return done.returncode, [message[len("redlatch: "):] for message in done.stderr.splitlines()]


def test_nothing_listens(server: RedisServer) -> None:
    with closed_port() as port:
        status, messages = last(server, "-u", f"redis://127.0.0.1:{port}")
    assert (status, messages) == (UNREACHABLE, [f"127.0.0.1:{port}: Connection refused", "nothing listens there:"
                                                " check host and port, and whether the server is running"])


def test_a_host_that_there_is_not(server: RedisServer) -> None:
    status, messages = last(server, "-u", "redis://nothing.invalid")
    assert status == UNREACHABLE and messages[0].startswith("nothing.invalid:6379: the host name ")
    assert messages[1] == "check the host's name, and the name service of this machine"


def test_passwords(make_server: MakeServer) -> None:
    server = make_server(requirepass="secret")
    url = f"redis://127.0.0.1:{server.port}"
    status, messages = last(server, "-u", url)
    assert status == UNREACHABLE and "NOAUTH" in messages[0]
    assert messages[1:] == ["the server wants a password: give it by --password-file, REDISCLI_AUTH or REDIS_URL"]
    status, messages = last(server, "-u", url, REDISCLI_AUTH="wrong")
    assert status == UNREACHABLE and messages[1].startswith("the user or the password is wrong: ")
    status, messages = last(server, "-u", f"redis://:secret@127.0.0.1:{server.port}")
    assert (status, messages) == (0, ["the password in -u can be read by others on this machine: use --password-file,"
                                      " REDISCLI_AUTH or REDIS_URL"])


def test_a_database_that_there_is_not(server: RedisServer) -> None:
    status, messages = last(server, "-u", f"redis://127.0.0.1:{server.port}/99")
    assert status == UNREACHABLE and "out of range" in messages[0]
    assert messages[1].startswith("the number behind the last slash of the URL is a database: ")


def test_tls_at_a_plain_port(server: RedisServer) -> None:
    status, messages = last(server, "-u", f"rediss://127.0.0.1:{server.port}?connect_timeout=0.3")
    assert status == UNREACHABLE and "TLS" in messages[0]
    assert messages[1] == "check host and port; a server without TLS needs a redis:// URL"


@pytest.fixture
def web_server() -> Iterator[int]:
    """The port of a server that answers as a web server does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # the end of the test
                    return
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_another_service(server: RedisServer, web_server: int) -> None:
    status, messages = last(server, "-u", f"redis://127.0.0.1:{web_server}")
    assert status == UNREACHABLE and messages[1:] == [
        "check host and port; a server that has TLS alone needs a rediss:// URL"]


def test_a_replica(make_server: MakeServer, server: RedisServer) -> None:
    replica = make_server(replicaof=["127.0.0.1", str(server.port)])
    done = redlatch(replica, "acquire", "x", "--lease", "5m")
    assert done.returncode == UNREACHABLE and done.stderr.splitlines()[-1] == \
        "redlatch: use the master, or a URL that finds it: redis+sentinel:// or redis+replicas://"


def test_a_server_without_memory(make_server: MakeServer) -> None:
    server = make_server(maxmemory=1)
    done = redlatch(server, "run", "x", "--", "true")
    assert done.returncode == UNREACHABLE and done.stderr.splitlines()[-1] == \
        "redlatch: its maxmemory is reached: raise it, or keep locks on a server of their own"
