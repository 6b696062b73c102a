"""Builds and runs the fuzz targets: a fixed time over all of them, two at a time, or one input again.

    fuzz.py [TARGET...] [--seconds N] [--seed S]    N seconds over all targets, or those named; 60 without a number
    fuzz.py TARGET FILE...                          replays inputs
    fuzz.py python|lua --seed S --round R           replays calls of a wrapper
    fuzz.py TARGET FILE --shrink                    makes a smaller input that ends the same way
    fuzz.py TARGET --merge                          adds to the corpus in the tree what inputs found here add to it

The line of a target says how many inputs it ran and how many edges of the code they reached. A finding fails the run
and is kept in build/fuzz/findings. The work corpus in build/fuzz/corpus grows from run to run.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import recorded_run

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "fuzz"
WORK = ROOT / "build" / "fuzz"
FINDINGS = WORK / "findings"
PYTHON = ROOT / "build" / "venv" / "bin" / "python"
SLOTS = 2
INPUT_SECONDS = 25  # an input that takes longer hangs, even on a busy machine
MEMORY_MB = 1024


class Target(NamedTuple):
    """A target of libFuzzer, with its share of the time and the maximum size of its inputs."""

    name: str
    share: float
    input_max: int


TARGETS = [
    Target("engine", 4, 2000),
    Target("uri", 1, 5000),
    Target("replies", 1, 5000),
    Target("greeting", 1, 5000),
    Target("sentinel", 1, 5000),
    Target("topology", 1, 5000),
    Target("report", 1, 2000),
    Target("names", 1, 2000),
    Target("options", 1, 500),
]


# Calls of the wrappers, built with gcc's sanitizers: a share of the time for each.
WRAPPERS = {"python": 1.0, "lua": 1.0}
LUAS = ["5.1", "5.4"]
ADDRESS = ROOT / "build" / "address"


class Outcome(NamedTuple):
    """The outcome of one target: its time, the number of its inputs or calls, and the text to print."""

    good: bool
    text: str
    seconds: float
    inputs: int


def build(folder: Path, configuration: List[str], targets: List[str]) -> None:
    """Configures and builds targets in a folder of their own."""
    WORK.mkdir(parents=True, exist_ok=True)
    log = WORK / "build.log"
    commands = [["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *configuration],
                ["cmake", "--build", str(folder), "--parallel", "2", "--target", *targets]]
    with log.open("w", encoding="utf-8") as out:
        for command in commands:
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
                out.flush()
                raise SystemExit(log.read_text(encoding="utf-8", errors="replace") + "the build failed")


def configure() -> None:
    """Builds all targets with clang, incrementally."""
    compiler = next((name for name in ("clang", *(f"clang-{number}" for number in range(30, 13, -1)))
                     if shutil.which(name)), None)
    if compiler is None:
        raise SystemExit("clang is not installed")
    build(WORK, [f"-DCMAKE_C_COMPILER={compiler}", "-DREDLATCH_FUZZ=ON", "-DREDLATCH_BUILD_TESTS=ON",
                 "-DREDLATCH_SANITIZE=address,undefined"], ["fuzz_targets"])


def configure_wrappers() -> None:
    """Builds the wrappers' modules, as the stage `address` builds them."""
    configuration = ["-DREDLATCH_WERROR=ON", "-DREDLATCH_BUILD_TESTS=ON", "-DREDLATCH_SANITIZE=address,undefined",
                     "-DREDLATCH_LUA=lua5.1;lua5.4", "-DREDLATCH_PYTHON=ON", f"-DPython_EXECUTABLE={PYTHON}"]
    build(ADDRESS, configuration, ["redlatch_python", "redlatch_python_package", "redlatch_lua"])


def program(target: Target) -> str:
    """Returns the path of a target's program."""
    return str(WORK / "tests" / "fuzz" / f"fuzz_{target.name}")


def environment() -> Dict[str, str]:
    """A malloc of a huge size returns NULL, which the code must handle. A finding ends the program."""
    return {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


def command_of(target: Target) -> List[str]:
    """Returns the program with the options of every run."""
    words = [program(target), f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}",
             f"-max_len={target.input_max}", f"-artifact_prefix={FINDINGS}/{target.name}-", "-report_slow_units=60"]
    dictionary = HERE / "dictionaries" / f"{target.name}.dict"
    return [*words, f"-dict={dictionary}"] if dictionary.exists() else words


