"""Installs the artefacts of `./dev release` in new environments and runs the README's programs there. Needs root.

    try_release.py DIST [NAME...]
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Callable, Dict, List, Tuple

from check_rock import LUAS, luarocks, try_tree, without_swig
from check_wheel import WHEELHOUSE, interpreters, needs
from newcomers import newcomers, recipes
from strangers import CHROOTS, debian, example, expect, fresh, only, run, serving

from support import RedisServer
from support.tls_server import Identity, TlsServer

CONSUMER = Path(__file__).parent
SMOKE = CONSUMER / "smoke.py"
LUA_PACKAGES = ["lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit"]
DEBS = ["libredlatch0", "libredlatch-dev", "redlatch", "lua-redlatch", "python3-redlatch"]


def command(dist: Path, url: str) -> None:
    """The static command in an empty folder, where it is the only file; README's block of the shell; a call by TLS."""
    for suffix in ("", "-plain"):
        root = fresh("empty")
        name = only(dist, f"redlatch-*-linux-x86_64{suffix}.tar.gz").name[: -len(".tar.gz")]
        run(["tar", "-xzf", str(dist / f"{name}.tar.gz"), "-C", str(root), "--strip-components=1", f"{name}/redlatch"])
        printed = run(["chroot", str(root), "/redlatch", "run", "--url", url, "orders:42", "--", "/redlatch",
                       "show", "--url", url, "orders:42"])
        expect("orders:42" in printed and "mutex" in printed, f"the lock to be shown while it is held, not {printed}")
        run(["chroot", str(root), "/redlatch", "doctor", "--help"])
        shown = run(["bash", "-ec", example("bash", url)], root, REDIS_URL=url, PATH=f"{root}:{os.environ['PATH']}")
        expect("one process at a time\n" in shown, f"what README's block prints, not {shown}")
        call_by_tls(root / "redlatch", has_tls=not suffix)


