"""Checks the binary interface against its baseline: abidiff compares the compiled library, pins the headers' text.

    check_abi.py baseline LIBRARY   records the interface; refuses if that would hide a break
    check_abi.py check LIBRARY      fails if programs built against the baseline would no longer run
    check_abi.py selftest           plants breaks and additions in stub libraries; finds the breaks, and nothing else

LIBRARY is build/core/libredlatch.so, built with -g. Additions (functions, status codes, fields at the end of a sized
struct) pass. Below 1.0 an intended break is allowed: delete the baseline, record it anew, and say so in CHANGELOG.md.
Pins cover what abidiff does not: enumerations that no function has as a type, and the names of parameters, which the
bindings use. Also, abidiff cannot tell a field that was added at the end from one that was narrowed.
SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, List, Tuple

ABI_DIR = Path(__file__).resolve().parent
INCLUDE = ABI_DIR.parent / "include"
HEADER = INCLUDE / "redlatch.h"
SUPPRESSIONS = ABI_DIR / "suppressions.ini"
# Without this option the tools omit a function that is also called inside the library.
EXPORTED_ONLY = ["--exported-interfaces-only"]
PROTOTYPE = re.compile(r"^REDLATCH_API ([^;{]+?\b(redlatch_\w+)\([^;]*\));", flags=re.MULTILINE)


def baseline_path(suffix: str) -> Path:
    """Returns the path of a file of this version's baseline: libredlatch-0.1.abi or libredlatch-0.1.pins."""
    match = re.search(r'^#define REDLATCH_VERSION "(\d+\.\d+)\.', HEADER.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise SystemExit(f"{HEADER}: no REDLATCH_VERSION found")
    return ABI_DIR / f"libredlatch-{match[1]}{suffix}"


def header_text() -> str:
    """Returns the text of all public headers, redlatch.h first."""
    others = sorted(INCLUDE.glob("redlatch_*.h"))
    text = "".join(path.read_text(encoding="utf-8") for path in [HEADER, *others])
    return re.sub(r'^#include "redlatch\w*\.h"\n', "", text, flags=re.MULTILINE)


def pins(header: str) -> List[str]:
    """Returns all constants with numbers, functions with parameters' names, and fields of the public structs."""
    bare = re.findall(r"^\s*(REDLATCH_[A-Z0-9_]+)\s*(?:,|/\*|$)", header, flags=re.MULTILINE)
    if bare:
        raise SystemExit(f"{HEADER}: expected a number written out for {', '.join(bare)}")
    found = [f"{name} = {number}" for name, number in re.findall(r"\b(REDLATCH_[A-Z0-9_]+) = (-?\d+)", header)]
    found.extend(" ".join(prototype.split()) for prototype, _name in PROTOTYPE.findall(header))
    code = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    for name, body in re.findall(r"typedef struct (\w+) \{([^}]*)\}", code):
        for number, field in enumerate(body.split(";")[:-1]):
            found.append(f"{name}[{number}] is {' '.join(field.split())}")
    return found


def differences(header: str, library: Path) -> str:
    """Returns what breaks the baseline; empty if nothing does."""
    recorded = baseline_path(".pins").read_text(encoding="utf-8").splitlines()
    now = pins(header)
    report = "".join(f"no longer true: {pin}\n" for pin in recorded if pin not in now)
    done = subprocess.run(
        ["abidiff", *EXPORTED_ONLY, "--suppressions", str(SUPPRESSIONS), "--no-added-syms", str(baseline_path(".abi")),
         str(library)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return report if done.returncode == 0 else f"{report}{done.stdout}abidiff ended with {done.returncode}\n"


def record(library: Path) -> None:
    """Writes the baseline, unless that would hide a break."""
    path = baseline_path(".abi")
    if path.exists():
        report = differences(header_text(), library)
        if report:
            raise SystemExit(f"{report}{path.name} stays, as this breaks it. If it must be, delete the baseline first.")
    subprocess.run(["abidw", *EXPORTED_ONLY, "--headers-dir", str(HEADER.parent), "--drop-private-types",
                    "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed",
                    "--out-file", str(path), str(library)], check=True)
    header = header_text()
    recorded = path.read_text(encoding="utf-8").replace(f"{ABI_DIR.parents[1]}/", "")
    path.write_text(recorded, encoding="utf-8")
    blind = [name for _prototype, name in PROTOTYPE.findall(header) if f"elf-symbol-id='{name}@" not in recorded]
    if blind:
        path.unlink()
        raise SystemExit(f"{library} has no debug information (-g) of {', '.join(blind)}; nothing recorded")
    baseline_path(".pins").write_text("\n".join(pins(header)) + "\n", encoding="utf-8")
    print(f"recorded {path} and its pins")


def check(library: Path) -> None:
    """Ends with an error when the library breaks the baseline."""
    path = baseline_path(".abi")
    if not path.exists():
        raise SystemExit(f"{path} is missing; record it with ./dev abi-baseline")
    report = differences(header_text(), library)
    if report:
        raise SystemExit(f"{report}programs built against {path.name} would break")
    print(f"{library.name} is compatible with {path.name}")


def baseline_node() -> str:
    """Returns the symbol version node of the baseline's functions."""
    match = re.search(r"@@(\w+\.\d+)'", baseline_path(".abi").read_text(encoding="utf-8"))
    if match is None:
        raise SystemExit(f"{baseline_path('.abi')} records no function with a version node")
    return match[1]


def stub_library(header: str, folder: Path) -> Path:
    """Builds a shared library with the header's interface and empty functions."""
    folder.mkdir()
    (folder / "redlatch.h").write_text(header, encoding="utf-8")
    source = ['#include "redlatch.h"']
    for prototype, _name in PROTOTYPE.findall(header):
        source.append(prototype + ("{ }" if prototype.startswith("void ") else "{ return 0; }"))
    (folder / "stub.c").write_text("\n".join(source) + "\n", encoding="utf-8")
    names = "; ".join(name for _prototype, name in PROTOTYPE.findall(header))
    (folder / "stub.map").write_text(f"{baseline_node()} {{ global: {names}; local: *; }};\n", encoding="utf-8")
    library = folder / "libredlatch.so"
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-Wl,-soname,libredlatch.so.0", "-o", str(library),
                    f"-Wl,--version-script={folder / 'stub.map'}", str(folder / "stub.c")], check=True)
    return library


def replaced(pattern: str, replacement: str) -> Callable[[str], str]:
    """Returns an edit of the header that replaces the first match of a pattern. It fails if there is no match."""

    def edit(header: str) -> str:
        text, count = re.subn(pattern, replacement, header, count=1, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"selftest: the header has nothing like {pattern!r} any more; mend the plant")
        return text

    return edit


PLANTS: List[Tuple[str, bool, Callable[[str], str]]] = [
    ("nothing changed", True, lambda header: header),
    ("a narrowed parameter", False, replaced(r"(redlatch_lock_acquire\(redlatch_lock \*lock, )int64_t", r"\1int32_t")),
    ("a parameter of another type", False,
     replaced(r"(redlatch_lock_query\()redlatch_lock \*", r"\1redlatch_client *")),
    ("a renamed parameter", False, replaced(r"(redlatch_lock_acquire\(redlatch_lock \*)lock", r"\1mutex")),
    ("a changed result", False, replaced(r"int (redlatch_client_close)", r"int64_t \1")),
    ("a removed function", False, replaced(r"^REDLATCH_API const char \*redlatch_version\(void\);", "")),
    ("a renumbered status", False, replaced(r"(REDLATCH_NOT_OWNED = )-102", r"\1-1102")),
    ("a field in the middle", False, replaced(r"(uint64_t round_trips;)", r"uint64_t planted; \1")),
    ("a narrowed field", False, replaced(r"int64_t (max_hold_ms;)", r"int32_t \1")),
    ("a field at the end", True, replaced(r"^\} redlatch_stats;", "    uint64_t planted;\n} redlatch_stats;")),
    ("a further status", True, replaced(r"(REDLATCH_INTERNAL = -503)", r"\1, REDLATCH_PLANTED = -599")),
    ("a further function", True, replaced(r"^(REDLATCH_API const char \*redlatch_version)",
                                          r"REDLATCH_API int redlatch_planted(void);\n\1")),
]


def selftest() -> None:
    """Checks that each planted break is found, and that each planted addition passes."""
    header = header_text()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (what, expected_good, edit) in enumerate(PLANTS):
            edited = edit(header)
            report = differences(edited, stub_library(edited, Path(folder) / str(number)))
            if (report == "") != expected_good:
                wrong += 1
                print(f"{what}: expected {'no objection' if expected_good else 'an objection'}\n{report}")
    print(f"{len(PLANTS) - wrong} passed, {wrong} failed")
    if wrong:
        raise SystemExit(1)


def main() -> None:
    """Runs the verb named on the command line."""
    arguments = sys.argv[1:]
    if arguments == ["selftest"]:
        selftest()
    elif len(arguments) == 2 and arguments[0] == "baseline":
        record(Path(arguments[1]))
    elif len(arguments) == 2 and arguments[0] == "check":
        check(Path(arguments[1]))
    else:
        raise SystemExit("usage: check_abi.py baseline LIBRARY | check LIBRARY | selftest")


if __name__ == "__main__":
    main()
