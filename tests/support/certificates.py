# SPDX-License-Identifier: Apache-2.0
"""Certificates for servers and clients, made by the program `openssl`: authorities and what they issue and revoke."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List, Optional, Tuple

__all__ = ["Authority", "Certificate", "openssl"]

_CONFIGURATION = """
[ca]
default_ca = authority
[authority]
dir = {folder}
database = $dir/index.txt
serial = $dir/serial
crlnumber = $dir/crlnumber
new_certs_dir = $dir
default_md = sha256
default_days = 30
default_crl_days = 30
unique_subject = no
policy = anything
[anything]
commonName = supplied
[request]
distinguished_name = anything
"""

_PAST = ("20200101000000Z", "20200201000000Z")
_FUTURE = ("20900101000000Z", "20900201000000Z")


def openssl(*words: str) -> None:
    """Run the program, which has to succeed."""
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")


class Certificate:
    """A certificate and its key, each in a file."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.file = folder / f"{stem}.pem"
        self.key = folder / f"{stem}.key"

    def chain(self, *others: Certificate) -> Path:
        """A file with this certificate and others behind it, in the order given."""
        path = self.file.with_name(f"{self.file.stem}-with-{'-'.join(other.file.stem for other in others)}.pem")
        path.write_text("".join(each.file.read_text() for each in (self, *others)))
        return path


class Authority(Certificate):
    """A CA: a root CA, or one below `issuer`."""

    def __init__(self, folder: Path, name: str, issuer: Optional[Authority] = None) -> None:
        folder = folder / name.replace(" ", "-")
        folder.mkdir(parents=True)
        super().__init__(folder, "ca")
        self._folder = folder
        self._configuration = folder / "openssl.cnf"
        self._configuration.write_text(_CONFIGURATION.format(folder=folder))
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n")
        (folder / "crlnumber").write_text("01\n")
        extensions = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")
        if issuer is None:
            options = [word for each in extensions for word in ("-addext", each)]
            self._request("req", "-x509", "-days", "30", "-subj", f"/CN={name}", "-out", str(self.file), *options)
        else:
            issuer.sign(self, name, extensions)

    def _request(self, *words: str, key: Optional[Path] = None) -> None:
        openssl(
            *words,
            *("-config", str(self._configuration), "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", str(key or self.key)),
        )

    def sign(
        self, certificate: Certificate, name: str, extensions: Tuple[str, ...], time: Optional[Tuple[str, str]] = None
    ) -> None:
        """Make a certificate and its key, and write them to the files of `certificate`."""
        request = certificate.file.with_suffix(".csr")
        self._request("req", "-new", "-subj", f"/CN={name}", "-out", str(request), key=certificate.key)
        extra = certificate.file.with_suffix(".ext")
        extra.write_text("\n".join(extensions) + "\n")
        words: List[str] = ["-startdate", time[0], "-enddate", time[1]] if time else []
        openssl(
            *("ca", "-batch", "-notext", "-config", str(self._configuration), "-in", str(request)),
            *("-cert", str(self.file), "-keyfile", str(self.key), "-out", str(certificate.file)),
            *("-extfile", str(extra), *words),
        )

    def certificate(
        self, name: str = "127.0.0.1", *, names: str = "IP:127.0.0.1,DNS:localhost", when: str = "now"
    ) -> Certificate:
        """A certificate for these names, valid now, or only in the past or the future."""
        made = Certificate(self._folder, f"{name.replace(' ', '-')}-{when}")
        time = {"now": None, "past": _PAST, "future": _FUTURE}[when]
        self.sign(made, name, (f"subjectAltName={names}", "basicConstraints=critical,CA:FALSE"), time)
        return made

    def revoke(self, certificate: Certificate) -> None:
        """Revoke a certificate; the next list of revocations has it."""
        words = ["-config", str(self._configuration), "-cert", str(self.file), "-keyfile", str(self.key)]
        openssl("ca", "-batch", *words, "-revoke", str(certificate.file))

    def with_revocations(self) -> Path:
        """A file with this CA's certificate and its list of revoked certificates."""
        words = ["-config", str(self._configuration), "-cert", str(self.file), "-keyfile", str(self.key)]
        revoked = self._folder / "revoked.crl"
        openssl("ca", "-gencrl", *words, "-out", str(revoked))
        path = self._folder / "ca-and-revoked.pem"
        path.write_text(self.file.read_text() + revoked.read_text())
        return path
