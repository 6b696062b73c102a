# SPDX-License-Identifier: Apache-2.0
"""A master with two replicas, watched by three sentinels, all on free ports: what a failover needs.

The sentinels find a server down after a few hundred milliseconds, unless the test wants it otherwise. `failover()` has
them change the master while it works. After a kill of the master they change it because it is down. With an identity
all servers and sentinels use TLS.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .launcher import bound
from .ports import free_port
from .server import RedisServer, server_command
from .tls_server import Identity
from .waiting import wait_until

SERVICE = "orders-master"
DOWN_AFTER_MS = 400
_TIMEOUT = 60.0  # a sentinel that was not run for two seconds distrusts its clock for thirty


class Sentinel:
    """One sentinel process, which watches a master under the name SERVICE."""

    def __init__(
        self, master: Tuple[str, int], *, quorum: int = 2, password: Optional[str] = None, lines: Sequence[str] = (),
        tls: Optional[Identity] = None, down_after_ms: int = DOWN_AFTER_MS,
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="redlatch-sentinel-"))
        self.password = password
        self.port = free_port()
        self._tls_port = free_port() if tls else None
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._config = self.directory / "sentinel.conf"
        host, port = master
        all_lines = [
            *lines,
            *(tls.lines(self._tls_port) if tls and self._tls_port else []),
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {self.directory}",
            f"sentinel monitor {SERVICE} {host} {port} {quorum}",
            f"sentinel down-after-milliseconds {SERVICE} {down_after_ms}",
            f"sentinel failover-timeout {SERVICE} 3000",
            *([f"requirepass {password}"] if password else []),
        ]
        self._config.write_text("\n".join(all_lines) + "\n", encoding="utf-8")
        self.start()

    @property
    def address(self) -> str:
        """host:port, for its clients"""
        return f"127.0.0.1:{self._tls_port or self.port}"

    def start(self) -> None:
        """Start the process, also again after kill()."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                bound([*server_command(), str(self._config), "--sentinel"]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self._answers, _TIMEOUT)

    def _answers(self) -> bool:
        try:
            return bool(self.call("PING"))
        except redis.RedisError:
            return False

    def call(self, *words: str) -> Any:
        """One command on a connection of its own."""
        client = redis.Redis(
            port=self.port,
            password=self.password,
            protocol=2,
            socket_timeout=5.0,
            decode_responses=True,
            retry=Retry(NoBackoff(), 0),
        )
        try:
            return client.execute_command(*words)
        finally:
            client.close()

    def master_port(self) -> int:
        """The port of the master that it announces."""
        return int(self.call("SENTINEL", "get-master-addr-by-name", SERVICE)[1])

    def knows(self, replicas: int, others: int) -> bool:
        """Whether it has found so many replicas and other sentinels."""
        found = self._found()
        return int(found["num-slaves"]) >= replicas and int(found["num-other-sentinels"]) >= others

    def is_changing(self) -> bool:
        """Whether it is leading a failover. It already announces the new master then. If the new master
        dies meanwhile, it announces it until it is back, whatever the other sentinels say."""
        return "failover_in_progress" in self._found()["flags"].split(",")

    def _found(self) -> Dict[str, str]:
        flat = self.call("SENTINEL", "master", SERVICE)
        return flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2]))

    def log_text(self) -> str:
        """The end of what it has logged."""
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")[-4000:]

    def kill(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Kill it and remove its directory."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Watched:
    """The master, its replicas and the sentinels; closed as a whole. `lines` are in the file of each sentinel."""

    def __init__(
        self, *, sentinels: int = 3, password: Optional[str] = None, tls: Optional[Identity] = None,
        down_after_ms: int = DOWN_AFTER_MS, lines: Sequence[str] = (),
    ) -> None:
        self._tls = tls
        self.servers: List[RedisServer] = []
        self.sentinels: List[Sentinel] = []
        try:
            first = self._add_server()
            for _ in range(2):
                self._add_server(replicaof=["127.0.0.1", str(first.announced_port)])
            wait_until(self.in_step, _TIMEOUT)
            watches = ("127.0.0.1", first.announced_port)
            for _ in range(sentinels):
                self.sentinels.append(Sentinel(watches, quorum=sentinels // 2 + 1, password=password, tls=tls,
                                               down_after_ms=down_after_ms, lines=lines))
            wait_until(lambda: all(one.knows(2, sentinels - 1) for one in self.sentinels), _TIMEOUT)
        except BaseException:
            self.close()
            raise

    def _add_server(self, **options: Any) -> RedisServer:
        more = self._tls.options() if self._tls else {}
        self.servers.append(RedisServer(repl_diskless_sync_delay=0, **options, **more))
        return self.servers[-1]

    def url(self, *, sentinels: Optional[List[Sentinel]] = None, database: int = 0, query: str = "") -> str:
        """redis+sentinel:// of the given sentinels, or of all; with TLS rediss+sentinel://, which names its CA."""
        hosts = ",".join(one.address for one in (self.sentinels if sentinels is None else sentinels))
        if self._tls:
            query = f"{query or '?'}{'&' if query else ''}tls_ca_file={self._tls.ca}"
        return f"{'rediss' if self._tls else 'redis'}+sentinel://{hosts}/{SERVICE}/{database}{query}"

    @property
    def master(self) -> RedisServer:
        """The server that reports to be the master. Of two, as there may be after a failover, the announced one."""
        found = [one for one in self.servers if one.running and one.admin.info("replication")["role"] == "master"]
        if not found:
            raise RuntimeError("no server is a master")
        announced = {one.master_port() for one in self.sentinels if one._process is not None}
        return next((one for one in found if one.port in announced), found[-1])

    def in_step(self) -> bool:
        """Whether all replicas that run have everything that was written."""
        admin: Any = self.master.admin
        admin.set("in-step", 1)
        admin.delete("in-step")
        replicas = sum(one.running for one in self.servers) - 1
        return int(admin.execute_command("WAIT", replicas, 1000)) >= replicas

    def wait_for_new_master(self, old: RedisServer) -> RedisServer:
        """Wait until all sentinels that run announce a server that is a master, other than `old`."""

        def announced() -> bool:
            ports = {one.master_port() for one in self.sentinels if one._process is not None}
            return len(ports) == 1 and old.announced_port not in ports and self._is_master(ports.pop())

        wait_until(announced, _TIMEOUT, self._logs)
        return self._at(self.sentinels[-1].master_port())

    def _logs(self) -> str:
        return "\n".join(["a new master; the sentinels' logs:", *(one.log_text() for one in self.sentinels)])

    def _at(self, port: int) -> RedisServer:
        return next(one for one in self.servers if one.announced_port == port)

    def _is_master(self, port: int) -> bool:
        server = self._at(port)
        return bool(server.running and server.admin.info("replication")["role"] == "master")

    def failover(self) -> RedisServer:
        """Have the sentinels change the master while it works, and return the new one."""
        old = self.master

        def begun() -> bool:
            try:
                return self.sentinels[0].call("SENTINEL", "FAILOVER", SERVICE) in ("OK", True)
            except redis.ResponseError:  # a failover just ended, or a replica is not known well enough yet
                return False

        wait_until(begun, _TIMEOUT)
        return self.wait_for_new_master(old)

    def close(self) -> None:
        """Kill everything."""
        for sentinel in self.sentinels:
            sentinel.close()
        for server in self.servers:
            server.close()

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