def folders(target: Target) -> List[str]:
    """Returns the work corpus, which is written to, and the corpus in the tree."""
    work = WORK / "corpus" / target.name
    work.mkdir(parents=True, exist_ok=True)
    return [str(work), str(HERE / "corpus" / target.name)]


def number_in(log: str, pattern: str) -> int:
    """Returns the last number that a pattern finds, or 0."""
    found = re.findall(pattern, log, re.MULTILINE)
    return int(found[-1]) if found else 0


def judged(target: Target, log: str, status: int, seconds: float) -> Outcome:
    """Returns the outcome of a target, with its line and its findings."""
    inputs = number_in(log, r"number_of_executed_units: ([0-9]+)")
    line = (f"{target.name:<10} {seconds:6.1f} s  {inputs:>9} executions"
            f"  {number_in(log, r' cov: ([0-9]+)'):>5} of {number_in(log, r'([0-9]+) inline 8-bit counters'):>5} edges")
    if status == 0 and inputs > 0:
        return Outcome(True, line, seconds, inputs)
    if status == 0:
        line += "\nended before its time, without a finding"
    kept = re.findall(r"Test unit written to (\S+)", log)
    telling = r"does not hold|runtime error|Assertion|ERROR: |SUMMARY: |^ *#[0-9]+ .*/(core|tests/fuzz)/.*\.c:"
    reported = [text for text in log.splitlines() if re.search(telling, text)]
    again = [f"replay it with: ./dev fuzz {target.name} {os.path.relpath(path, ROOT)}" for path in kept]
    lines = [line, *reported[:12], *again, f"(the whole log: build/fuzz/{target.name}.log)"]
    return Outcome(False, "\n".join(lines), seconds, inputs)


def fuzz(target: Target, seconds: int, seed: int) -> Outcome:
    """Runs a target for its time."""
    words = [*command_of(target), f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1",
             *folders(target)]
    started = time.monotonic()
    path = WORK / f"{target.name}.log"
    with path.open("w", encoding="utf-8") as out:
        status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
                                env=environment()).returncode
    log = path.read_text(encoding="utf-8", errors="replace")
    return judged(target, log, status, time.monotonic() - started)


def wrapper_environment(lua: str) -> Dict[str, str]:
    """Returns the environment of the interpreters: the modules of that build and, preloaded, the sanitizers'
    libraries."""
    libraries = [subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True,
                                check=True).stdout.strip() for name in ("libasan.so", "libubsan.so")]
    rock = ROOT / "lua-rock"
    return {"LD_PRELOAD": " ".join(libraries), "PYTHONPATH": str(ADDRESS / "python"), "PYTHONMALLOC": "malloc",
            # Interpreters free some memory only at the end of the process.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "LUA_INIT": "",
            "LUA_PATH": f"{rock}/?.lua;{rock}/?/init.lua;;", "LUA_CPATH": f"{ADDRESS}/lua/lua{lua}/?.so;;"}


