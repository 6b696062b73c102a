# SPDX-License-Identifier: Apache-2.0
"""What the shells complete after `redlatch`: commands, options, names of locks."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Callable, Iterator, List

import pytest
from support import RedisServer, closed_port, wait_until
from support.shell import TIMEOUT, environment, program, redlatch
from terminal import BASH, Terminal

MakeServer = Callable[..., RedisServer]

FOLDER = Path(__file__).resolve().parents[2] / "build" / "core" / "cli" / "completions"
TLS = ["--tls-ca-file", "--tls-ca-dir", "--tls-cert-file", "--tls-key-file", "--tls-server-name", "--tls-verify",
       "--tls-min-version"]
UUID = "3f2b7c1a-0d4e-4b7a-9c11-2f6d0a9e8b77"
KINDS_OF_ACQUIRE = ["mutex", "fenced", "fair", "spin", "read", "write", "plain", "permit-semaphore"]


def offers(ask: Callable[[], List[str]], expected: List[str]) -> None:
    """Asks until the names come. On a loaded machine the command may find none in the 0.1 s that it takes at most."""
    wait_until(lambda: ask() == expected, TIMEOUT, lambda: f"{expected}, got {ask()}")


def output_of(server: RedisServer, *command: str, **more: str) -> List[str]:
    """Returns the lines that a shell prints, with `redlatch` in its path. Keywords are variables of the environment."""
    path = os.pathsep.join([str(Path(program()).parent), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30,
                          env={**environment(server, **more), "PATH": path})
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split("\n")[:-1]


def in_bash(server: RedisServer, *words: str) -> List[str]:
    """Returns what bash offers for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    text = (f"source {FOLDER}/redlatch.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}"
            f"; COMP_LINE='{' '.join(words)}'; COMP_POINT=${{#COMP_LINE}}; _redlatch"
            "; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return output_of(server, "bash", "--norc", "--noprofile", "-c", text)


def in_fish(server: RedisServer, line: str) -> List[str]:
    """Returns what fish offers at the end of a line."""
    offered = output_of(server, "fish", "--no-config", "-c", f"source {FOLDER}/redlatch.fish; complete -C '{line}'")
    return [entry.split("\t")[0] for entry in offered]


@pytest.fixture
def locks(server: RedisServer) -> List[str]:
    """Two locks on the server."""
    names = ["orders:1", "orders:2"]
    for name in names:
        server.admin.hset(name, f"{UUID}:1", 1)
        server.admin.pexpire(name, 60_000)
    return names


def test_bash(server: RedisServer, locks: List[str]) -> None:
    assert in_bash(server, "redlatch", "") == [
        "run", "elect", "list", "show", "wait", "unlock", "acquire", "extend", "release", "doctor", "top", "help",
        "--url", "--password-file", "--prefix", *TLS, "--help", "--version"]
    assert in_bash(server, "redlatch", "--url", "x", "--prefix", "p", "un") == ["unlock"]
    assert in_bash(server, "redlatch", "--prefix", "") == [""]
    assert in_bash(server, "redlatch", "help", "sh") == ["show"]
    assert in_bash(server, "redlatch", "un") == ["unlock"]
    offers(lambda: in_bash(server, "redlatch", "show", "ord"), locks)
    assert in_bash(server, "redlatch", "unlock", "--f") == ["--force"]
    assert in_bash(server, "redlatch", "run", "--at") == ["--at-least"]
    offers(lambda: in_bash(server, "redlatch", "run", "-w", "5", "ord"), locks)
    assert in_bash(server, "redlatch", "elect", "--l") == ["--lease", "--label"]
    assert in_bash(server, "redlatch", "elect", "--kind", "") == ["mutex", "fenced", "fair"]
    assert in_bash(server, "redlatch", "acquire", "--kind", "") == KINDS_OF_ACQUIRE
    assert "printf" in in_bash(server, "redlatch", "run", "-n", "orders:1", "--", "print")


def test_fish(server: RedisServer, locks: List[str]) -> None:
    assert in_fish(server, "redlatch un") == ["unlock"]
    offers(lambda: in_fish(server, "redlatch show ord"), locks)
    assert in_fish(server, "redlatch unlock --f") == ["--force"]
    assert sorted(in_fish(server, "redlatch acquire --kind ")) == sorted(KINDS_OF_ACQUIRE)


def test_zsh(server: RedisServer, locks: List[str]) -> None:
    assert output_of(server, "zsh", "-f", "-n", str(FOLDER / "_redlatch")) == []
    # The names that zsh offers come from the function that is called here.
    text = f"compadd() {{ print -l ${{(P)2}} }}; source {FOLDER}/_redlatch 2>/dev/null; _redlatch_names"
    stubbed = f"_arguments() {{ :; }}; _describe() {{ :; }}; words=(redlatch list); CURRENT=3; {text}"
    offers(lambda: output_of(server, "zsh", "-f", "-c", stubbed)[-2:], locks)


# --------------------------------------------------------------------------------------------- which server is asked --


def offered(server: RedisServer, *words: str, **more: str) -> List[str]:
    """Returns what `redlatch complete` offers for words as they are typed."""
    done = redlatch(server, "complete", "redlatch", *words, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def calls(server: RedisServer, command: str) -> int:
    """Returns how often the server has carried out a command."""
    return server.commandstats().get(command, 0)


def connections_received(server: RedisServer) -> int:
    """Returns how many connections the server has had."""
    return int(server.admin.info("stats")["total_connections_received"])


def test_one_page_of_a_large_server(server: RedisServer, locks: List[str]) -> None:
    """However many keys there are, each completion is one SCAN, whose COUNT is about a hundred."""
    server.admin.eval("for i = 1, 20000 do redis.call('set', 'key:' .. i, i) end", 0)
    server.reset_commandstats()
    assert set(offered(server, "show", "ord")) <= set(locks)
    assert calls(server, "scan") == 1
    assert set(offered(server, "show", "")) <= set(locks)
    assert calls(server, "scan") == 2


def test_the_server_that_is_typed(server: RedisServer, make_server: MakeServer, locks: List[str]) -> None:
    other = make_server(requirepass="secret")
    other.admin.hset("theirs:9", f"{UUID}:1", 1)
    before = connections_received(server)
    url = f"redis://:secret@127.0.0.1:{other.port}"
    offers(lambda: offered(server, "--url", url, "show", ""), ["theirs:9"])
    offers(lambda: offered(server, f"-u{url}", "show", "the"), ["theirs:9"])
    offers(lambda: offered(server, "show", f"--url={url}", "--owner", "x", ""), ["theirs:9"])
    offers(lambda: offered(server, "show", "-u", f"'{url}'", ""), ["theirs:9"])
    offers(lambda: offered(server, "show", "-u", '"$OTHER"', "", OTHER=url), ["theirs:9"])
    offers(lambda: offered(server, "show", "-u", "${OTHER}", "--prefix", "theirs:", "", OTHER=url), ["9"])
    assert connections_received(server) == before
    offers(lambda: in_bash(server, "redlatch", "-u", url, "show", "the"), ["theirs:9"])
    offers(lambda: in_fish(server, f"redlatch show -u {url} the"), ["theirs:9"])
    assert connections_received(server) == before


@pytest.mark.parametrize("url", ["$UNKNOWN", "`url`", "$(url)", "~other/x", "${UNKNOWN:-x}"])
def test_a_server_that_only_the_shell_knows(server: RedisServer, locks: List[str], url: str) -> None:
    """No server is asked then, least of all another one."""
    before = connections_received(server)
    assert offered(server, "-u", url, "show", "") == []
    assert connections_received(server) == before


def test_configured_names_need_no_server(server: RedisServer, locks: List[str]) -> None:
    before = connections_received(server)
    names = "deploy:shop deploy:api\tnightly"
    assert offered(server, "show", "", REDLATCH_COMPLETE=names) == ["deploy:api", "deploy:shop", "nightly"]
    assert offered(server, "show", "deploy:s", REDLATCH_COMPLETE=names) == ["deploy:shop"]
    assert offered(server, "show", "", REDLATCH_COMPLETE="") == []
    assert connections_received(server) == before


def test_a_configured_pattern(server: RedisServer, locks: List[str]) -> None:
    server.admin.hset("other", f"{UUID}:1", 1)
    offers(lambda: offered(server, "show", "", REDLATCH_COMPLETE="o*:[12] fixed"), ["fixed", *locks])
    server.reset_commandstats()
    assert "fixed" in offered(server, "show", "", REDLATCH_COMPLETE="o*:[12] fixed")
    assert calls(server, "scan") == 1
    assert offered(server, "show", "orders:2", REDLATCH_COMPLETE="o*:[12] fixed") == ["orders:2"]


def test_a_server_that_does_not_answer(make_server: MakeServer) -> None:
    """The quickest of some tries counts, since other processes may keep one waiting."""
    server = make_server()
    server.sigstop()
    quickest = TIMEOUT
    try:
        for _ in range(30):
            begun = time.monotonic()
            assert offered(server, "show", "") == []
            quickest = min(quickest, time.monotonic() - begun)
            if quickest < 0.15:
                break
    finally:
        server.sigcont()
    assert quickest < 0.15, "0.1 s, and the time that a process takes to start"


def test_the_server_is_away(server: RedisServer) -> None:
    with closed_port() as port:
        assert offered(server, "-u", f"redis://127.0.0.1:{port}", "show", "") == []


# ----------------------------------------------------------------------------------------------------- in a terminal --


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def shared_terminal(
    request: pytest.FixtureRequest, module_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """A terminal with a shell that completes."""
    tmp_path = tmp_path_factory.mktemp("home")
    path = os.pathsep.join([str(Path(program()).parent), os.environ["PATH"]])
    shell, begin = {
        "bash": (BASH, f"source {FOLDER}/redlatch.bash"),
        "zsh": (("zsh", "-f"), f"fpath=({FOLDER} $fpath); autoload -U compinit; compinit -u -d {tmp_path}/dump"),
        "fish": (("fish", "--no-config", "-C", "function fish_prompt; echo '$ '; end"),
                 f"source {FOLDER}/redlatch.fish"),
    }[request.param]
    opened = Terminal(module_server, *shell, PATH=path, HOME=str(tmp_path))
    opened.enter(f"{begin}; echo rea''dy")
    opened.shows("ready")
    yield opened
    opened.close()


@pytest.fixture
def terminal(shared_terminal: Terminal) -> Terminal:
    """The terminal, with an empty line."""
    word = uuid.uuid4().hex
    shared_terminal.keys("C-u")
    shared_terminal.enter(f"clear; echo {word[:9]}''{word[9:]}")
    shared_terminal.shows(word)
    return shared_terminal


def press_tab(terminal: Terminal, line: str) -> None:
    """Presses Tab, and again if nothing came: names are completed within 100 ms, which a busy machine may miss."""
    for _ in range(10):
        terminal.keys("Tab")
        with suppress(AssertionError):
            wait_until(lambda: any(shown.rstrip() == f"$ {line}" for shown in terminal.screen().splitlines()), 2.0)
            return


@pytest.mark.parametrize(("typed", "line"), [
    ("redlatch show deploy:s", "redlatch show deploy:shop"),
    ("redlatch show --owner a:1 deploy:s", "redlatch show --owner a:1 deploy:shop"),
    ("redlatch show two", "redlatch show two\\ words"),
    ("redlatch show dee", "redlatch show dee"),
    ("redlatch run -n deploy:shop -- cat /etc/hostn", "redlatch run -n deploy:shop -- cat /etc/hostname"),
    ("redlatch run two\\ words deploy:s", "redlatch run two\\ words deploy:shop"),
    ("redlatch run deploy:shop dee -- printe", "redlatch run deploy:shop dee -- printenv"),
    ("redlatch -u redis://127.0.0.1:1 show --own", "redlatch -u redis://127.0.0.1:1 show --owner"),
    ("redlatch run --url redis://127.0.0.1:1 deploy:shop -- printe",
     "redlatch run --url redis://127.0.0.1:1 deploy:shop -- printenv"),
])
def test_the_key_tab(server: RedisServer, terminal: Terminal, typed: str, line: str) -> None:
    """Names with colons, at which bash splits words, and with blanks. The command behind the name is completed, too."""
    for name in ("deploy:shop", "two words", "dee\nper"):
        server.admin.hset(name, f"{UUID}:1", 1)
        server.admin.pexpire(name, 60_000)
    terminal.keys("-l", typed)
    press_tab(terminal, line)
    terminal.keys("-l", "#")  # stands behind what the shell has completed, and a blank
    wait_until(lambda: any(shown.rstrip() in (f"$ {line} #", f"$ {line}#") for shown in terminal.screen().splitlines()),
               TIMEOUT, lambda: f"{line!r} on:\n{terminal.screen()}")
