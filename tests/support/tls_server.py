# SPDX-License-Identifier: Apache-2.0
"""A private redis-server with a TLS port beside its plain one, and what several servers of one CA share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

from .certificates import Authority, Certificate
from .ports import free_port
from .server import RedisServer

__all__ = ["Identity", "TlsServer"]


class Identity(NamedTuple):
    """A certificate for this machine's loopback addresses, and the file of its CA. Clients need no certificate."""

    own: Certificate
    ca: Path

    @classmethod
    def make(cls, folder: Path) -> Identity:
        """An identity with a new CA."""
        authority = Authority(folder, "test CA")
        return cls(authority.certificate("server"), authority.file)

    def options(self) -> Dict[str, Any]:
        """Options of a RedisServer whose replicas and sentinels use its TLS port, which is a free one each time."""
        return {**self._settings(), "tls_replication": True}

    def lines(self, port: int) -> List[str]:
        """Lines for a sentinel with a TLS port, which uses the TLS ports of the servers that it watches."""
        settings = {**self._settings(), "tls_port": port, "tls_replication": "yes"}
        return [f"{name.replace('_', '-')} {value}" for name, value in settings.items()]

    def _settings(self) -> Dict[str, Any]:
        return {
            "tls_port": free_port(),
            "tls_cert_file": str(self.own.file),
            "tls_key_file": str(self.own.key),
            "tls_ca_cert_file": str(self.ca),
            "tls_auth_clients": "no",
        }


class TlsServer:
    """A server with a certificate, whose clients need certificates of a CA unless `tls_auth_clients` is "no"."""

    def __init__(self, own: Certificate, ca: Path, *, chain: Optional[Path] = None, **options: Any) -> None:
        self.tls_port = free_port()
        self.server = RedisServer(
            tls_port=str(self.tls_port),
            tls_cert_file=str(chain or own.file),
            tls_key_file=str(own.key),
            tls_ca_cert_file=str(ca),
            **options,
        )

    @property
    def url(self) -> str:
        """Its address for TLS."""
        return f"rediss://127.0.0.1:{self.tls_port}/0"
