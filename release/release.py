"""Makes everything that is published of one version, into dist/: `./dev release [ARTEFACT...]`.

    release.py [--list | ARTEFACT...]    without names all artefacts

Each artefact has the same bytes on every machine with the same Debian, in any folder: SOURCE_DATE_EPOCH is the time of
the last commit, the compilers are Zig's at a fixed version, and archives are sorted. Builds are kept in build/release.
SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import os
import re
import shutil
import sys
from typing import Callable, Dict, List

import toolchain
from archives import tar_gz, tree
from bill_of_materials import write_bill
from debian_packages import debian_packages
from targets import ROOT, TARGETS, build, run, stripped
from wheels import wheel

DIST = ROOT / "dist"
BUILD = ROOT / "build" / "release"


def version() -> str:
    """Returns the version in the public header."""
    header = (ROOT / "core" / "include" / "redlatch.h").read_text(encoding="utf-8")
    found = re.search(r'^#define REDLATCH_VERSION "(.*)"$', header, re.MULTILINE)
    if found is None:
        raise SystemExit("core/include/redlatch.h: expected a line like: #define REDLATCH_VERSION \"1.2.3\"")
    return found[1]


def epoch() -> int:
    """Returns the time of the last commit, unless SOURCE_DATE_EPOCH is set."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run(["git", "log", "-1", "--format=%ct"]))


def sdist() -> None:
    """The source distribution for Python."""
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(DIST), "."])


def wheels() -> None:
    """A wheel for each target."""
    archive = DIST / f"redlatch-{version()}.tar.gz"
    if not archive.is_file():
        sdist()
    for name, target in TARGETS.items():
        module = build(target, BUILD / name, True) / "python" / "redlatch" / "_core.abi3.so"
        wheel(target, module, archive, DIST, BUILD, epoch())


def commands() -> None:
    """The command as one static file, with TLS and without, for each processor."""
    for name, target in TARGETS.items():
        if not target.is_musl:
            continue
        for suffix, tls in (("", True), ("-plain", False)):
            folder = BUILD / f"{name}{suffix}"
            program = stripped(build(target, folder, tls) / "bin" / "redlatch", folder / "redlatch")
            within = f"redlatch-{version()}-linux-{target.processor}{suffix}"
            licences = {**tree(ROOT / "python" / "licenses", f"{within}/licenses/"),
                        f"{within}/licenses/musl.txt": toolchain.musl_licence(),
                        f"{within}/licenses/compiler-rt.txt": toolchain.runtime_licence()}
            if not tls:
                del licences[f"{within}/licenses/openssl.txt"]
            tar_gz(DIST / f"{within}.tar.gz", {
                f"{within}/redlatch": program, f"{within}/LICENSE": ROOT / "LICENSE",
                f"{within}/Dockerfile": ROOT / "examples" / "container" / "Dockerfile",
                f"{within}/redlatch.1": ROOT / "core" / "cli" / "redlatch.1",
                f"{within}/redlatch-run.1": ROOT / "core" / "cli" / "redlatch-run.1", **licences}, epoch())


def rock() -> None:
    """The rock, and the archive that its rockspec names."""
    run(["./dev", "rock"])


def debian() -> None:
    """The packages of the Debian that this runs on."""
    debian_packages(version(), DIST, BUILD / "debian", epoch())


def bill() -> None:
    """What the artefacts consist of, in CycloneDX."""
    write_bill(version(), DIST / f"redlatch-{version()}.cdx.json", epoch())


ARTEFACTS: Dict[str, Callable[[], None]] = {
    "sdist": sdist, "wheels": wheels, "commands": commands, "rock": rock, "debian": debian, "bill": bill,
}


def write_checksums() -> None:
    """Writes SHA256SUMS of all files in dist/, as sha256sum --check reads it."""
    files = sorted(path for path in DIST.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


def main(names: List[str]) -> None:
    """Makes the named artefacts, or all of them in an empty folder."""
    if names == ["--list"]:
        print("\n".join(f"{name:<10} {(make.__doc__ or '').strip()}" for name, make in ARTEFACTS.items()))
        return
    unknown = [name for name in names if name not in ARTEFACTS]
    if unknown:
        raise SystemExit(f"release: there is no artefact '{unknown[0]}'; expected some of {', '.join(ARTEFACTS)}")
    if not names:
        shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(exist_ok=True)
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch())
    for name in names or list(ARTEFACTS):
        print(f"release: {name}", flush=True)
        ARTEFACTS[name]()
    write_checksums()


if __name__ == "__main__":
    main(sys.argv[1:])
