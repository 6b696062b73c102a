"""Checks the artefacts of `./dev release`: they are complete, hardened, and run on the systems that they promise.

    check_release.py DIST [OTHER]    with OTHER, another build of the same commit: also that both are the same bytes
SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json
import os
import re
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Callable, Dict, List

from strangers import ROOT, expect, run

TOOLS = ROOT / "build" / "release" / "venv" / "bin"
MUSL_VERSION = "lib/python*/site-packages/ziglang/lib/libc/musl/src/internal/version.h"
GUARDED_FUNCTIONS = 50  # at least, even without OpenSSL
PLAIN_BYTES, TLS_BYTES = 1_000_000, 8_000_000


def check_hardened(program: Path, words: List[str]) -> None:
    """Checks the output of readelf about a program or a module."""
    printed = run(["readelf", "--wide", "--dynamic", "--program-headers", "--dyn-syms", str(program)])
    for word in ["NOW", "GNU_RELRO", *words]:
        expect(word in printed, f"{word} in what readelf says of {program.name}")
    stack = next(line for line in printed.splitlines() if "GNU_STACK" in line)
    expect("RWE" not in stack, f"a stack of {program.name} that is not executable")


def no_newer(found: str, promised: str) -> bool:
    """Returns whether a platform tag, such as manylinux_2_26_x86_64, is of the same libc and no newer than another
    tag."""
    (libc, *version), (promised_libc, *most) = (tag.split("_", 3)[:3] for tag in (found, promised))
    return libc == promised_libc and list(map(int, version)) <= list(map(int, most))


def wheels(dist: Path, folder: Path) -> None:
    """Each wheel is of the libc that its name says and of the limited API, and exports its entry alone."""
    found = sorted(dist.glob("*.whl"))
    expect(len(found) == 4, f"four wheels in {dist}, found {len(found)}")
    run([str(TOOLS / "abi3audit"), "--strict", *map(str, found)])
    for wheel in found:
        tag = wheel.name.split("-")[4].split(".")[0]
        printed = run([str(TOOLS / "auditwheel"), "show", str(wheel)])
        fit = re.search(r'consistent with\s+the following platform tag: "(\w+)"', printed)
        expect(fit is not None and no_newer(fit[1], tag), f"auditwheel to find {wheel.name} fit for {tag}:\n{printed}")
        with zipfile.ZipFile(wheel) as opened:
            names = opened.namelist()
            for licence in ("LICENSE", "hiredis.txt", "openssl.txt", "compiler-rt.txt"):
                expect(any(name.endswith(f"/{licence}") for name in names), f"{licence} in {wheel.name}")
            module = folder / f"{tag}.so"
            module.write_bytes(opened.read("redlatch/_core.abi3.so"))
        check_hardened(module, ["__stack_chk_fail", *(["_chk@"] if "manylinux" in tag else [])])
        shown = [line.split()[0] for line in run(["nm", "-D", "--defined-only", "--format=posix",
                                                  str(module)]).splitlines()]
        expect(shown == ["PyInit__core"], f"{wheel.name} to export PyInit__core alone, not {shown[:5]}")


def objdump() -> str:
    """Returns LLVM's objdump, which knows every processor."""
    for folder in os.environ["PATH"].split(os.pathsep):
        for path in sorted(Path(folder).glob("llvm-objdump*")):
            return str(path)
    raise AssertionError("expected llvm-objdump (Debian: llvm)")


def check_program(program: Path, built: Path) -> None:
    """Checks a static command: one position-independent file, built with stack protectors. The command has no symbols,
    so the stack protectors are checked in the program that it was made from."""
    check_hardened(program, ["Flags: NOW PIE"])
    expect("INTERP" not in run(["readelf", "--wide", "--program-headers", str(program)]), f"{program} to be static")
    expect("DYN (" in run(["readelf", "--wide", "--file-header", str(program)]), f"{program} to be of the type DYN")
    code = run([objdump(), "--disassemble", "--no-show-raw-insn", str(built / "bin" / "redlatch")])
    calls = len(re.findall(r"\s(?:callq?|bl?|jmp)\s.*<__stack_chk_fail", code))
    expect(calls >= GUARDED_FUNCTIONS, f"{GUARDED_FUNCTIONS} functions of {built} with guards, not {calls}")
    expect((built / "redlatch").read_bytes() == program.read_bytes(), f"{program} to be what {built} has")


