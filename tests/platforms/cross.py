"""Builds redlatch for another platform and runs what can run here: unit tests, simulation, scenes with a real server.

    cross.py musl       x86-64 with musl: Debian's musl-tools
    cross.py aarch64    Debian's cross compiler; qemu-user runs the programs, with a redis-server of this machine
    cross.py macos      x86-64 and aarch64 by Zig: libraries and command are compiled and linked, but cannot run here
    cross.py here       this machine, with its own compiler; on a Mac, for example, where this is untried

All builds are without TLS. hiredis and Lua are built from the sources that core/cmake/third-party.json names.
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "platforms"
HERE = Path(__file__).resolve().parent
LISTED = ROOT / "core" / "cmake" / "third-party.json"
SEEDS = 20  # of each simulated kind
# Under an emulator these tests would take minutes, or would exceed limits that are meant for a processor. The emulator
# itself fails an assertion in children that a program with threads forks.
NOT_EMULATED = "test_steps|test_script_cases|test_schedule|scenes_resources|scenes_fork"
# These tests let allocations of the core fail. In a musl program the allocations of a shared hiredis reach the test,
# too, which expects them to succeed.
NOT_WITH_MUSL = "test_allocation|test_schedule"


class Target(NamedTuple):
    """A platform: compiler, archiver, further definitions for CMake, the emulator of its programs, the tests that are
    left out, and whether hiredis is shared."""

    compiler: List[str]
    archiver: List[str]
    definitions: Tuple[str, ...] = ()
    emulator: Tuple[str, ...] = ()
    left_out: str = ""
    shared: bool = False


def run(command: List[str], **environment: str) -> None:
    """Runs a command that must succeed."""
    print("+", shlex.join(command), flush=True)
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **environment})


def sources(name: str) -> Path:
    """Returns the folder with the sources of another project."""
    script = str(ROOT / "core" / "cmake" / "third_party.py")
    printed = subprocess.run([sys.executable, script, "sources", str(ROOT / "build" / "third-party"), name],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    return Path(printed.strip())


def zig() -> List[str]:
    """Returns the Zig toolchain, installed in an environment of its own."""
    python = WORK / "zig" / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", str(WORK / "zig")])
    run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r",
         str(HERE / "requirements.txt")])
    os.environ["ZIG_GLOBAL_CACHE_DIR"] = str(WORK / "zig-cache")
    return [str(python), "-m", "ziglang"]


def version(name: str) -> str:
    """Returns the version of another project's sources; pkg-config compares that of hiredis."""
    listed: Dict[str, Dict[str, str]] = json.loads(LISTED.read_text(encoding="utf-8"))
    return listed[name]["version"]


def archive(target: Target, folder: Path, name: str, project: str, files: List[Path]) -> None:
    """Builds a static library from a project's sources, with headers and a file for pkg-config, in the target's
    prefix."""
    objects = folder / "objects" / name
    include, library = folder / "include" / name, folder / "lib"
    for path in (objects, include, library / "pkgconfig"):
        path.mkdir(parents=True, exist_ok=True)
    for file in files:
        run([*target.compiler, "-w", "-O2", "-fPIC", "-c", str(file), "-o", str(objects / f"{file.stem}.o")])
    made = library / f"lib{name}.a"
    made.unlink(missing_ok=True)
    run([*target.archiver, "rcs", str(made), *(str(path) for path in sorted(objects.glob("*.o")))])
    for header in sorted(sources(project).glob("*.h")):
        shutil.copy(header, include)
    (library / "pkgconfig" / f"{name}.pc").write_text(
        f"Name: {name}\nDescription: for tests\nVersion: {version(project)}\nCflags: -I{include}\n"
        f"Libs: -L{library} -l{name} -lm\n", encoding="ascii")


def make_hiredis(target: Target, folder: Path) -> None:
    """Builds hiredis for redlatch. Tests in which allocations fail need a shared hiredis, whose own allocations do not
    fail."""
    hiredis = sources("hiredis")
    parts = [hiredis / f"{part}.c" for part in ("alloc", "async", "hiredis", "net", "read", "sds", "sockcompat")]
    archive(target, folder, "hiredis", "hiredis", parts)
    if target.shared:
        objects = sorted(str(path) for path in (folder / "objects" / "hiredis").glob("*.o"))
        run([*target.compiler, "-shared", "-Wl,-soname,libhiredis.so", "-o", str(folder / "lib" / "libhiredis.so"),
             *objects])


