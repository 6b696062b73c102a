"""Tests of the code around the operators: the draw, keys, records, equivalent mutants, the copy.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import List, Optional, cast

import layer
import pytest
from areas import AREAS, OF_OTHER_BUILDS, files
from compare import DIFFERS, NO_CODE, SAME_CODE, Comparer
from coverage_map import RECORDER
from draw import order_of, shares
from equivalents import entry_text, parse, read, stale
from layer_pytest import Conformance, EndToEnd, Python
from mutants import Mutant, all_mutants, mutants_of
from mutate import Run, arguments
from processes import Command, Group
from records import EQUIVALENT, LIVED, NOTICED, Record, Records
from report import GOALS, Result, figures
from worktree import Worktree

ONE = "int one(int a) {\n    return a < 1;\n}\n"
TWO = "int two(int a) {\n    step(a);\n    return a == 2;\n}\n"
PATH = Path("core/src/protocol/f.c")
ROOT = Path(__file__).resolve().parents[2]


def test_code_that_moves_keeps_its_keys_and_its_order_in_the_draw() -> None:
    first = list(mutants_of(ONE + TWO, PATH, "protocol", []))
    moved = list(mutants_of("/* more */\n\n" + TWO + ONE.replace("    ", "        "), PATH, "protocol", []))
    assert {mutant.key for mutant in first} == {mutant.key for mutant in moved}
    assert [mutant.key for mutant in order_of("7", first)] == [mutant.key for mutant in order_of("7", moved)]


def test_the_draw_is_of_all_and_of_another_seed_another() -> None:
    some = list(mutants_of(ONE + TWO, PATH, "protocol", []))
    assert sorted(mutant.key for mutant in order_of("7", some)) == sorted(mutant.key for mutant in some)
    assert len({tuple(mutant.key for mutant in order_of(str(seed), some)) for seed in range(20)}) > 1


def test_shares() -> None:
    assert shares(11, ["a", "b", "c"]) == {"a": 4, "b": 4, "c": 3}


@pytest.mark.parametrize("areas, drivers", [
    ("lua", ["(lua5.1- or lua5.4-)", "(lua5.1- or lua5.4-) sanitized"]),
    ("link,python", ["c-", "python-", "python- sanitized"])])
def test_without_a_mutant_only_what_the_areas_need_is_run(tmp_path: Path, areas: str, drivers: List[str]) -> None:
    requested = frozenset(areas.split(","))
    batches = Conformance(Worktree(tmp_path), 2, requested).batches(None)
    assert [batch.commands[0].name for batch in batches] == [f"traces {driver}" for driver in drivers]
    assert not Python(Worktree(tmp_path / "other"), 2, requested).requested - {"python"}


def test_only_tests_of_lua_and_of_the_command_are_left_out_for_python(tmp_path: Path) -> None:
    tree = Worktree(tmp_path)
    (tree.path / "tests").symlink_to(ROOT / "tests")
    known = set(EndToEnd(tree, 2, frozenset({"python"})).files("python"))
    left_out = {path for path in (ROOT / "tests/e2e").glob("test_*.py") if f"tests/e2e/{path.name}" not in known}
    others = ("support.lua_programs import", "support.shell import")
    assert left_out and all(any(word in path.read_text(encoding="utf-8") for word in others) for path in left_out)


def test_the_same_mistake_twice_has_two_keys() -> None:
    mutants = list(mutants_of("int f(int a) {\n    g();\n    g();\n    return a;\n}\n", PATH, "protocol", []))
    assert len({mutant.key for mutant in mutants}) == len(mutants)


def test_records_are_resumed_and_survivors_are_run_again(tmp_path: Path) -> None:
    records = Records(tmp_path / "records")
    records.add(Record("a", "unit", "test_a", [], "before"))
    records.add(Record("b", "", "", ["unit"], "before"))
    with records.path.open("a", encoding="utf-8") as out:
        out.write('{"key": "c", "lay')
    resumed = Records(tmp_path / "records")
    assert resumed.get("a", "after").verdict(["unit"], "after") == NOTICED
    assert resumed.get("b", "before").verdict(["unit"], "before") == LIVED
    assert resumed.get("b", "before").verdict(["unit", "simulation"], "before") is None
    assert resumed.get("b", "after").verdict(["unit"], "after") is None
    assert resumed.get("a", "before").verdict(["simulation"], "before") is None


def test_the_cost_is_that_of_mutants_that_were_run() -> None:
    mutant = next(mutants_of(ONE, PATH, "protocol", []))
    results = [Result(mutant, NOTICED, "unit", "a", 10.0), Result(mutant, LIVED, "", "", 30.0),
               Result(mutant, NOTICED, "unit", "a")]
    assert [row.split()[-2:] for row in figures(results).splitlines()[1:]] == [["20", "s"]] * 2


def results_of(area: str, noticed: int, lived: int, layer_name: str = "e2e") -> List[Result]:
    mutant = next(mutants_of(ONE, PATH, area, []))
    return [*[Result(mutant, NOTICED, layer_name, "a")] * noticed, *[Result(mutant, LIVED, "", "")] * lived,
            Result(mutant, EQUIVALENT, "", "")]


@pytest.mark.parametrize("area, goal", [*[(area, 95) for area in ("protocol", "link", "scripts")],
                                        *[(area, 90) for area in ("client", "python", "lua", "command")]])
def test_each_area_has_its_goal(area: str, goal: int) -> None:
    judged = [next(filter(None, (each.reached(results_of(area, noticed, 100 - noticed, "unit")) for each in GOALS)))
              for noticed in (goal, goal - 1)]
    assert judged[0] == (True, f"reached  {area}: {goal}.0 % noticed, goal {goal} %")
    assert judged[1] == (False, f"missed   {area}: {goal - 1}.0 % noticed, goal {goal} %")


def test_the_quick_layers_have_a_goal_of_their_own() -> None:
    (quick,) = [goal for goal in GOALS if goal.layers]
    fast = results_of("protocol", 17, 0, "simulation") + results_of("scripts", 0, 3)
    assert quick.reached(fast) == (True,
                                   "reached  protocol and scripts by unit and simulation: 85.0 % noticed, goal 85 %")
    slow = results_of("protocol", 16, 0, "unit") + results_of("scripts", 4, 0, "e2e")
    assert quick.reached(slow) == (False,
                                   "missed   protocol and scripts by unit and simulation: 80.0 % noticed, goal 85 %")
    assert quick.reached(results_of("client", 1, 9)) is None


def test_a_final_run_prints_its_goals_and_fails_when_one_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    def goals() -> List[str]:
        return [" ".join(line.split()[:2]) for line in capsys.readouterr().out.splitlines()]

    options = arguments([])
    run = cast(Run, SimpleNamespace(options=options))
    good, bad = results_of("link", 19, 1) + results_of("lua", 9, 1), results_of("link", 9, 1) + results_of("lua", 9, 1)
    assert Run.status(run, bad) == 0 and capsys.readouterr().out == ""
    options.final = True
    assert Run.status(run, good) == 0
    assert goals() == ["reached link:", "reached lua:"]
    assert Run.status(run, bad) == 1
    assert goals() == ["missed link:", "reached lua:"]


def test_packages_with_classes_of_the_same_names_have_keys_of_their_own() -> None:
    text = "class Lock:\n    def release(self):\n        self._end()\n"
    paths = ["python/redlatch/locks.py", "python/redlatch/aio/locks.py"]
    keys = [mutant.key for path in paths for mutant in mutants_of(text, Path(path), "python", [])]
    assert len(set(keys)) == len(keys) == 2
    assert {"python/redlatch/aio/locks.py", "python/redlatch/compat/redis_py.py"} <= {
        str(path) for path in files(ROOT, "python", [])}


def test_files_of_other_builds_are_left_out() -> None:
    drawn = {str(path) for area in AREAS for path in files(ROOT, area, [])}
    assert not OF_OTHER_BUILDS & drawn
    assert all((ROOT / path).is_file() for path in OF_OTHER_BUILDS)


def test_all_other_c_files_are_compiled() -> None:
    database = json.loads((ROOT / "build" / "compile_commands.json").read_text(encoding="utf-8"))
    places = [Path(entry["file"]) for entry in database]
    compiled = {str(place.relative_to(ROOT)) for place in places if place.is_relative_to(ROOT)}
    drawn = {str(path) for area in AREAS for path in files(ROOT, area, []) if path.suffix == ".c"}
    assert drawn <= compiled, sorted(drawn - compiled)


def test_equivalent_entries() -> None:
    mutant = next(mutants_of(ONE, PATH, "protocol", []))
    entry = parse(entry_text(mutant) + "nothing asks\nbecause: for it")
    assert (entry.key, entry.reason) == (mutant.key, "nothing asks for it")
    assert stale({entry.key: entry}, [mutant]) == []
    assert stale({entry.key: entry}, mutants_of(TWO, PATH, "protocol", [])) == [entry]
    with pytest.raises(SystemExit, match="expected the lines"):
        parse(entry_text(mutant))


def test_every_equivalent_mutant_is_still_one() -> None:
    root = Path(__file__).resolve().parents[2]
    everything = [mutant for some in all_mutants(root, [], []).values() for mutant in some]
    assert stale(read(), everything) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two files."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "one.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "two.py").write_text("y = 2\n", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("/build/\n", encoding="utf-8")
    return tmp_path


def test_the_copy_is_mended(project: Path) -> None:
    tree = Worktree(project)
    tree.update()
    with pytest.raises(KeyboardInterrupt), tree.planted("one.py", "x = 2\n"):
        raise KeyboardInterrupt
    assert (tree.path / "one.py").read_text(encoding="utf-8") == "x = 1\n"
    (tree.path / "one.py").write_text("x = 3\n", encoding="utf-8")  # as a killed run leaves it
    (project / "two.py").unlink()
    before = tree.digest
    tree.update()
    assert (tree.path / "one.py").read_text(encoding="utf-8") == "x = 1\n"
    assert not (tree.path / "two.py").exists()
    assert tree.digest != before
    assert (project / "one.py").read_text(encoding="utf-8") == "x = 1\n"
    with pytest.raises(SystemExit, match="another run"):
        Worktree(project)


def test_what_was_built_with_a_mutant_is_built_again(project: Path) -> None:
    tree = Worktree(project)
    tree.update()
    with tree.planted("one.py", "x = 2\n"):
        assert tree.to_build("build", ["python"]) == ["python"]
        assert tree.to_build("build", ["python"]) == ["python"]
    with tree.planted("two.py", "y = 3\n"):
        assert tree.to_build("build/address", ["unit"]) == ["unit"]
        assert tree.to_build("build", ["lua"]) == ["lua", "python"]
    assert tree.to_build("build", ["lua"]) == ["lua", "python"]
    assert tree.to_build("build", ["lua"]) == ["lua"]


def test_what_compiles_to_the_same_is_no_mutant(project: Path) -> None:
    tree = Worktree(project)
    tree.update()
    comparer = Comparer(tree)
    assert comparer.judge("one.py", "x  =  1\n") == SAME_CODE
    assert comparer.judge("one.py", "x = 2\n") == DIFFERS
    assert comparer.judge("one.py", "x = \n") == NO_CODE


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code does not know its whole name")
def test_functions_of_the_package_are_recorded_also_of_other_threads(tmp_path: Path) -> None:
    package, names = tmp_path / "redlatch", tmp_path / "names"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "some.py").write_text("class A:\n    def f(self):\n        def g(): pass\n        g()\n"
                                     "    def h(self): pass\n    def never(self): pass\n", encoding="utf-8")
    program = ("from threading import Thread; from redlatch.some import A; A().f();"
               " thread = Thread(target=A().h); thread.start(); thread.join()")
    subprocess.run([sys.executable, "-c", program], check=True, env={
        "PYTHONPATH": f"{RECORDER}:{tmp_path}", "REDLATCH_FUNCTIONS": str(names)})
    found = names.read_text(encoding="utf-8").split()
    assert {"A.f", "A.f.g", "A.h"} <= set(found)
    assert not any(name.endswith("never") for name in found)


def test_the_first_failure_and_a_hanging_command_end_all(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    failing = [sys.executable, "-c", "print('no'); raise SystemExit(1)"]
    began = time.monotonic()
    failure = Group(tmp_path, {}).run([Command("sleeps", sleeper), Command("fails", failing)], 2)
    assert failure and (failure.name, failure.output.strip()) == ("fails", "no")
    hanging = Group(tmp_path, {}).run([Command("sleeps", sleeper, 0.5)], 1)
    assert hanging and hanging.name == "sleeps hangs"
    assert Group(tmp_path, {}).run([Command("passes", [sys.executable, "-c", ""])], 1) is None
    assert time.monotonic() - began < 300


class Sleeping(layer.Layer):
    """Runs a command that takes a second."""

    name = "sleeping"
    areas = frozenset({"protocol"})

    def batches(self, mutant: Optional[Mutant]) -> List[layer.Batch]:
        return [layer.Batch("build", [], [Command("sleeps", [sys.executable, "-c", "import time; time.sleep(1)"])])]


def test_an_earlier_time_limits_mutants_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "SLOWEST_START", 0.1)
    sleeping = Sleeping(Worktree(tmp_path), 1, frozenset({"protocol"}))
    sleeping.usual = {"sleeps": 0.0}
    failure = sleeping.ask(next(mutants_of(ONE, PATH, "protocol", [])))
    assert failure and failure.name == "sleeps hangs"
    assert sleeping.ask(None) is None
