"""Checks the order in which the files of a folder call each other, and counts the calls against it.

A folder with a file ORDER is checked. ORDER lists the folder's modules (`lock` is lock.c with lock.h), callers above
the modules that they call. An arrow leads from a module to another one whose function or table it names in a body or an
initializer. So a function in a table counts for the module that fills the table, also from the rows of a .def file. An
arrow that leads to a line further up in ORDER runs up. Modules that reach each other form a cycle. The head of ORDER
limits how many arrows may run up, and how many modules may be in one cycle.

    calls.py [FOLDER]...    prints the figures, every arrow that runs up, and the cycles
    calls.py --best FOLDER  prints an order with as few arrows up as a search finds
SPDX-License-Identifier: Apache-2.0
"""

import random
import re
import sys
from pathlib import Path
from typing import Dict, List, Set, Tuple

from tree import files

FOLDERS = ["core/src/client", "core/src/protocol"]
ORDER = "ORDER"
# Not code: comments, texts, preprocessor lines. The replacement text of a macro is code.
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
TEXT = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
WORD = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")
HEAD = re.compile(r"(\w+)\s*\([^{}=;]*\)\s*$")          # of a function, before its brace
TABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=\s*$")  # of a table, before its brace
LIMIT = re.compile(r"^# (\d+) arrows may run up, (\d+) modules may be in one cycle$", re.MULTILINE)
# The columns that a module uses from the rows of a .def file.
ROWS = re.compile(r"^#define (\w+)\((.*?)\) (.*)\n#include \"(\w+\.def)\"", re.MULTILINE)
Arrows = Set[Tuple[str, str]]


class Module:
    """The names that a .c file and its header define for others, define as static, and use."""

    def __init__(self) -> None:
        self.defined: Set[str] = set()
        self.private: Set[str] = set()
        self.named: Set[str] = set()

    def read(self, text: str) -> None:
        """Adds a file. The names before a brace at file scope are defined; the names within braces are used."""
        text = TEXT.sub(" 0 ", COMMENT.sub(" ", text))
        for match in DIRECTIVE.finditer(text):
            if match[1] == "define":
                self.named |= set(WORD.findall(match[2]))
        text = DIRECTIVE.sub("", text)
        depth = begin = 0
        for match in re.finditer(r"[{};]", text):
            if match[0] == "{":
                if depth == 0:
                    self.define(text[begin:match.start()])
                    begin = match.end()
                depth += 1
            elif match[0] == "}":
                depth -= 1
            if depth == 0:
                if match[0] == "}":
                    self.named |= set(WORD.findall(text[begin:match.start()]))
                begin = match.end()

    def define(self, head: str) -> None:
        """Notes the name that the text before a brace defines, if it is a function or a table."""
        found = HEAD.search(head) or TABLE.search(head)
        if found:
            private = re.search(r"\bstatic\b(?! inline)", head)
            (self.private if private else self.defined).add(found[1])


def named_in_rows(folder: Path, text: str) -> Set[str]:
    """Returns the names that a module uses through its macros for the rows of .def files."""
    named: Set[str] = set()
    for macro, parameters, body, name in ROWS.findall(text):
        columns = enumerate(re.split(r",\s*", parameters))
        taken = [column for column, parameter in columns if re.search(rf"(?<!#)\b{re.escape(parameter)}\b", body)]
        for row in re.findall(rf"^{macro}\((.*)\)$", (folder / name).read_text(encoding="utf-8"), re.MULTILINE):
            values = re.split(r",\s*", row)
            named |= {values[column] for column in taken}
    return named


def modules_of(folder: Path) -> Dict[str, Module]:
    """Returns the folder's modules by name."""
    modules: Dict[str, Module] = {}
    for path in files(folder, [".c", ".h"]):
        text = path.read_text(encoding="utf-8")
        module = modules.setdefault(path.stem, Module())
        module.read(text)
        module.named |= named_in_rows(folder, text)
    return modules


def arrows_of(modules: Dict[str, Module]) -> Dict[Tuple[str, str], Set[str]]:
    """Returns the arrows between modules, each with the names that it stands for."""
    home = {name: module for module, content in modules.items() for name in content.defined}
    arrows: Dict[Tuple[str, str], Set[str]] = {}
    for module, content in modules.items():
        for name in content.named - content.private:
            if home.get(name, module) != module:
                arrows.setdefault((module, home[name]), set()).add(name)
    return arrows


