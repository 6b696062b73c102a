"""Runs clang-tidy over every C file of the project, each once, two at a time. The analyzer, which takes nearly all of
the time, follows only the paths of the product. The tests run under the sanitizers.

    tidy.py BUILD    BUILD holds compile_commands.json
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]


def program() -> str:
    """Returns the name of clang-tidy, of any version."""
    names = ["clang-tidy", *(f"clang-tidy-{version}" for version in range(30, 13, -1))]
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        raise SystemExit("clang-tidy is not installed")
    return found


def own_files(build: Path, database: Path) -> List[str]:
    """Returns the project's C files. `database` gets one compile command for each, since some are compiled several
    times."""
    commands: Dict[str, Dict[str, str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["directory"], entry["file"]).resolve()
        if build.resolve() not in path.parents and ROOT in path.parents:
            commands.setdefault(str(path), entry)
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(list(commands.values())), encoding="utf-8")
    return sorted(commands)


def main() -> int:
    """Prints the output of clang-tidy and returns the exit status."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: tidy.py BUILD")
    build = Path(sys.argv[1])
    paths = own_files(build, build / "tidy")
    if not paths:
        raise SystemExit(f"{build}/compile_commands.json names no file of ours")
    command = [program(), "--quiet", "-p", str(build / "tidy")]

    def check(path: str) -> Tuple[str, int, str]:
        fewer = ["--checks=-clang-analyzer-*"] if ROOT / "tests" in Path(path).parents else []
        done = subprocess.run([*command, *fewer, path], capture_output=True, text=True, check=False)
        return path, done.returncode, done.stdout if done.stdout.strip() else done.stderr

    failed = 0
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        for path, status, output in pool.map(check, paths):
            if status != 0:
                failed += 1
                print(f"{os.path.relpath(path, ROOT)}: clang-tidy ended with {status}\n{output}")
    print(f"clang-tidy: {len(paths) - failed} files without complaints, {failed} with")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