def make_lua(target: Target, folder: Path) -> None:
    """Builds Lua for the simulation."""
    lua = sources("lua")
    parts = [path for path in sorted(lua.glob("*.c")) if path.stem not in ("lua", "luac", "print")]
    archive(target, folder, "lua5.1", "lua", parts)


def configure(target: Target, build: Path, *definitions: str) -> None:
    """Configures a build that finds only the libraries in the target's prefix."""
    compiler = build / "cc"
    build.mkdir(parents=True, exist_ok=True)
    path = target.compiler[0]
    if len(target.compiler) > 1:  # CMake expects the compiler to be one program
        compiler.write_text(f'#!/bin/sh\nexec {shlex.join(target.compiler)} "$@"\n', encoding="utf-8")
        compiler.chmod(0o755)
        path = str(compiler)
    emulator = [f"-DCMAKE_CROSSCOMPILING_EMULATOR={';'.join(target.emulator)}"] if target.emulator else []
    prefix = str(build / "prefix" / "lib" / "pkgconfig")
    run(["cmake", "-S", ".", "-B", str(build), "-G", "Ninja", f"-DCMAKE_C_COMPILER={path}", "-DREDLATCH_TLS=OFF",
         "-DREDLATCH_WERROR=ON", *target.definitions, *emulator, *definitions],
        PKG_CONFIG_LIBDIR=prefix, PKG_CONFIG_PATH="")


def test(name: str, target: Target) -> None:
    """Runs unit tests, scenes and simulation of one target. The simulation needs a linker feature that macOS lacks."""
    can_simulate = sys.platform != "darwin"
    build = WORK / name
    make_hiredis(target, build / "prefix")
    make_lua(target, build / "prefix")
    configure(target, build, "-DREDLATCH_BUILD_TESTS=ON")
    run(["cmake", "--build", str(build), "--parallel", "2", "--target", "unit_tests",
         *(["redlatch_sim"] if can_simulate else [])])
    left_out = ["--exclude-regex", target.left_out] if target.left_out else []
    run(["ctest", "--test-dir", str(build), "--no-tests=error", "--output-on-failure", "--parallel", "2", *left_out])
    for kind in ("mutex", "fair", "redlock") if can_simulate else ():
        run([*target.emulator, str(build / "tests" / "redlatch_sim"), "--kind", kind, "--seeds", str(SEEDS)])


def compile_for_macos() -> None:
    """Builds the libraries and the command for both processors, with the linker options for macOS."""
    toolchain = zig()
    for processor in ("x86_64", "aarch64"):
        target = Target([*toolchain, "cc", "-target", f"{processor}-macos"], [*toolchain, "ar"],
                        ("-DCMAKE_SYSTEM_NAME=Darwin", f"-DCMAKE_SYSTEM_PROCESSOR={processor}",
                         "-DCMAKE_INSTALL_NAME_TOOL=/bin/false", "-DCMAKE_MACOSX_RPATH=OFF"))
        build = WORK / f"macos-{processor}"
        make_hiredis(target, build / "prefix")
        for tool in ("ar", "ranlib"):
            (build / tool).write_text(f'#!/bin/sh\nexec {shlex.join([*toolchain, tool])} "$@"\n', encoding="utf-8")
            (build / tool).chmod(0o755)
        configure(target, build, f"-DCMAKE_AR={build / 'ar'}", f"-DCMAKE_RANLIB={build / 'ranlib'}")
        run(["cmake", "--build", str(build), "--parallel", "2"])
        print(f"macos {processor}: compiled and linked", flush=True)


def main(words: List[str]) -> None:
    """Builds and tests the platform that was named."""
    if words == ["musl"]:
        test("musl", Target(["musl-gcc"], ["ar"], left_out=NOT_WITH_MUSL))
    elif words == ["aarch64"]:
        prefix = "aarch64-linux-gnu-"
        test("aarch64", Target([f"{prefix}gcc"], [f"{prefix}ar"],
                               ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"),
                               ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), NOT_EMULATED, shared=True))
    elif words == ["macos"]:
        compile_for_macos()
    elif words == ["here"]:
        test("here", Target(["cc"], ["ar"]))
    else:
        raise SystemExit("usage: cross.py musl|aarch64|macos|here")


if __name__ == "__main__":
    main(sys.argv[1:])
