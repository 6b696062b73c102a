"""Installs the wheel into a clean environment of every installed CPython from 3.9 on, and uses it there.

    check_wheel.py DIST    DIST holds one wheel and one sdist
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Dict, List, Tuple

from support import RedisServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WHEELHOUSE = ROOT / "build" / "wheelhouse"
OLDEST = (3, 9)
PROBE = ("import sys, sysconfig; print(sys.implementation.name, sys.version_info[0], sys.version_info[1],"
         " sysconfig.get_config_var('Py_GIL_DISABLED') or 0)")


def interpreters() -> Dict[Tuple[int, int], str]:
    """Returns one CPython for each minor version, from PATH and pyenv, including the interpreter that runs this."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    pyenv = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv")))
    folders.extend(sorted((pyenv / "versions").glob("*/bin")))
    candidates = [Path(sys.executable)]
    candidates.extend(path for folder in folders for path in sorted(folder.glob("python3.*")))
    found: Dict[Tuple[int, int], str] = {}
    for path in candidates:
        if not path.name.replace("python3.", "").isdigit() and path != candidates[0]:
            continue
        done = subprocess.run([str(path), "-c", PROBE], capture_output=True, text=True, check=False)
        words = done.stdout.split()
        if done.returncode != 0 or len(words) != 4 or words[0] != "cpython" or words[3] != "0":
            continue
        version = (int(words[1]), int(words[2]))
        if version >= OLDEST:
            found.setdefault(version, str(path))
    return found


def run(command: List[str], **environment: str) -> str:
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, **environment}, cwd=ROOT / "build")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}")
    return done.stdout


def needs() -> Path:
    """Writes a file with the wheel's requirements, in the versions of the other tests and with their hashes. Returns
    its path."""
    lock = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(?:cffi|pycparser)==.*(?:\n .*)+", lock, re.MULTILINE)
    WHEELHOUSE.mkdir(parents=True, exist_ok=True)
    path = WHEELHOUSE / "requirements.txt"
    path.write_text("\n".join(found), encoding="utf-8")
    return path


def install(python: str, wheel: Path, version: Tuple[int, int]) -> str:
    """Returns the interpreter of a clean environment with the wheel. The wheel's requirements are downloaded once and
    kept."""
    folder = ROOT / "build" / "wheel-test" / f"{version[0]}.{version[1]}"
    run([python, "-m", "venv", "--clear", str(folder)])
    clean = str(folder / "bin" / "python")
    command = [clean, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(WHEELHOUSE), str(wheel)]
    try:
        run(command)
    except RuntimeError:
        run([clean, "-m", "pip", "download", "--quiet", "--require-hashes", "--dest", str(WHEELHOUSE),
             "--requirement", str(needs())])
        run(command)
    return clean


def check_module(path: str) -> None:
    """The module contains hiredis and OpenSSL, and exports only its entry."""
    libraries = run(["ldd", path])
    if any(name in libraries for name in ("hiredis", "libssl", "libcrypto", "not found")):
        raise RuntimeError(f"{path} needs what a stranger may not have:\n{libraries}")
    names = [line.split()[0] for line in run(["nm", "-D", "--defined-only", "--format=posix", path]).splitlines()]
    if names != ["PyInit__core"]:
        raise RuntimeError(f"{path} exports {', '.join(names)}; expected PyInit__core alone")


def check_files(wheel: Path) -> None:
    """The wheel has every file of the package, including those that no other file imports."""
    package = ROOT / "python"
    listed = {path.relative_to(package).as_posix() for path in package.glob("redlatch/**/*.py")}
    missing = sorted(listed - set(zipfile.ZipFile(wheel).namelist()))
    if missing:
        raise SystemExit(f"{wheel}: expected also {', '.join(missing)}")


def only(folder: Path, pattern: str) -> Path:
    """Returns the one file that matches the pattern."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder}: expected one {pattern}, found {len(found)}")
    return found[0].resolve()


def main() -> int:
    """Returns the exit status."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: check_wheel.py DIST")
    only(Path(sys.argv[1]), "redlatch-*.tar.gz")
    wheel = only(Path(sys.argv[1]), "redlatch-*.whl")
    check_files(wheel)
    found = interpreters()
    failed = 0
    with RedisServer() as server:
        for version, python in sorted(found.items()):
            try:
                clean = install(python, wheel, version)
                url = f"redis://127.0.0.1:{server.port}"
                check_module(run([clean, str(HERE / "smoke.py"), url], PYTHONPATH="").strip())
                print(f"{version[0]}.{version[1]}: {wheel.name} works ({python})")
            except RuntimeError as error:
                failed += 1
                print(f"{version[0]}.{version[1]}: {error}")
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
