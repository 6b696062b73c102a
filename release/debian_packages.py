"""Builds the Debian packages with dpkg-buildpackage, from a copy of the files that git lists.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
from pathlib import Path

from targets import ROOT, run


def debian_packages(version: str, dist: Path, folder: Path, epoch: int) -> None:
    """Builds the packages for this machine's Debian and copies the .deb files to `dist`. The source package and the
    list of changes, for lintian, stay in `folder`."""
    if shutil.which("dpkg-buildpackage") is None:
        raise SystemExit("release: dpkg-buildpackage is missing (Debian: dpkg-dev)")
    shutil.rmtree(folder, ignore_errors=True)
    copy = folder / f"redlatch-{version}"
    for name in run(["git", "ls-files", "-co", "--exclude-standard"]).splitlines():
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
            os.utime(copy / name, (epoch, epoch))  # a package keeps times older than SOURCE_DATE_EPOCH
    run(["dpkg-buildpackage", "--build=full", "-uc", "-us", "-j2"], copy, SOURCE_DATE_EPOCH=str(epoch),
        DEB_BUILD_OPTIONS="nocheck noddebs")
    for package in sorted(folder.glob("*.deb")):
        shutil.copy(package, dist / package.name)
