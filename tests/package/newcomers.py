"""Does what a new user does with only the README, in an empty folder: downloads the files of a release, installs one as
the README says, and runs the README's program of that language. The same for the recipes for FastAPI and Celery.

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Callable, Dict, List

from strangers import ROOT, debian, example, expect, fresh, only, run, serving

from support import free_port, wait_until

RECIPES = ROOT / "examples" / "python" / "frameworks"
START_SECONDS = 60.0


def install_commands() -> Dict[str, str]:
    """Returns the commands of the README's table of installation, by language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Install\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| `(.+)` \|$", section, re.MULTILINE)
    return {re.split(r"[ ,]", what.replace("the ", ""))[0]: command for what, command in rows}


def download(address: str, folder: Path) -> None:
    """Downloads all files of a release and checks their sums."""
    def fetched(name: str) -> bytes:
        with urllib.request.urlopen(f"{address}/{name}") as reply:
            return bytes(reply.read())

    for line in fetched("SHA256SUMS").decode("ascii").splitlines():
        digest, _, name = line.partition("  ")
        content = fetched(name)
        expect(hashlib.sha256(content).hexdigest() == digest, f"{name} with the SHA256 {digest}")
        (folder / name).write_bytes(content)


def python(folder: Path, command: str, url: str) -> str:
    """Python, in a virtual environment."""
    (folder / "example.py").write_text(example("python", url), encoding="utf-8")
    return run(["bash", "-ec", f"python3 -m venv env; . env/bin/activate; {command}; python example.py"], folder,
               PYTHONPATH="", HOME=str(folder))


def lua(folder: Path, command: str, url: str) -> str:
    """Lua, in a tree of the user's own, with the Lua that LuaRocks is configured for."""
    (folder / "config.lua").write_text(f'rocks_trees = {{"{folder}/tree"}}\n', encoding="utf-8")
    (folder / "example.lua").write_text(example("lua", url), encoding="utf-8")
    words = f'{command}; eval "$(luarocks path)"; "lua$(luarocks config lua_version)" example.lua'
    return run(["bash", "-ec", words], folder, REDIS_URL=url, LUAROCKS_CONFIG=str(folder / "config.lua"))


def debian_of_c() -> Path:
    """Returns a Debian of this machine's version with a C compiler."""
    suite = re.search(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE)
    if suite is None:
        raise AssertionError("expected the name of this Debian in /etc/os-release")
    # The package lists of apt are kept.
    return debian("newcomer", suite[1], ["--variant=minbase", "--skip=cleanup/apt",
                                         "--include=gcc,libc6-dev,pkg-config,libhiredis-dev,libssl-dev"])


def c(folder: Path, command: str, url: str) -> str:
    """C, in that Debian. The packages are removed afterwards."""
    root = debian_of_c()
    for path in folder.glob("*.deb"):
        shutil.copy(path, root / "root")
    (root / "root" / "example.c").write_text(example("c", url), encoding="utf-8")
    words = f"cd; {command} --yes; cc example.c $(pkg-config --cflags --libs redlatch); ./a.out"
    try:
        return run(["chroot", str(root), "env", "HOME=/root", "bash", "-ec", words])
    finally:
        run(["chroot", str(root), "dpkg", "--purge", "libredlatch-dev", "libredlatch0"])


def shell(folder: Path, command: str, url: str) -> str:
    """The shell, in a home folder of the user's own."""
    return run(["bash", "-ec", f"{command}\n{example('bash', url)}"], folder, HOME=str(folder), REDIS_URL=url,
               PATH=f"{folder}/.local/bin:/usr/bin:/bin")


LANGUAGES: Dict[str, Callable[[Path, str, str], str]] = {"Python": python, "Lua": lua, "C": c, "shell": shell}


def newcomers(dist: Path, url: str) -> None:
    """With README alone each language is fetched, installed and run; how many seconds that takes is printed."""
    debian_of_c()
    commands = install_commands()
    expect(set(commands) == set(LANGUAGES), f"a row of README's table for each of {set(LANGUAGES)}, found {commands}")
    with serving(dist) as address:
        for language, use in LANGUAGES.items():
            folder = fresh(f"newcomer-{language}")
            began = time.monotonic()
            download(address, folder)
            printed = use(folder, commands[language], url)
            passed = time.monotonic() - began
            expect("one process at a time" in printed, f"what README's program in {language} prints, not {printed}")
            print(f"  {language}: {passed:.0f} s")


class Program:
    """A program that serves until it is closed. Its output goes to a file."""

    def __init__(self, command: List[str], folder: Path, url: str) -> None:
        self.log = folder / f"{Path(command[0]).name}.log"
        with self.log.open("w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": "", "REDIS_URL": url})

    def await_line(self, text: str) -> None:
        """Waits until the program has printed a text."""
        wait_until(lambda: text in self.log.read_text(encoding="utf-8"), START_SECONDS,
                   lambda: f"'{text}' in what the program prints:\n{self.log.read_text(encoding='utf-8')[-3000:]}")

    def close(self) -> None:
        """Ends the program."""
        self.process.terminate()
        self.process.wait(START_SECONDS)


def recipes(dist: Path, url: str) -> None:
    """FastAPI's and Celery's recipes run as they are written, with the wheel in an empty environment."""
    folder = fresh("recipes")
    for name in ("fastapi_app.py", "celery_tasks.py"):
        shutil.copy(RECIPES / name, folder)
    run(["python3", "-m", "venv", "env"], folder)
    programs = folder / "env" / "bin"
    pip = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--require-hashes", "-r", str(ROOT / "tests" / "frameworks" / "requirements.txt")], folder)
    run([*pip, "--no-index", "--no-deps", str(only(dist, "*manylinux*x86_64.whl"))], folder)
    port = free_port()
    web = Program([str(programs / "uvicorn"), "fastapi_app:app", "--port", str(port)], folder, url)
    try:
        web.await_line("Application startup complete")
        for endpoint in ("by-task", "by-thread"):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/accounts/7/{endpoint}", method="POST")
            with urllib.request.urlopen(request, timeout=START_SECONDS) as reply:
                expect(json.load(reply) == {"account": 7}, f"the account from {endpoint}")
    finally:
        web.close()
    worker = Program([str(programs / "celery"), "-A", "celery_tasks", "worker", "--loglevel", "INFO"], folder, url)
    try:
        worker.await_line("ready.")
        run([str(programs / "python"), "-c", "import celery_tasks; celery_tasks.recalculate_account.delay(1)"], folder,
            PYTHONPATH="", REDIS_URL=url)
        worker.await_line("succeeded in")
    finally:
        worker.close()