def call_by_tls(program: Path, has_tls: bool) -> None:
    """The command takes a lock by TLS, or says that it has none."""
    identity = Identity.make(fresh("certificates"))
    served = TlsServer(identity.own, identity.ca, tls_auth_clients="no")
    with served.server:
        words = ["run", "--url", f"{served.url}?tls_ca_file={identity.ca}", "orders:42", "--", "echo", "held"]
        done = subprocess.run([str(program), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    if has_tls:
        expect((done.returncode, done.stdout) == (0, "held\n"), f"a lock by TLS, not {done.stdout}")
    else:
        expect(done.returncode != 0 and "TLS" in done.stdout, f"an error that names TLS, not {done.stdout}")


def command_arm(dist: Path, url: str) -> None:
    """The static command for aarch64, under qemu."""
    root = fresh("arm-command")
    archive = only(dist, "redlatch-*-linux-aarch64.tar.gz")
    run(["tar", "-xzf", str(archive), "-C", str(root), "--strip-components=1"])
    printed = run(["qemu-aarch64-static", str(root / "redlatch"), "run", "--url", url, "orders:43", "--", "/bin/echo",
                   "held"])
    expect(printed == "held\n", f"held, not {printed}")


def wheelhouse(python: str, platform: str) -> None:
    """Downloads the wheel's requirements for another system."""
    run([sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--dest", str(WHEELHOUSE),
         "--python-version", python, "--platform", platform, "--only-binary=:all:", "--requirement", str(needs())])


def expect_python(printed: str) -> None:
    """Checks that the README's program in Python has held its lock."""
    expect("only one process at a time is here; lost: False" in printed, f"what README's program prints, not {printed}")


def wheels(dist: Path, url: str) -> None:
    """The wheel in an empty environment of each CPython, with README's program."""
    wheel = only(dist, "*manylinux*x86_64.whl")
    for version, python in sorted(interpreters().items()):
        wheelhouse(f"{version[0]}.{version[1]}", "manylinux2014_x86_64")
        folder = fresh(f"python{version[0]}.{version[1]}")
        run([python, "-m", "venv", str(folder)])
        clean = str(folder / "bin" / "python")
        run([clean, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(WHEELHOUSE), str(wheel)])
        run([clean, str(SMOKE), url], folder, PYTHONPATH="")
        expect_python(run([clean, "-c", example("python", url)], folder, PYTHONPATH=""))
        print(f"  CPython {version[0]}.{version[1]}")


def wheel_bullseye(dist: Path, url: str) -> None:
    """The wheel on Debian 11, which is older than what it is built on."""
    root = debian("bullseye", "bullseye", ["--variant=minbase", "--include=python3-venv"])
    wheelhouse("3.9", "manylinux2014_x86_64")
    shutil.rmtree(root / "given", ignore_errors=True)
    shutil.copytree(WHEELHOUSE, root / "given")
    for path in (only(dist, "*manylinux*x86_64.whl"), SMOKE):
        shutil.copy(path, root / "given")
    (root / "given" / "example.py").write_text(example("python", url), encoding="utf-8")
    for words in (["python3", "-m", "venv", "--clear", "/clean"],
                  ["/clean/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/given", "redlatch"],
                  ["/clean/bin/python", "/given/smoke.py", url]):
        run(["chroot", str(root), *words])
    expect_python(run(["chroot", str(root), "/clean/bin/python", "/given/example.py"]))


LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    void *module = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
    puts(module ? "loaded" : dlerror());
    return !module;
}
"""


def wheel_musl(dist: Path, _url: str) -> None:
    """The module of the wheel for musl finds all it needs there; a program stands for the interpreter, which is not."""
    folder = fresh("musl")
    with zipfile.ZipFile(only(dist, "*musllinux*x86_64.whl")) as opened:
        opened.extract("redlatch/_core.abi3.so", folder)
    module = folder / "redlatch" / "_core.abi3.so"
    needed = [line.split()[0] for line in run(["nm", "-D", "--undefined-only", "--format=posix",
                                               str(module)]).splitlines()]
    names = "".join(f"char {name}[64];\n" for name in needed if name.lstrip("_").startswith("Py"))
    (folder / "loader.c").write_text(LOADER + names, encoding="ascii")
    run(["musl-gcc", "-rdynamic", "-o", "loader", "loader.c"], folder)
    run([str(folder / "loader"), str(module)])


def wheel_arm(dist: Path, url: str) -> None:
    """The wheel for aarch64, with the Python of Debian's arm64 under qemu."""
    root = debian("arm64", "bookworm", ["--variant=extract", "--architectures=arm64",
                                        "--include=python3,python3-cffi-backend"])
    unpacked = fresh("arm-wheel")
    with zipfile.ZipFile(only(dist, "*manylinux*aarch64.whl")) as opened:
        opened.extractall(unpacked)
    python = ["qemu-aarch64-static", "-L", str(root), str(root / "usr" / "bin" / "python3.11")]
    paths = {"PYTHONPATH": f"{unpacked}:{root}/usr/lib/python3/dist-packages", "PYTHONHOME": str(root / "usr")}
    run([*python, str(SMOKE), url], **paths)
    expect_python(run([*python, "-c", example("python", url)], **paths))


def rock(dist: Path, url: str) -> None:
    """LuaRocks takes the rock from a server of rocks, for each Lua."""
    served = fresh("rocks")
    for path in (only(dist, "redlatch-*.src.rock"), only(dist, "redlatch-*.rockspec")):
        shutil.copy(path, served)
    run(["luarocks", "lint", str(only(served, "*.rockspec"))])
    run(["luarocks-admin", "make_manifest", str(served)])
    with serving(served) as address:
        for lua in LUAS:
            install_rock(lua, address, url)


def rockspec(dist: Path, url: str) -> None:
    """LuaRocks takes the rockspec from a server of rocks, and the sources from the address that it names."""
    served = fresh("rockspecs")
    shutil.copy(only(dist, "redlatch-lua-*.tar.gz"), served)
    spec = only(dist, "redlatch-*.rockspec")
    text = spec.read_text(encoding="utf-8")
    found = re.search(r'url = "(https://[^"]+)/([^/"]+)"', text)
    if found is None:
        raise AssertionError(f"expected an address in {spec.name}")
    with serving(served) as address:
        (served / spec.name).write_text(text.replace(found[1], address), encoding="utf-8")
        run(["luarocks-admin", "make_manifest", str(served)])
        install_rock(LUAS[-1], address, url)


def install_rock(lua: Tuple[str, str], address: str, url: str) -> None:
    """Installs the rock from a server of rocks in an empty tree, without SWIG, and runs the README's program there."""
    tree = fresh(f"rock-{lua[0]}")
    environment = without_swig(fresh("stub") / "bin")
    run(luarocks(lua, tree, "install", f"--only-server={address}", "redlatch"), tree, **environment)
    try_tree(lua, tree, url)
    print(f"  {lua[0]}")


def packages(dist: Path, url: str) -> None:
    """The Debian packages, and nothing else, in a new Debian: README's program of each language."""
    found = [only(dist, f"{name}_*.deb") for name in DEBS]
    suite = next(line.split("=")[1] for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
                 if line.startswith("VERSION_CODENAME="))
    root = CHROOTS / "packages"
    shutil.rmtree(root, ignore_errors=True)
    installed = ",".join(["gcc", "libc6-dev", "pkg-config", "cmake", "make", *LUA_PACKAGES])
    run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={installed}",
         '--customize-hook=mkdir "$1"/debs', *(f"--customize-hook=copy-in {path} /debs" for path in found),
         '--customize-hook=chroot "$1" sh -c "apt-get install -q -y --no-install-recommends /debs/*.deb"',
         suite, str(root)])
    programs: Dict[str, str] = {"example.c": "c", "example.py": "python", "example.lua": "lua", "example.sh": "bash"}
    for name, language in programs.items():
        (root / name).write_text(example(language, url), encoding="utf-8")
    inside = ["chroot", str(root), "env", f"REDIS_URL={url}"]
    run([*inside, "sh", "-c", "cc -o /shared /example.c $(pkg-config --cflags --libs redlatch) && /shared"])
    run([*inside, "sh", "-c", "cc -DREDLATCH_STATIC -o /static /example.c /usr/lib/*/libredlatch.a"
                              " $(pkg-config --libs --static redlatch) && /static"])
    run([*inside, "python3", "/example.py"])
    shutil.copytree(CONSUMER, root / "consumer", ignore=shutil.ignore_patterns("*.py"))
    run([*inside, "sh", "-ec", "cmake -S /consumer -B /built; cmake --build /built; /built/with_shared;"
                               " /built/with_static"])
    for lua in LUA_PACKAGES:
        run([*inside, lua, "/example.lua"])
    run([*inside, "bash", "-e", "/example.sh"])


TRIES: List[Callable[[Path, str], None]] = [command, command_arm, wheels, wheel_bullseye, wheel_musl, wheel_arm, rock,
                                            rockspec, packages, newcomers, recipes]


def main(words: List[str]) -> int:
    """Returns the exit status."""
    known = {each.__name__: each for each in TRIES}
    if not words or set(words[1:]) - set(known):
        raise SystemExit(f"usage: try_release.py DIST [{'|'.join(known)}...]")
    if os.geteuid() != 0:
        raise SystemExit("try_release.py makes chroots: expected to run as root")
    failed = 0
    chosen = words[1:] or list(known)
    with RedisServer() as server:
        for name in chosen:
            try:
                known[name](Path(words[0]).resolve(), f"redis://127.0.0.1:{server.port}/0")
                print(f"ok: {known[name].__doc__}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAIL: {name}: {error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
