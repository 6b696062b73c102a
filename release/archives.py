"""Archives with the same bytes on every machine: sorted, with one time and owner, without paths of the builder.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Dict


def mode(path: Path) -> int:
    """Returns the permissions of a file, independent of the builder's umask."""
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def tar_gz(archive: Path, files: Dict[str, Path], epoch: int) -> None:
    """Writes files under their names in the archive."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as opened:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = files[name].stat().st_size
            entry.mode = mode(files[name])
            entry.mtime = epoch
            with files[name].open("rb") as content:
                opened.addfile(entry, content)
    with archive.open("wb") as out, gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=epoch) as packed:
        packed.write(plain.getvalue())


def zipped(archive: Path, files: Dict[str, Path], epoch: int) -> None:
    """Writes a zip file in the given order, otherwise as tar_gz()."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, path in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(max(epoch, 315532800))[:6])  # zip has no time before 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode(path)) << 16
            opened.writestr(entry, path.read_bytes())


def tree(folder: Path, within: str = "") -> Dict[str, Path]:
    """Returns all files below a folder, by their names in an archive."""
    return {within + path.relative_to(folder).as_posix(): path for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}