def commands(dist: Path, folder: Path) -> None:
    """Each command is one static file of a bounded size, with the licences of what is in it."""
    found = sorted(dist.glob("redlatch-*-linux-*.tar.gz"))
    expect(len(found) == 4, f"four commands in {dist}, found {len(found)}")
    for archive in found:
        with tarfile.open(archive) as opened:
            opened.extractall(folder)
        unpacked = folder / archive.name[: -len(".tar.gz")]
        plain = unpacked.name.endswith("-plain")
        program = unpacked / "redlatch"
        size = program.stat().st_size
        expect(size <= (PLAIN_BYTES if plain else TLS_BYTES), f"a smaller {program}: {size} bytes")
        licences = ["compiler-rt.txt", "hiredis.txt", "musl.txt", *([] if plain else ["openssl.txt"])]
        expect(sorted(path.name for path in (unpacked / "licenses").iterdir()) == licences, f"{licences} in {archive}")
        for licence in licences:
            expect("opyright" in (unpacked / "licenses" / licence).read_text(encoding="utf-8"), f"a text in {licence}")
        processor = unpacked.name.split("-")[3]
        check_program(program, ROOT / "build" / "release" / f"{processor}-musl{'-plain' if plain else ''}")


def packages(dist: Path, folder: Path) -> None:
    """lintian accepts the Debian packages and their source, and all programs and libraries in them are hardened."""
    found = sorted(dist.glob("*.deb"))
    expect(len(found) == 5, f"five Debian packages in {dist}, found {len(found)}")
    changes = list((ROOT / "build" / "release" / "debian").glob("*.changes"))
    expect(len(changes) == 1, f"one list of changes of the Debian packages, found {len(changes)}")
    listed = changes[0].read_text(encoding="utf-8")
    for package in found:
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        expect(digest in listed, f"{changes[0].name} to have {package.name} with the SHA256 {digest}")
    run(["lintian", "--fail-on", "error,warning", str(changes[0])])
    for package in found:
        run(["dpkg-deb", "--extract", str(package), str(folder / "root")])
    programs = [path for path in (folder / "root").rglob("*")
                if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    expect(len(programs) == 7, f"the library, the command and five modules, found {programs}")
    for program in programs:
        check_hardened(program, ["__stack_chk_fail", "_chk@"])


def bill(dist: Path, _folder: Path) -> None:
    """The bill of materials names what is linked in, in the versions of third-party.json."""
    written = json.loads(next(dist.glob("*.cdx.json")).read_text(encoding="utf-8"))
    listed = json.loads((ROOT / "core" / "cmake" / "third-party.json").read_text(encoding="utf-8"))
    found = {each["name"]: each["version"] for each in written["components"]}
    expected = {name: listed[name]["version"] for name in ("hiredis", "openssl")}
    pinned = (ROOT / "release" / "requirements.txt").read_text(encoding="utf-8")
    for name, pattern, text in (("compiler-rt", r"^ziglang==(\S+)", pinned),
                                ("musl", r'"(.+)"', next(TOOLS.parent.glob(MUSL_VERSION)).read_text(encoding="ascii"))):
        match = re.search(pattern, text, re.MULTILINE)
        expect(match is not None, f"a version of {name}")
        expected[name] = match[1] if match else ""
    expect(found == expected, f"{expected} in the bill of materials, not {found}")


def checksums(dist: Path, _folder: Path) -> None:
    """SHA256SUMS has every file."""
    listed: Dict[str, str] = {}
    for line in (dist / "SHA256SUMS").read_text(encoding="ascii").splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir()
             if path.name != "SHA256SUMS"}
    expect(listed == found, f"sums of {sorted(found)}, found those of {sorted(listed)}")


def no_paths(dist: Path, folder: Path) -> None:
    """Nothing says where it was built."""
    for path in [*folder.rglob("redlatch"), *folder.rglob("*.so*")]:
        if path.is_file():
            expect(str(ROOT).encode() not in path.read_bytes(), f"{path.name} not to contain {ROOT}")


def same(dist: Path, other: Path) -> None:
    """Two builds are the same bytes."""
    first, second = ((folder / "SHA256SUMS").read_text(encoding="ascii").splitlines() for folder in (dist, other))
    expect(first == second, f"the same sums; these differ: {sorted(set(first) ^ set(second))}")


def manifests(_dist: Path, _folder: Path) -> None:
    """The examples for Kubernetes are valid for its schemas."""
    for manifest in sorted((ROOT / "examples" / "kubernetes").glob("*.yaml")):
        run([str(TOOLS / "kubernetes-validate"), "--strict", str(manifest)])


def main() -> int:
    """Returns the exit status."""
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: check_release.py DIST [OTHER]")
    checks: List[Callable[[Path, Path], None]] = [wheels, commands, packages, no_paths, bill, checksums, manifests]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for check in checks:
            failed += attempt(check, Path(sys.argv[1]).resolve(), Path(name))
    if len(sys.argv) == 3:
        failed += attempt(same, Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{len(checks) + len(sys.argv) - 2 - failed} passed, {failed} failed")
    return 1 if failed else 0


def attempt(check: Callable[[Path, Path], None], first: Path, second: Path) -> int:
    """Runs a check. If it fails, prints the failure and returns 1."""
    try:
        check(first, second)
    except AssertionError as error:
        print(f"FAIL: {check.__name__}: {error}")
        return 1
    print(f"ok: {check.__doc__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
