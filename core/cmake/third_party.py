"""Fetches the third-party sources of a bundled build from package registries, checks them, and builds OpenSSL.

    third_party.py sources FOLDER NAME...             FOLDER/NAME-VERSION; prints each path
    third_party.py openssl FOLDER COMPILER AR RANLIB  builds OpenSSL for the compiler's target; prints its path

third-party.json beside this file has versions, packages and SHA256. Nothing is fetched or built that is there already.
SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Dict, List

LISTED = Path(__file__).resolve().with_name("third-party.json")

# What a client of TLS 1.2 and 1.3 needs, with certificates and keys in files. No configuration file is read: that of
# the system may have settings that this OpenSSL does not know.
OPENSSL_OPTIONS = ["--prefix=/usr", "--libdir=lib", "--openssldir=/etc/ssl", "no-autoload-config"]
OPENSSL_LEFT_OUT = ("shared module dso apps tests docs legacy engine deprecated cmp cms ts ct quic dtls srp srtp comp"
                    " ui-console http ocsp aria bf blake2 camellia cast dsa ec2m gost idea md4 mdc2 rc2 rc4 rc5 rmd160"
                    " seed siphash sm2 sm3 sm4 whirlpool")
OPENSSL_FLAGS = "-O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fstack-protector-strong"
# By the first part of what -dumpmachine prints, and whether that is macOS, on which this was not tried.
OPENSSL_PLATFORMS = {("x86_64", False): "linux-x86_64", ("aarch64", False): "linux-aarch64",
                     ("x86_64", True): "darwin64-x86_64-cc", ("arm64", True): "darwin64-arm64-cc"}


def run(command: List[str], folder: "Path | None" = None, **environment: str) -> str:
    """Runs a command that must succeed, and returns its standard output. Its standard error is not redirected."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout[-3000:]}\nthird_party: {' '.join(command)}: status {done.returncode}")
    return done.stdout


def from_pypi(package: str, version: str, folder: Path, sha256: str) -> Path:
    """Fetches a source distribution. pip checks its hash, too, before it runs any of it."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{package}=={version} --hash=sha256:{sha256}\n", encoding="ascii")
    run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--no-binary", package, "--require-hashes", "--dest", str(folder), "-r", str(wanted)])
    return next(folder.glob("*.tar.gz"))


def from_crates(package: str, version: str, folder: Path, sha256: str) -> Path:
    """Fetches the archive of a crate. Cargo checks its hash, too; it needs a package that depends on the crate."""
    if shutil.which("cargo") is None:
        raise SystemExit(f"third_party: cargo is missing, which fetches {package} {version}")
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(f'[package]\nname = "fetch"\nversion = "0.0.0"\n\n[dependencies]\n'
                                       f'{package} = "={version}"\n', encoding="ascii")
    run(["cargo", "fetch", "--quiet"], folder)
    home = Path(os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")))
    for archive in home.glob(f"registry/cache/*/{package}-{version}.crate"):
        if hashlib.sha256(archive.read_bytes()).hexdigest() == sha256:
            return archive
    raise SystemExit(f"third_party: cargo fetched no {package} {version} with SHA256 {sha256}")


FETCHERS = {"pypi": from_pypi, "crate": from_crates}


def sources(folder: Path, name: str, entry: Dict[str, str]) -> Path:
    """Returns the folder with the unpacked sources of one entry of third-party.json."""
    unpacked = folder / f"{name}-{entry['version']}"
    if unpacked.is_dir():
        return unpacked
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        registry, package, version = entry["source"].split()
        archive = FETCHERS[registry](package, version, Path(temporary), entry["sha256"])
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != entry["sha256"]:
            raise SystemExit(f"third_party: {archive.name} has SHA256 {found}; expected {entry['sha256']}")
        within = entry["folder"] + "/"
        with tarfile.open(archive) as opened:
            opened.extractall(temporary, [member for member in opened if member.name.startswith(within)])
        (Path(temporary) / entry["folder"]).rename(unpacked)
    return unpacked


def openssl(folder: Path, entry: Dict[str, str], compiler: str, tools: List[str]) -> Path:
    """Returns a folder with include/, libssl.a and libcrypto.a for the compiler's target."""
    machine = run([compiler, "-dumpmachine"]).strip()
    platform = OPENSSL_PLATFORMS.get((machine.split("-")[0], "-darwin" in machine))
    if platform is None:
        raise SystemExit(f"third_party: {compiler} makes code for {machine};"
                         f" expected that of {', '.join(OPENSSL_PLATFORMS.values())}")
    options = [*OPENSSL_OPTIONS, *(f"no-{word}" for word in OPENSSL_LEFT_OUT.split())]
    kind = "".join([machine, run([compiler, "--version"]).splitlines()[0], *options, OPENSSL_FLAGS, entry["sha256"]])
    built = folder / f"openssl-{entry['version']}-{machine}-{hashlib.sha256(kind.encode()).hexdigest()[:12]}"
    if built.is_dir():
        return built
    partial = folder / f"{built.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(sources(folder, "openssl", entry), partial, symlinks=True)
    # OpenSSL stores the name of its compiler and the time of its build. Names without paths and a fixed time make the
    # library the same on each machine and for every commit.
    path = os.pathsep.join([*(str(Path(tool).parent) for tool in [compiler, *tools]), os.environ["PATH"]])
    names = [f"{variable}={Path(tool).name}" for variable, tool in zip(("CC", "AR", "RANLIB"), [compiler, *tools])]
    run(["perl", "./Configure", platform, *options, *names, f"CFLAGS={OPENSSL_FLAGS}"], partial, PATH=path)
    run(["make", "-s", f"-j{os.cpu_count()}", "build_libs"], partial, PATH=path, SOURCE_DATE_EPOCH="0")
    partial.rename(built)
    return built


def main(words: List[str]) -> None:
    """Prints one path a line."""
    listed: Dict[str, Dict[str, str]] = json.loads(LISTED.read_text(encoding="utf-8"))
    if len(words) > 2 and words[0] == "sources" and set(words[2:]) <= set(listed):
        for name in words[2:]:
            print(sources(Path(words[1]).resolve(), name, listed[name]))
    elif len(words) == 5 and words[0] == "openssl":
        print(openssl(Path(words[1]).resolve(), listed["openssl"], words[2], words[3:]))
    else:
        raise SystemExit(f"usage: third_party.py sources FOLDER {'|'.join(listed)}..."
                         " | third_party.py openssl FOLDER COMPILER AR RANLIB")


if __name__ == "__main__":
    main(sys.argv[1:])
