"""Runs the project's own text rules over the tree: layers, the order of calls, names of files, sizes, licence lines and
markers, versions, the locks of Python packages, citations of the wire format and of tests, links between pages, retired
words, the table of recorded runs.

    rules.py [ROOT]        prints every complaint, fails if there is one
    rules.py --selftest    plants one violation of each rule and demands that it is found
SPDX-License-Identifier: Apache-2.0
"""

import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

import basenames
import calls
import citations
import cited_tests
import layers
import links
import marks
import recorded
import requirements
import sizes
import versions
import words

LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
VERSION = '#define REDLATCH_VERSION "1.2.3"\n'
ROCK = ('version = "1.2.3-1"\nsource = {{\n    url = "https://x.y/v{0}/redlatch-lua-{0}.tar.gz",\n'
        '    dir = "redlatch-lua-{0}",\n}}\n')
GOOD = {
    "core/include/redlatch.h": LICENCE + VERSION,
    "core/src/base/list.h": LICENCE,
    "core/src/protocol/engine.c": LICENCE + '#include "list.h"\n#include <string.h>\n#include "scripts_embedded.h"\n',
    "core/src/link/socket.c": LICENCE + '#include <hiredis.h>\n#include "list.h"\n',
    "core/src/client/ORDER": "# 1 arrows may run up, 2 modules may be in one cycle\nlock\nlist\n",
    "core/src/client/lock.c": LICENCE + "#define ENDS free_one\nint lock(int a) { return list(a); }\n",
    "core/src/client/list.c": LICENCE + "int list(int a) {\n    return a;\n}\n/* } lock(1) */\n"
                              "static const struct entry entries[] = {{\"lock()\", lock}};\n",
    "core/src/scripts/fair.lua": "-- " + LICENCE + "-- Queues (wire format 1.2, W-9, and wire\n-- format\n-- 1.10).\n",
    "docs/reference/wire-format.md": "# 1 Keys\n\n## 1.2 Names\n\n## 1.10 Queues\n\nSee section 1.2.\n\n| W-9 | x |\n",
    "docs/index.md": "[names](reference/wire-format.md#12-names), [here](#a-b) [far](https://x.y/z)\n\n# A *b*\n",
    "docs/internals/glossary.md": "| retired | instead | in | except |\n|---|---|---|---|\n"
                                  "| lane | pipeline | core/** | LANES |\n\n"
                                  "| not in prose | instead |\n|---|---|\n| keepers? | background thread |\n",
    "tests/unit/test_list.c": LICENCE + "static void test_x(void) {}\n",
    recorded.PAGE: f"# Proof\n\n{recorded.BEGIN}\n\n{recorded.NONE}\n\n{recorded.END}\n",
    "docs/how-to/tests.md": "`unit/test_list.c::test_x`\n",
    "docs/internals/decisions/one.md": "# One\n",
    "site/mkdocs.yml": "not_in_nav: |\n  /internals/decisions/\nnav:\n  - index.md\n  - how-to/tests.md\n"
                       "  - proof/verification.md\n  - Glossary: internals/glossary.md\n  - reference/wire-format.md\n",
    "pyproject.toml": 'version = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## [1.2.3] - unreleased\n",
    "debian/changelog": "redlatch (1.2.3) unstable; urgency=low\n",
    "lua-rock/redlatch-1.2.3-1.rockspec": ROCK.format("1.2.3"),
    "tests/requirements.in": "# " + LICENCE + "one==1.2  # because\n",
    "tests/requirements.txt": "one==1.2 \\\n    --hash=sha256:00\ntwo==3 ; os_name == 'nt' \\\n    --hash=sha256:01\n",
}
RUN = '{"date": "2026-01-02", "commit": "0123abcd", "command": "./dev x", '
FUZZED = RUN + '"targets": {"uri": {"seconds": 60, "inputs": 1000, "passed": true}}}\n'
MUTATED = RUN + '"areas": {"link": {"noticed": 9, "lived": 1, "equivalent": 0}}}\n'
# (a file, its planted text, a part of the complaint that must come)
PLANTS: List[Tuple[str, str, str]] = [
    ("core/src/base/list.c", LICENCE + '#include "engine.h"\n', "not a header of the base floor"),
    ("core/src/client/lock.c", LICENCE + "#include <hiredis.h>\n", "only core/src/link"),
    ("core/src/protocol/engine.c", LICENCE + "#include <time.h>\n", "protocol floor is pure"),
    ("core/src/link/socket.c", LICENCE + '#include "../base/list.h"\n', "without a folder"),
    ("core/src/link/list.h", LICENCE, "more than one floor"),
    ("core/src/client/last.c", LICENCE, "expected each module of the folder once: last"),
    ("core/src/client/ORDER", "# 0 arrows may run up, 2 modules may be in one cycle\nlock\nlist\n",
     "1 arrows run up, expected at most 0: list to lock (lock)"),
    ("core/src/client/ORDER", "# 1 arrows may run up, 0 modules may be in one cycle\nlock\nlist\n",
     "a cycle of 2 modules, expected at most 0: list lock"),
    ("core/src/client/ORDER", "lock\nlist\n", "its limits, or a line twice"),
    ("tests/unit/engine.c", LICENCE, "engine.c:1: has the name of core/src/protocol/engine.c"),
    ("core/src/base/long.c", LICENCE + "\n" * 600, "601 lines"),
    ("core/src/base/wide.c", LICENCE + "/*" + " " * 117 + "*/\n", "121 columns"),
    ("tests/long.py", "# " + LICENCE + "def run():\n" + "    pass\n" * 70, "run has 71 lines"),
    ("tests/bare.py", "pass\n", "expected a line 'SPDX"),
    ("tests/later.py", "# " + LICENCE + "# TO" + "DO: all of it\n", "not done"),
    ("pyproject.toml", 'version = "1.2.4"\n', "pyproject.toml: says version 1.2.4"),
    ("CHANGELOG.md", "## [1.2.2] - unreleased\n", "the top entry is 1.2.2"),
    ("lua-rock/redlatch-1.2.3-1.rockspec", 'version = "1.2.2-1"\n', "says version 1.2.2-1"),
    ("lua-rock/redlatch-1.2.3-1.rockspec", ROCK.format("1.2.2"), "source.url is https://x.y/v1.2.2/redlatch-lua-1.2.2"),
    ("lua-rock/redlatch-1.2.3-1.rockspec", ROCK.format("1.2.2"), "source.dir is redlatch-lua-1.2.2, expected"),
    ("tests/requirements.in", "# " + LICENCE + "one==1.3\n", "one==1.3 is not in tests/requirements.txt"),
    ("core/src/base/list.c", "/* (wire format 1.3) */\n" + LICENCE, "list.c:1: cites wire format 1.3;"),
    ("core/src/base/list.c", LICENCE + "/* Lists (wire format\n * 1.2, 2.4). */\n", "list.c:2: cites wire format 2.4;"),
    ("core/src/scripts/fair.lua", "-- " + LICENCE + "-- Wire format 2, and W-3.\n", "wire format 2; docs/"),
    ("tests/fair.py", "# " + LICENCE + "# As W-90 says.\n",
     "fair.py:2: cites wire format W-90; docs/reference/wire-format.md has 1, 1.2, 1.10, W-9"),
    ("docs/reference/wire-format.md", "# 1 Keys\n\n## 1.2 Names\n", "fair.lua:2: cites wire format 1.10;"),
    ("docs/reference/wire-format/queues.md", "## 2.1 Queues\n\nAs in section 2.2.\n", "queues.md:3: cites"),
    ("docs/index.md", "[names](reference/wire.md)\n", "index.md:1: the link to reference/wire.md: there is no"),
    ("docs/index.md", "[names](reference/wire-format.md#names)\n", "expected one of the anchors 1-keys, 1"),
    ("docs/index.md", "[up](../..)\n", "leads out of the tree"),
    ("docs/how-to/more.md", "# More\n", "docs/how-to/more.md:1: is not in site/mkdocs.yml"),
    ("docs/index.md", "`unit/test_x.c::test_y`\n", "index.md:1: cites unit/test_x.c::test_y: there is no tests/unit"),
    ("docs/index.md", "`unit/test_list.c::test_y`\n", "test_list.c has no test_y"),
    ("core/src/base/list.c", LICENCE + "/* See docs/lists.md. */\n", "list.c:2: names docs/lists.md, which"),
    ("core/src/base/list.c", LICENCE + "int LANES, *a;\nint b_lane;\n", "list.c:3: b_lane: 'lane' is retired"),
    ("core/src/base/list.c", LICENCE + "/* Of the keeper. */\n", "list.c:2: 'keeper' is no word of the glossary"),
    (recorded.PAGE, "# Proof\n", "verification.md: expected the marks"),
    ("tests/fuzz/recorded/2026-01-02.json", FUZZED, "verification.md: not the table that"),
    ("tests/mutate/recorded/2026-01-02.json", MUTATED, "verification.md: not the table that"),
    ("tests/requirements.txt", "one==1.2\n", "one==1.2: expected name==version with its hashes"),
    ("tests/requirements.txt", "one>=1.2 \\\n    --hash=sha256:00\n", "one>=1.2: expected name==version"),
    ("tests/requirements.txt", "--extra-index-url x\none==1.2 \\\n    --hash=sha256:00\n", "names a place"),
]


def complaints(root: Path) -> List[str]:
    """Returns the complaints of all rules."""
    rules = [layers, calls, basenames, sizes, marks, versions, requirements, citations, cited_tests, links, words,
             recorded]
    return [found for rule in rules for found in rule.check(root)]


def plant(contents: "dict[str, str]") -> List[str]:
    """Returns the complaints about a small tree with these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in contents.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return complaints(root)


def selftest() -> int:
    """Returns how many plants did not get the expected complaint."""
    wrong = len(plant(GOOD))
    if wrong:
        print("\n".join(["the good tree gets complaints:", *plant(GOOD)]))
    for name, text, expected in PLANTS:
        found = plant({**GOOD, name: text})
        if not any(expected in line for line in found):
            wrong += 1
            print(f"{name}: expected a complaint with '{expected}', got {found}")
    print(f"{len(PLANTS) + 1 - wrong} passed, {wrong} failed")
    return wrong


def main() -> int:
    """Returns the exit status."""
    if sys.argv[1:] == ["--selftest"]:
        return 1 if selftest() else 0
    found = complaints(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    print("\n".join(found) if found else "no complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
