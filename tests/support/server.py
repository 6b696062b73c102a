# SPDX-License-Identifier: Apache-2.0
"""A private redis-server: own directory, own free port, own unix socket, dead when the test process is dead.

The program is `redis-server`, or what the environment variable REDLATCH_TEST_SERVER says: the path of a Redis or Valkey
server, with a loader and the loader's arguments in front of it where one is needed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, Union
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .launcher import bound
from .ports import free_port
from .resp import encode_command
from .waiting import wait_until

__all__ = ["RedisServer", "server_command", "wait_until"]

OptionValue = Union[str, int, bool, List[str], Tuple[str, ...]]

_START_TIMEOUT = 15.0
_STOP_TIMEOUT = 10.0
_PORT_TRIES = 20
ADMIN_NAME = "e2e-admin"


def server_command() -> List[str]:
    """The server program, behind its loader if it has one; RuntimeError if there is no such program."""
    text = os.environ.get("REDLATCH_TEST_SERVER", "redis-server")
    words = shlex.split(text)
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise RuntimeError(
            f"no server program {text!r} in PATH: install redis-server, or name a Redis or Valkey server in"
            " REDLATCH_TEST_SERVER"
        )
    return [found, *words[1:]]


def server_version(command: List[str]) -> Tuple[int, int, int]:
    """The version that a server program reports, such as (7, 0, 15)."""
    text = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"v=(\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        raise RuntimeError(f"{command[0]} --version printed {text!r}, which names no version like v=7.0.15")
    return int(found.group(1)), int(found.group(2)), int(found.group(3))


class RedisServer:
    """One redis-server process. Options are those of redis.conf with `_` for `-`: RedisServer(appendonly=True).

    It starts when constructed, and belongs to the thread that starts it: when that thread ends, the server is killed.
    """

    live: List[RedisServer] = []

    def __init__(self, *, wait_ready: bool = True, **options: OptionValue) -> None:
        self._command = server_command()
        self.version = server_version(self._command)
        self._options: Dict[str, OptionValue] = {"save": "", **options}
        if self.version >= (7, 0, 0):
            self._options.setdefault("enable_debug_command", "yes")
        self.directory = Path(tempfile.mkdtemp(prefix="redlatch-e2e-"))
        self._data = self.directory / "data"
        self._data.mkdir()
        self.unix_path = str(self.directory / "redis.sock")
        self._log_path = self.directory / "server.log"
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._clients: List[redis.Redis] = []
        self._admin: Optional[redis.Redis] = None
        self.port = 0
        self.reached_by = ""
        RedisServer.live.append(self)
        try:
            self._start_on_free_port(wait_ready)
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------------------------------------ life cycle --

    def _start_on_free_port(self, wait_ready: bool) -> None:
        for _ in range(_PORT_TRIES):
            self.port = free_port()
            try:
                return self.start(wait_ready=wait_ready)
            except RuntimeError:
                if "Address already in use" not in self.log_text():
                    raise
                self._log_path.unlink()
        raise RuntimeError(f"lost the race for a free port {_PORT_TRIES} times")

    def start(self, *, wait_ready: bool = True) -> None:
        """Start the process again after stop() or kill(), on the same port. Without `wait_ready` it may be loading."""
        if self._process is not None:
            raise RuntimeError(f"the server on port {self.port} is already started")
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                bound(self._arguments()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._data,
                start_new_session=True,
            )
        answers = ("+PONG", "-NOAUTH") if wait_ready else ("+", "-")
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._answer_to_ping().startswith(answers):
            if self._process.poll() is not None or time.monotonic() > deadline:
                status = self._process.poll()
                self.kill()
                raise RuntimeError(
                    f"the server on port {self.port} did not start (status {status}):\n{self.log_text()}"
                )
            time.sleep(0.002)

    def _arguments(self) -> List[str]:
        words = [*self._command, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.unix_path]
        words += ["--dir", str(self._data), "--daemonize", "no"]
        for name, value in self._options.items():
            words.append("--" + name.replace("_", "-"))
            if isinstance(value, bool):
                words.append("yes" if value else "no")
            elif isinstance(value, (list, tuple)):
                words += value
            else:
                words.append(str(value))
        return words

    def _answer_to_ping(self) -> str:
        """What the server answers to PING on its unix socket, which nobody else can have taken; empty if nothing."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(self.unix_path)
                connection.sendall(encode_command("PING"))
                return connection.recv(200).decode("utf-8", "replace")
            except OSError:
                return ""

    @property
    def pid(self) -> int:
        """The process id; RuntimeError if the server is not started."""
        if self._process is None:
            raise RuntimeError(f"the server on port {self.port} is stopped")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process exists (it may be stopped by a signal)."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Let the server shut down in order (SIGTERM); kill it if that takes more than a few seconds."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server (SIGKILL)."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()

    def sigstop(self) -> None:
        """Stop the process as a whole: the kernel goes on accepting connections and bytes for it."""
        os.kill(self.pid, signal.SIGSTOP)

    def sigcont(self) -> None:
        """Let a stopped process run on."""
        os.kill(self.pid, signal.SIGCONT)

    def restart(self, *, keep_data: bool = False, kill: bool = False, wait_ready: bool = True) -> None:
        """End the process and start it on the same port, empty or with its data.

        With `keep_data` the data is saved first, unless the append-only file holds it or the server is killed.
        """
        if keep_data and not kill and self._options.get("appendonly") not in (True, "yes"):
            self.admin.save()
        self._end(signal.SIGKILL if kill else signal.SIGTERM)
        if not keep_data:
            shutil.rmtree(self._data)
            self._data.mkdir()
        self.start(wait_ready=wait_ready)

    def close(self) -> None:
        """Kill the server and remove its directory."""
        self.close_clients()
        if self._admin is not None:
            self._admin.close()
        self.kill()
        if self in RedisServer.live:
            RedisServer.live.remove(self)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    # -------------------------------------------------------------------------------------------------- addresses --

    @property
    def address(self) -> Tuple[str, int]:
        """Host and port."""
        return "127.0.0.1", self.port

    @property
    def announced_port(self) -> int:
        """The port that its replicas use, and that sentinels announce: that of TLS if replication uses it."""
        return int(str(self._options["tls_port"])) if self._options.get("tls_replication") else self.port

    @property
    def password(self) -> Optional[str]:
        """The password the server was started with."""
        value = self._options.get("requirepass")
        return str(value) if value else None

    @property
    def url(self) -> str:
        """How clients reach it: `reached_by`, or its redis:// address, with the password if there is one."""
        return self.reached_by or f"redis://{self._login()}127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        """unix:// address, with the password if there is one."""
        return f"unix://{self._login()}{self.unix_path}"

    def _login(self) -> str:
        return f":{quote(self.password, safe='')}@" if self.password else ""

    # -------------------------------------------------------------------------------------------------- witnesses --

    def close_clients(self) -> None:
        """Close the connections of all that client() has returned."""
        for client in self._clients:
            client.close()
            client.connection_pool.disconnect()
        self._clients.clear()

    def client(self, **options: Any) -> redis.Redis:
        """A redis-py client that never retries, so that one call is one command; closed together with the server."""
        client = self._connect(**options)
        self._clients.append(client)
        return client

    def _connect(self, **options: Any) -> redis.Redis:
        settings: Dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port,
            "password": self.password,
            "protocol": 2,
            "socket_timeout": 5.0,
            "retry": Retry(NoBackoff(), 0),
        }
        settings.update(options)
        return redis.Redis(**settings)

    @property
    def admin(self) -> redis.Redis:
        """A client of the environment's own, over the unix socket."""
        if self._admin is None:
            self._admin = self._connect(unix_socket_path=self.unix_path, client_name=ADMIN_NAME)
        return self._admin

    def commandstats(self) -> Dict[str, int]:
        """How often each command was called since the start or reset_commandstats(), by lower-case name."""
        information: Any = self.admin.info("commandstats")
        return {name[len("cmdstat_") :]: int(counts["calls"]) for name, counts in information.items()}

    def reset_commandstats(self) -> None:
        """Let commandstats() count from zero."""
        self.admin.config_resetstat()

    def client_list(self, name_prefix: str = "") -> List[Dict[str, str]]:
        """The server's connections whose name begins so, the environment's own left out."""
        connections: Any = self.admin.client_list()
        named = [entry for entry in connections if entry["name"].startswith(name_prefix)]
        return [entry for entry in named if entry["name"] != ADMIN_NAME]

    def set_user(
        self, name: str, password: str, *rules: str, keys: Sequence[str] = ("*",),
        channels: Sequence[str] = ("*",)
    ) -> None:
        """Say what a user may do, on which keys and channels. Before 6.2 everybody may use all channels, and there
        is no HRANDFIELD; before 7.0 a command is denied as a whole, which a rule like `-client|kill` then does."""
        patterns = [f"~{key}" for key in keys]
        if self.version >= (6, 2, 0):
            patterns += ["resetchannels", *(f"&{channel}" for channel in channels)]
        else:
            rules = tuple(rule for rule in rules if rule != "+hrandfield")
        if self.version < (7, 0, 0):
            rules = tuple(rule.partition("|")[0] if rule.startswith("-") else rule for rule in rules)
        self.admin.execute_command("ACL", "SETUSER", name, "reset", "on", f">{password}", *patterns, *rules)

    def log_text(self) -> str:
        """What the server has printed, over all restarts."""
        try:
            return self._log_path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def make_pristine(self) -> None:
        """Bring the server back to life if a test left it dead or stopped, and remove all data and scripts."""
        if not self.running:
            self.kill()
            self.start()
        self.sigcont()
        if self.version >= (6, 2, 0):  # before, there is nothing that ends a pause
            self.admin.client_unpause()
        self.admin.flushall()
        self.admin.script_flush()
