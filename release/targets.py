"""The targets of a release, and their compilers: Zig's, which include the headers of every libc.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Dict, List, NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Target(NamedTuple):
    """A processor and a libc: Zig's name for them, and the platform tag of the wheel."""

    zig: str
    tag: str

    @property
    def processor(self) -> str:
        """The processor's name, as uname prints it."""
        return self.zig.split("-")[0]

    @property
    def is_musl(self) -> bool:
        """Whether the libc is musl."""
        return self.zig.endswith("musl")


TARGETS: Dict[str, Target] = {
    f"{processor}-{libc}": Target(f"{processor}-linux-{word}", tag.format(processor))
    for processor in ("x86_64", "aarch64")
    for libc, word, tag in (
        ("musl", "musl", "musllinux_1_2_{0}"),
        ("glibc", "gnu.2.28", "manylinux_2_28_{0}"),
    )
}

# The names of the compiler and its tools. OpenSSL writes the compiler's name into its library.
WRAPPERS = {"redlatch-cc": "cc -target {zig}", "redlatch-ar": "ar", "redlatch-ranlib": "ranlib",
            "redlatch-ld": "ld.lld"}


def zig() -> Path:
    """Returns the program of this Python's package ziglang."""
    import ziglang  # type: ignore[import-not-found, unused-ignore]

    return Path(ziglang.__file__).with_name("zig")


def make_tools(target: Target, folder: Path) -> Path:
    """Makes the compiler and its tools for a target, and returns their folder."""
    tools = folder / target.zig
    tools.mkdir(parents=True, exist_ok=True)
    for name, words in WRAPPERS.items():
        lines = ["#!/bin/sh"]
        if name == "redlatch-cc":  # Clang does not know the libc version in Zig's target; Zig drops it when it compiles
            lines.append(f'case "$*" in -dumpmachine) echo {target.zig}; exit ;;')
            lines.append(f'--version) exec "{zig()}" cc --version ;; esac')
        lines.append(f'exec "{zig()}" {words.format(zig=target.zig)} "$@"')
        path = tools / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        path.chmod(0o755)
    return tools


def build(target: Target, folder: Path, tls: bool) -> Path:
    """Builds the parts of a target: with TLS the Python module, with musl, which may be linked in, the command. Returns
    the build folder."""
    tools = make_tools(target, ROOT / "build" / "release" / "tools")
    paths = {"C_COMPILER": "redlatch-cc", "AR": "redlatch-ar", "RANLIB": "redlatch-ranlib", "LINKER": "redlatch-ld"}
    targets = [*(["redlatch_python"] if tls else []), *(["redlatch_cli"] if target.is_musl else [])]
    run(["cmake", "-S", ".", "-B", str(folder), "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Linux",
         f"-DCMAKE_SYSTEM_PROCESSOR={target.processor}", f"-DCMAKE_OBJCOPY={objcopy()}",
         *(f"-DCMAKE_{key}={tools / name}" for key, name in paths.items()),
         # To link, Zig would build a libc for each set of flags that CMake tries.
         "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
         f"-DCMAKE_C_FLAGS=-ffile-prefix-map={ROOT}=. -ffile-prefix-map={folder}=.",
         "-DCMAKE_EXE_LINKER_FLAGS=-O2 -static -pie -Wl,--gc-sections", "-DCMAKE_MODULE_LINKER_FLAGS=-O2 -s",
         "-DREDLATCH_BUNDLED=ON", f"-DREDLATCH_TLS={'ON' if tls else 'OFF'}", "-DREDLATCH_INSTALL=OFF",
         f"-DREDLATCH_PYTHON={'ON' if tls else 'OFF'}", f"-DREDLATCH_CLI={'ON' if target.is_musl else 'OFF'}",
         f"-DPython_EXECUTABLE={sys.executable}", f"-DPython_INCLUDE_DIR={sysconfig.get_path('include')}",
         f"-DPython3_EXECUTABLE={sys.executable}"])
    run(["cmake", "--build", str(folder), "--target", *targets])
    return folder


def stripped(program: Path, copy: Path) -> Path:
    """Makes a copy of a program without symbols. The program keeps its symbols, since check_release.py searches for
    some."""
    run([objcopy(), "--strip-all", str(program), str(copy)])
    return copy


def objcopy() -> str:
    """Returns LLVM's objcopy, which knows every processor."""
    for folder in os.environ["PATH"].split(os.pathsep):
        for path in sorted(Path(folder).glob("llvm-objcopy*")):
            return str(path)
    raise SystemExit("release: llvm-objcopy is missing (Debian: llvm)")


def run(command: List[str], folder: Path = ROOT, **environment: str) -> str:
    """Runs a command that must succeed, and returns its output. If it fails, the output is shown."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-5000:])
        raise SystemExit(f"release: {' '.join(command)}: status {done.returncode}")
    return done.stdout
