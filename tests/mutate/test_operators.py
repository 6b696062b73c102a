"""Each operator plants its mistakes in each language, and changes no comments, strings, assertions or types.

SPDX-License-Identifier: Apache-2.0
"""

from pathlib import Path
from typing import List, Set, Tuple

import pytest
from mutants import mutants_of

STATUSES = [["REDLATCH_OK", "REDLATCH_LOST", "REDLATCH_TIMEOUT"]]


def planted(text: str, name: str) -> Set[Tuple[str, str, str]]:
    """Returns all edits of a file: (operator, line before, line after)."""
    mutants = mutants_of(text, Path(name), "x", STATUSES)
    return {(mutant.edit.operator, mutant.before, mutant.after) for mutant in mutants}


def of(operator: str, text: str, name: str) -> List[str]:
    """Returns the lines that one operator makes in a file."""
    return sorted(after for kind, _, after in planted(text, name) if kind == operator)


def in_c(line: str) -> str:
    """Returns a function that contains a line."""
    return f"static int f(struct s *s) {{\n    {line}\n}}\n"


@pytest.mark.parametrize(("line", "operator", "expected"), [
    ("if (a < b) {}", "comparison", ["if (a <= b) {}"]),
    ("if (a == b) {}", "comparison", ["if (a != b) {}"]),
    ("if (a) {}", "condition", ["if (!(a)) {}", "if (1) {}"]),
    ("x = a && b(c, d);", "condition", ["x = a;", "x = b(c, d);"]),
    ("x = f(a || !b);", "condition", ["x = f(!b);", "x = f(a);"]),
    ("for (int i = 0; i < n && !done; i++) {}", "condition",
     ["for (int i = 0; !done; i++) {}", "for (int i = 0; i < n; i++) {}"]),
    ("at = now + 5 * SECOND;", "unit", ["at = now + 5 * MILLISECOND;"]),
    ("at = now / 1000;", "unit", ["at = now / 1;"]),
    ("x = items[0];", "number", ["x = items[1];"]),
    ("char text[20];", "number", []),
    ("at = now + lease;", "time", ["at = now - lease;"]),
    ("x = a + 1;", "arithmetic", ["x = a - 1;"]),
    ("x = -a;", "arithmetic", []),
    ("client_wake(s);", "wake", [";"]),
    ("free(s->text);", "free", [";"]),
    ("arm_operation(s);", "rearm", [";"]),
    ("s->look_at = at;", "rearm", [";"]),
    ("s->used--;", "statement", [";"]),
    ("break;", "statement", [";"]),
    ("return a;", "return", ["return 0;"]),
    ("return 0;", "return", ["return 1;"]),
    ("return true;", "flag", ["return false;"]),
    ("return REDLATCH_LOST;", "status", ["return REDLATCH_TIMEOUT;"]),
    ("case REDLATCH_LOST:", "status", []),
    ('say("nobody holds it");', "message", ['say(" holds it");']),
    ('say("hget");', "message", []),
    ("struct s copy = {0};", "statement", []),
    ("const char *text = f(1);", "statement", []),
    ("/* a < b && free(x); */", "comparison", []),
    ("if (PLANTED(FAULT)) {}", "condition", []),
    ("assert(a < b);", "comparison", []),
])
def test_in_c(line: str, operator: str, expected: List[str]) -> None:
    assert of(operator, in_c(line), "f.c") == expected


def test_order_in_c() -> None:
    text = "void f(void) {\n    a(x);\n    b(x);\n    c(y);\n    if (x) {\n        d(x);\n    }\n}\n"
    assert of("order", text, "f.c") == ["b(x); a(x);"]


def test_order_of_two_frees() -> None:
    """Two frees change places only where one frees a part of the other."""
    text = "void f(struct x *x) {\n    free(x->a);\n    free(x->b);\n    free(x);\n}\n"
    assert of("order", text, "f.c") == ["free(x); free(x->b);"]


def test_types_and_tables_in_c() -> None:
    text = "struct s {\n    int a : 3;\n};\nstatic const int TABLE[] = {1};\n#define LIMIT 5\n"
    assert planted(text, "f.c") == {("number", "static const int TABLE[] = {1};", "static const int TABLE[] = {2};")}


def test_functions_in_c() -> None:
    text = "static int one(void) {\n    return a;\n}\n\nint two(int x) {\n    return x;\n}\n"
    assert [mutant.function for mutant in mutants_of(text, Path("f.c"), "x", [])] == ["one", "two"]


@pytest.mark.parametrize(("text", "operator", "expected"), [
    ("if a == b then\n    x = 1\nend\n", "comparison", ["if a ~= b then"]),
    ("if a then\n    x = y\nend\n", "condition", ["if not (a) then", "if true then"]),
    ("local x = a and b or c\n", "condition", ["local x = a and b", "local x = a or c", "local x = b or c",
                                              "local x = c"]),
    ("redis.call('publish', KEYS[1], '0')\n", "wake", [""]),
    ("redis.call('pexpire', KEYS[1], ARGV[2])\n", "rearm", [""]),
    ("redis.call('hset', KEYS[1],\n    'mode', 'read')\n", "statement", [""]),
    ("x = math.max(a, b)\n", "arithmetic", ["x = math.min(a, b)"]),
    ("return x\n", "return", ["return nil"]),
    ("local function f()\n    return 1\nend\n", "number", ["return 2"]),
    ("if status == core.LOST then\n    y()\nend\n", "status", ["if status == core.TIMEOUT then"]),
    ("-- a == b\nlocal x = 'a == b'\n", "comparison", []),
])
def test_in_lua(text: str, operator: str, expected: List[str]) -> None:
    assert of(operator, text, "f.lua") == expected


def test_blocks_in_lua() -> None:
    text = "function M.f(x)\n    for i = 1, x do\n        g(i)\n    end\n    h(x)\nend\ng(1)\n"
    dropped = [(mutant.function, mutant.before) for mutant in mutants_of(text, Path("f.lua"), "x", [])
               if mutant.edit.operator == "statement"]
    assert dropped == [("M.f", "g(i)"), ("M.f", "h(x)"), ("f", "g(1)")]


@pytest.mark.parametrize(("text", "operator", "expected"), [
    ("if a is None:\n    b()\n", "comparison", ["if a is not None:"]),
    ("x = a and not b\n", "condition", ["x = a", "x = not b"]),
    ("while a:\n    b()\n", "condition", ["while True:", "while not (a):"]),
    ("event.notify()\n", "wake", ["pass"]),
    ("x = y\n", "statement", ["pass"]),
    ("raise E\n", "statement", ["pass"]),
    ("def f() -> None:\n    return g()\n", "return", ["return None"]),
    ("return_value = lib.REDLATCH_LOST\n", "status", ["return_value = lib.REDLATCH_TIMEOUT"]),
    ('"""About a == b and more."""\n', "message", []),
    ("def f(a: Literal[1]) -> None:\n    pass\n", "number", []),
])
def test_in_python(text: str, operator: str, expected: List[str]) -> None:
    assert of(operator, text, "f.py") == expected


def test_methods_in_python() -> None:
    text = "class Lock:\n    def release(self) -> None:\n        self.free = True\n"
    assert {mutant.function for mutant in mutants_of(text, Path("f.py"), "x", [])} == {"Lock.release"}


def test_lines_stay_where_they_are() -> None:
    text = "redis.call('hset', KEYS[1],\n    'mode', 'read')\nreturn 1\n"
    for mutant in mutants_of(text, Path("f.lua"), "x", []):
        assert mutant.edit.apply(text).count("\n") == text.count("\n")
