"""Installs the build, moves it elsewhere, and uses it as others do: pkg-config, find_package, man, the command.

    check_install.py BUILD
SPDX-License-Identifier: Apache-2.0
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List

HERE = Path(__file__).resolve().parent


class Installation:
    """An installed tree that was moved after the installation, and the commands to use it."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.build = build
        self.folder = folder
        first = folder / "first"
        run(["cmake", "--install", str(build), "--prefix", str(first)])
        self.prefix = folder / "moved"
        first.rename(self.prefix)
        self.libraries = next(self.prefix.rglob("libredlatch.so")).parent
        self.environment: Dict[str, str] = {
            **os.environ,
            "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"),
            "LD_LIBRARY_PATH": str(self.libraries),
        }

    def flags(self, *what: str) -> List[str]:
        """Returns the flags that pkg-config prints for redlatch."""
        return shlex.split(run(["pkg-config", *what, "redlatch"], self.environment))

    def with_shared(self) -> None:
        """cc program.c $(pkg-config --cflags --libs redlatch)"""
        program = str(self.folder / "shared")
        run(["cc", "-o", program, str(HERE / "consumer.c"), *self.flags("--cflags", "--libs")])
        run([program], self.environment)

    def with_a_path(self) -> None:
        """The same with the library's path in the program, without LD_LIBRARY_PATH."""
        program = str(self.folder / "with_a_path")
        path = run(["pkg-config", "--variable=libdir", "redlatch"], self.environment).strip()
        run(["cc", "-o", program, str(HERE / "consumer.c"), *self.flags("--cflags", "--libs"), f"-Wl,-rpath,{path}"])
        run([program])

    def with_static(self) -> None:
        """The same without the shared library: the private libraries must suffice."""
        (self.libraries / "libredlatch.so").rename(self.folder / "away.so")
        program = str(self.folder / "static")
        run(["cc", "-DREDLATCH_STATIC", "-o", program, str(HERE / "consumer.c"),
             *self.flags("--cflags", "--libs", "--static")])
        run([program])
        (self.folder / "away.so").rename(self.libraries / "libredlatch.so")

    def with_cmake(self) -> None:
        """find_package of this version, with the shared and the static library."""
        version = run(["pkg-config", "--modversion", "redlatch"], self.environment).strip()
        build = self.folder / "consumer"
        run(["cmake", "-S", str(HERE), "-B", str(build), f"-DCMAKE_PREFIX_PATH={self.prefix}",
             f"-DREDLATCH_WANTED={version}"])
        run(["cmake", "--build", str(build)])
        for program in ("with_shared", "with_static"):
            run([str(build / program)])

    def of_another_version(self) -> None:
        """find_package of a later version must fail."""
        command = ["cmake", "-S", str(HERE), "-B", str(self.folder / "other"), f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   "-DREDLATCH_WANTED=99.0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 or "version" not in done.stderr:
            raise SystemExit(f"find_package(redlatch 99.0): expected a refusal\n{done.stdout}{done.stderr}")

    def manual(self) -> None:
        """The manual pages exist and man has no complaint about them."""
        for name, word in (("redlatch.3", "redlatch_lock_acquire"), ("redlatch.1", "redlatch list"),
                           ("redlatch-run.1", "REDLATCH_OWNER")):
            page = next(self.prefix.rglob(name))
            done = subprocess.run(["man", "--warnings", "--local-file", str(page)], capture_output=True, text=True,
                                  check=False, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            if done.returncode != 0 or done.stderr or word not in done.stdout:
                raise SystemExit(f"man: status {done.returncode}\n{done.stderr}")

    def command(self) -> None:
        """The command runs without the shared library, and the shells find its completions."""
        version = run(["pkg-config", "--modversion", "redlatch"], self.environment)
        if run([str(self.prefix / "bin" / "redlatch"), "--version"]) != f"redlatch {version}":
            raise SystemExit(f"redlatch --version: expected {version}")
        for name in ("bash-completion/completions/redlatch", "zsh/site-functions/_redlatch",
                     "fish/vendor_completions.d/redlatch.fish"):
            if not (self.prefix / "share" / name).is_file():
                raise SystemExit(f"share/{name} was not installed")

    def hardened(self) -> None:
        """The linker's tables are read-only while the program runs, and the C library checks what it can."""
        build = self.build
        modules = [*build.glob("python/redlatch/*.so"), *build.glob("lua/*/redlatch/*.so")]
        if len(modules) < 2:
            raise SystemExit(f"no modules of Python and Lua were built in {build}")
        for file in [self.libraries / "libredlatch.so", self.prefix / "bin" / "redlatch", *modules]:
            check_hardened(file)


def check_hardened(file: Path) -> None:
    """Checks the output of readelf about a program or a library."""
    reported = run(["readelf", "--wide", "--dynamic", "--program-headers", "--dyn-syms", str(file)])
    for what, words in (("BIND_NOW", ("BIND_NOW", "Flags: NOW")), ("RELRO", ("GNU_RELRO",)),
                        ("a stack protector", ("__stack_chk_fail",)), ("FORTIFY", ("_chk@",))):
        if not any(word in reported for word in words):
            raise SystemExit(f"{file}: expected {what}")


def run(command: List[str], environment: "Dict[str, str] | None" = None) -> str:
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Checks all uses in turn. The first that fails ends the program."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: check_install.py BUILD")
    with tempfile.TemporaryDirectory() as folder:
        tree = Installation(Path(sys.argv[1]).resolve(), Path(folder))
        uses: List[Callable[[], None]] = [tree.with_shared, tree.with_a_path, tree.with_static, tree.with_cmake,
                                          tree.of_another_version, tree.manual, tree.command, tree.hardened]
        for use in uses:
            use()
        print(f"{len(uses)} passed, 0 failed")


if __name__ == "__main__":
    main()