def running_up(order: List[str], arrows: Arrows) -> List[Tuple[str, str]]:
    """Returns the arrows to a module further up, ordered by the modules that they start from."""
    line = {module: number for number, module in enumerate(order)}
    return sorted((arrow for arrow in arrows if line[arrow[0]] > line[arrow[1]]), key=lambda arrow: line[arrow[0]])


def cycles(modules: List[str], arrows: Arrows) -> List[List[str]]:
    """Returns the sets of modules that reach each other, the largest first."""
    reached: Dict[str, Set[str]] = {}
    for module in modules:
        found: Set[str] = set()
        waiting = [module]
        while waiting:
            here = waiting.pop()
            new = {to for begin, to in arrows if begin == here} - found
            found |= new
            waiting.extend(new)
        reached[module] = found
    sets = {tuple(sorted(other for other in reached[module] if module in reached[other])) for module in modules}
    return sorted((list(group) for group in sets if group), key=lambda group: (-len(group), group))


def improved(order: List[str], arrows: Arrows) -> List[str]:
    """Moves each module to its best line until the order does not improve any more."""
    better = True
    while better:
        better = False
        for module in list(order):
            rest = [other for other in order if other != module]
            costs = [sum((other, module) in arrows for other in rest)]  # at the top: all calls of it run up
            for other in rest:
                costs.append(costs[-1] + ((module, other) in arrows) - ((other, module) in arrows))
            if min(costs) < costs[order.index(module)]:
                there = costs.index(min(costs))
                order, better = [*rest[:there], module, *rest[there:]], True
    return order


def best(modules: List[str], arrows: Arrows, given: List[str]) -> List[str]:
    """Returns an order with few arrows up: the best of the given order and of many random ones, each improved."""
    chance = random.Random(1)
    known = [module for module in given if module in modules]
    found = improved(known + [module for module in modules if module not in known], arrows)
    for _ in range(300):
        order = improved(chance.sample(modules, len(modules)), arrows)
        if len(running_up(order, arrows)) < len(running_up(found, arrows)):
            found = order
    return found


def read_order(text: str) -> List[str]:
    """Returns the lines of ORDER that name modules."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def check(root: Path) -> List[str]:
    """Returns all complaints about the folders that have an ORDER."""
    complaints: List[str] = []
    for name in FOLDERS:
        if not (root / name / ORDER).exists():
            continue
        text = (root / name / ORDER).read_text(encoding="utf-8")
        order, limit = read_order(text), LIMIT.search(text)
        modules = modules_of(root / name)
        if limit is None or sorted(order) != sorted(modules):
            complaints.extend(f"{name}/{ORDER}: expected each module of the folder once: {module}"
                              for module in sorted(set(order) ^ set(modules)) or ["its limits, or a line twice"])
            continue
        arrows = arrows_of(modules)
        up = running_up(order, set(arrows))
        if len(up) > int(limit[1]):
            listed = ", ".join(f"{begin} to {to} ({min(arrows[begin, to])})" for begin, to in up)
            complaints.append(f"{name}/{ORDER}: {len(up)} arrows run up, expected at most {limit[1]}: {listed}")
        complaints.extend(f"{name}/{ORDER}: a cycle of {len(cycle)} modules, expected at most {limit[2]}: "
                          + " ".join(cycle)
                          for cycle in cycles(order, set(arrows)) if len(cycle) > int(limit[2]))
    return complaints


def main() -> None:
    """Prints the figures, or a better order."""
    root = Path(__file__).resolve().parents[2]
    names = [name for name in sys.argv[1:] if name != "--best"] or FOLDERS
    for name in names:
        modules = modules_of(root / name)
        arrows = arrows_of(modules)
        path = root / name / ORDER
        order = read_order(path.read_text(encoding="utf-8")) if path.exists() else []
        if "--best" in sys.argv or sorted(order) != sorted(modules):
            order = best(sorted(modules), set(arrows), order)
        if "--best" in sys.argv:
            print("\n".join(order))
        up = running_up(order, set(arrows))
        print(f"# {name}: {len(modules)} modules, {len(arrows)} arrows, {len(up)} run up")
        for begin, to in up:
            print(f"  {begin} -> {to}: {', '.join(sorted(arrows[begin, to]))}")
        for cycle in cycles(order, set(arrows)):
            print(f"  cycle of {len(cycle)}: {' '.join(cycle)}")


if __name__ == "__main__":
    main()
