# SPDX-License-Identifier: Apache-2.0
"""A private redis-server with a TLS port beside its plain one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from .certificates import Certificate
from .ports import free_port
from .server import RedisServer

__all__ = ["TlsServer"]


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
