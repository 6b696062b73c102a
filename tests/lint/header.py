"""Checks that each public header compiles alone as C and C++, documents every function, and names exactly the exports.

    header.py BUILD    BUILD/core holds libredlatch.so and libredlatch.a
SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import List, Set

from pycparser import c_ast, c_parser  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "core" / "include").glob("redlatch*.h"),
                 key=lambda header: (header.name != "redlatch.h", header.name))
MAP = ROOT / "core" / "libredlatch.map"
MARKS = ("/* bindings: begin", "/* bindings: end")
COMPILERS = [
    ["cc", "-x", "c", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"],
    ["c++", "-x", "c++", "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"],
]
# The types that the text between the marks uses, as the bindings know them.
TYPES = ("typedef int int32_t; typedef unsigned uint32_t; "
         "typedef long int64_t; typedef unsigned long uint64_t, size_t;\n")


def surface() -> str:
    """Returns the text from which the bindings are generated, with its comments."""
    texts = [header.read_text(encoding="utf-8") for header in HEADERS]
    return "".join(text[text.index(MARKS[0]):text.index(MARKS[1])] for text in texts)


def declared() -> List[c_ast.Decl]:
    """Returns the header's functions, by a parser of standard C only."""
    done = subprocess.run(["cc", "-E", "-P", "-DREDLATCH_API=", "-x", "c", "-"], input=surface(), text=True,
                          stdout=subprocess.PIPE, check=True)
    tree = c_parser.CParser().parse(TYPES + done.stdout)
    return [node for node in tree.ext if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)]


def names_of_map() -> Set[str]:
    """Returns the names that the version script exports."""
    return set(re.findall(r"^\s+(\w+);$", MAP.read_text(encoding="utf-8"), flags=re.MULTILINE))


def names_of(library: Path) -> Set[str]:
    """Returns the names that a library exports, without the version nodes."""
    flags = ["-D"] if library.suffix == ".so" else []
    done = subprocess.run(["nm", *flags, "--defined-only", "--extern-only", "--format=posix", str(library)], text=True,
                          stdout=subprocess.PIPE, check=True)
    symbols = [line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) > 1]
    return {name.partition("@")[0] for name, kind in symbols if kind != "A"}


def compile_complaints() -> List[str]:
    """Compiles each header alone, as strict C99 and as C++17."""
    complaints = []
    for command in COMPILERS:
        for header in HEADERS:
            done = subprocess.run([*command, str(header)], text=True, stderr=subprocess.PIPE, check=False)
            if done.returncode != 0:
                complaints.append(f"{' '.join(command)} {header}:\n{done.stderr}")
    return complaints


def comment_complaints(functions: Set[str]) -> List[str]:
    """Each function must follow a comment that ends with the version since which it exists."""
    documented = re.findall(r"Since \d+\.\d+\. ?\*/\nREDLATCH_API [^;{]*?\b(redlatch_\w+)\(", surface())
    return [f"{name}: expected a comment right before it that ends with 'Since <version>.'"
            for name in sorted(functions - set(documented))]


def type_complaints(functions: List[c_ast.Decl]) -> List[str]:
    """Only types that every binding supports may be used: no variable arguments, no enumeration, no plain long."""
    complaints = []
    for function in functions:
        for parameter in function.type.args.params:
            if isinstance(parameter, c_ast.EllipsisParam):
                complaints.append(f"{function.name}: takes variable arguments")
                continue
            inner = parameter.type
            while isinstance(inner, (c_ast.PtrDecl, c_ast.ArrayDecl)):
                inner = inner.type
            kind = inner.type
            if isinstance(kind, c_ast.Enum) or (isinstance(kind, c_ast.IdentifierType) and "long" in kind.names):
                complaints.append(f"{function.name}: {parameter.name} is an enumeration or a long; "
                                  "expected int or a type of fixed width")
    return complaints


def main() -> int:
    """Prints every complaint and returns the exit status."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: header.py BUILD")
    core = Path(sys.argv[1]) / "core"
    functions = declared()
    expected = {function.name for function in functions}
    complaints = compile_complaints() + comment_complaints(expected) + type_complaints(functions)
    lists = {"libredlatch.map": names_of_map(), "libredlatch.so": names_of(core / "libredlatch.so"),
             "libredlatch.a": names_of(core / "libredlatch.a")}
    for place, names in lists.items():
        complaints.extend(f"{place}: lacks {name}, which the header declares" for name in sorted(expected - names))
        complaints.extend(f"{place}: has {name}, which the header lacks" for name in sorted(names - expected))
    print("\n".join(complaints) or f"{len(expected)} functions, the same in header, map and libraries")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