def call_wrapper(wrapper: str, lua: str, seconds: float, seed: int, number: Optional[int]) -> Tuple[int, str]:
    """Runs the program that makes the calls, on a private server. Returns its exit status and its output."""
    interpreter = f"lua{lua}" if wrapper == "lua" else str(PYTHON)
    words = [interpreter, str(HERE / ("lua_calls.lua" if wrapper == "lua" else "python_calls.py"))]
    variables = [f"{name}={value}" for name, value in wrapper_environment(lua).items()]
    rest = ["SOCKET", str(seconds), str(seed), *([] if number is None else [str(number)])]
    done = subprocess.run([str(PYTHON), str(ROOT / "tests" / "with_redis.py"), "env", *variables, *words, *rest],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    return done.returncode, done.stdout


def fuzz_wrapper(wrapper: str, seconds: float, seed: int, number: Optional[int]) -> Outcome:
    """Runs a wrapper for its time; in Lua, each version for its part."""
    luas = LUAS if wrapper == "lua" else LUAS[:1]
    runs = [call_wrapper(wrapper, lua, seconds / len(luas), seed, number) for lua in luas]
    text = "".join(reported for _, reported in runs)
    (WORK / f"{wrapper}.log").write_text(text, encoding="utf-8")
    calls = sum(int(found) for found in re.findall(r"^([0-9]+) calls in", text, re.MULTILINE))
    line = f"{wrapper:<10} {seconds:6.1f} s  {calls:>9} calls"
    good = all(status == 0 for status, _ in runs)
    return Outcome(good, line if good else "\n".join([line, *text.splitlines()[-40:]]), seconds, calls)


def fuzz_all(targets: List[Target], wrappers: List[str], options: argparse.Namespace) -> int:
    """Runs targets and wrappers, and returns the exit status."""
    seed = options.seed if options.seed is not None else int(time.time()) % 1000000
    if targets:
        configure()
    if wrappers:
        configure_wrappers()
    FINDINGS.mkdir(parents=True, exist_ok=True)
    shares = sum(target.share for target in targets) + sum(WRAPPERS[wrapper] for wrapper in wrappers)
    slots = min(SLOTS, len(targets) + len(wrappers))
    print(f"seed {seed}", flush=True)

    def part(share: float) -> int:
        return max(1, int(options.seconds * slots * share / shares))

    def run(what: Union[Target, str]) -> Outcome:
        outcome = (fuzz_wrapper(what, part(WRAPPERS[what]), seed, options.round) if isinstance(what, str)
                   else fuzz(what, part(what.share), seed))
        print(outcome.text, flush=True)
        return outcome

    # The longest run first.
    chosen: List[Union[Target, str]] = [*sorted(targets, key=lambda target: -target.share), *wrappers]
    with ThreadPoolExecutor(slots) as pool:
        outcomes = list(pool.map(run, chosen))
    recorded_run.write(WORK / "run.json", ["./dev", "fuzz", *sys.argv[1:]], recorded(chosen, outcomes))
    failed = sum(not outcome.good for outcome in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def recorded(chosen: List[Union[Target, str]], outcomes: List[Outcome]) -> Dict[str, Dict[str, Dict[str, float]]]:
    """Returns the record of a run, for each target and wrapper."""
    names = [what if isinstance(what, str) else what.name for what in chosen]
    return {"targets": {name: {"seconds": round(outcome.seconds, 1), "inputs": outcome.inputs, "passed": outcome.good}
                        for name, outcome in zip(names, outcomes)}}


def replay(target: Target, files: List[str]) -> int:
    """Runs inputs again and prints their steps."""
    configure()
    return subprocess.run([*command_of(target), *files], check=False,
                          env={**environment(), "REDLATCH_FUZZ_TRACE": "1"}).returncode


def shrink(target: Target, path: str) -> int:
    """Makes an input that ends the program smaller. The result is written next to it."""
    configure()
    smaller = f"{path}.small"
    subprocess.run([*command_of(target), "-minimize_crash=1", "-max_total_time=60", f"-exact_artifact_path={smaller}",
                    path], check=False, env=environment(), stderr=subprocess.DEVNULL)
    print(smaller if os.path.exists(smaller) else f"{path} is as small as it gets")
    return 0


def merge(target: Target) -> int:
    """Adds to the corpus in the tree those inputs of the work corpus that reach new edges."""
    configure()
    work, kept = folders(target)
    words = [*command_of(target), "-set_cover_merge=1", "-use_counters=0", kept, work]  # edges, without counts
    return subprocess.run(words, check=False, env=environment()).returncode


def the_target(name: str) -> Target:
    """Returns a target by its name."""
    found: Optional[Target] = next((target for target in TARGETS if target.name == name), None)
    if found is None:
        raise SystemExit(f"no fuzz target is called '{name}'; expected one of"
                         f" {', '.join([*(target.name for target in TARGETS), *WRAPPERS])}")
    return found


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="./dev fuzz")
    parser.add_argument("words", nargs="*", metavar="TARGET or FILE")
    parser.add_argument("--seconds", type=int, default=60, help="over all targets; 60 without it")
    parser.add_argument("--seed", type=int, help="of what is invented; without it, one of the clock")
    parser.add_argument("--round", type=int, help="of python or lua: this round alone")
    parser.add_argument("--shrink", action="store_true", help="make an input that fails smaller")
    parser.add_argument("--merge", action="store_true", help="add to the corpus in the tree")
    options = parser.parse_args()
    wrappers = [word for word in options.words if word in WRAPPERS]
    files = [word for word in options.words if word not in wrappers and os.path.exists(word)]
    targets = [the_target(word) for word in options.words if word not in files and word not in wrappers]
    if (files or options.merge or options.shrink) and len(targets) != 1:
        parser.error("expected the name of one target and then files")
    if options.merge:
        return merge(targets[0])
    if options.shrink:
        return shrink(targets[0], files[0])
    if files:
        return replay(targets[0], files)
    everything = not targets and not wrappers
    return fuzz_all(TARGETS if everything else targets, list(WRAPPERS) if everything else wrappers, options)


if __name__ == "__main__":
    sys.exit(main())
