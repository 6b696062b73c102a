"""Checks whether a mutant compiles, and whether its machine code or byte code differs from the original's.

An edit that compiles to the same code, or does not compile, is no mutant.
SPDX-License-Identifier: Apache-2.0
"""

import json
import shlex
import subprocess
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Dict, List, Optional, Tuple

from areas import language
from lexer import C, LUA
from worktree import Worktree

NO_CODE, SAME_CODE, DIFFERS = "does not compile", "same code", "differs"


class Comparer:
    """Compiles single files of the copy."""

    def __init__(self, tree: Worktree) -> None:
        self.tree = tree
        self.originals: Dict[str, Optional[bytes]] = {}

    @cache  # noqa: B019 - one comparer lives as long as the program
    def compilers(self) -> Dict[str, List[str]]:
        """Returns the compiler command of each C file, without the planted faults."""
        database = json.loads((self.tree.build / "compile_commands.json").read_text(encoding="utf-8"))
        found: Dict[str, List[str]] = {}
        for entry in database:
            words = shlex.split(entry["command"])
            name = str(Path(entry["file"]).relative_to(self.tree.path))
            if "_with_faults" not in entry["command"] and "-o" in words:
                found.setdefault(name, words)
        return found

    def code(self, path: str, text: str) -> Optional[bytes]:
        """Returns the code that a file compiles to, without line numbers. Returns None if it does not compile."""
        kind = language(Path(path))
        if kind == C:
            return self.object_of(path, text)
        if kind == LUA:
            return self.chunk_of(path, text)
        try:
            return repr(plain(compile(text, path, "exec"))).encode()
        except SyntaxError:
            return None

    def object_of(self, path: str, text: str) -> Optional[bytes]:
        """Returns the object file of a C file. All files are compiled under the same name."""
        words = list(self.compilers()[path])
        scratch = self.tree.home / "scratch.c"
        scratch.write_text(text, encoding="utf-8")
        result = scratch.with_suffix(".o")
        result.unlink(missing_ok=True)
        words[words.index("-o") + 1] = str(result)
        words[words.index("-c") + 1] = str(scratch)
        words += ["-w", "-O2", "-iquote", str((self.tree.path / path).parent)]
        done = subprocess.run(words, cwd=self.tree.build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
        return result.read_bytes() if done.returncode == 0 else None

    def chunk_of(self, path: str, text: str) -> Optional[bytes]:
        """Returns the byte code of a Lua file: scripts by the Lua of Redis, others by the newest Lua."""
        compiler = "luac5.1" if path.startswith("core/") else "luac5.4"
        done = subprocess.run([compiler, "-s", "-o", "-", "-"], input=text.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return done.stdout if done.returncode == 0 else None

    def judge(self, path: str, mutated: str) -> str:
        """Returns whether the file is a mutant, the same code as the original, or does not compile."""
        if path not in self.originals:
            original = (self.tree.path / path).read_text(encoding="utf-8")
            self.originals[path] = self.code(path, original)
            if self.originals[path] is None:
                raise SystemExit(f"{path} does not compile without a mutant")
        code = self.code(path, mutated)
        if code is None:
            return NO_CODE
        return SAME_CODE if code == self.originals[path] else DIFFERS


def plain(code: CodeType) -> Tuple[object, ...]:
    """Returns the parts of a code object that decide what it does, without its position."""
    constants = [plain(part) if isinstance(part, CodeType) else (type(part).__name__, part) for part in code.co_consts]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_argcount, code.co_kwonlyargcount, code.co_flags)
