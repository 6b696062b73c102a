"""Runs everything of `./dev test`, stage by stage. Stages that do not disturb each other run at the same time.

    stages.py [STAGE...]    the stages that CI runs, or those named and what they need; --list names them
    stages.py --all         also the expensive stages, such as other servers

Each stage has a log in build/logs, which is shown when the stage fails. The line of a stage says how long it took and
how much processor time it used. The last line adds up the tests of all stages; a stage that counts no tests counts as
one.

Most tests wait more than they compute. Stages that only compute, and in which no clock is judged, run one at a time at
a low priority, while an exclusive stage runs or when no other stage is ready.
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, NamedTuple, Set, Tuple

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "logs"
SLOTS = 2
SHOWN_LINES = 25
# Lines that name a failed test or its reason, in the logs of pytest, of the project's own runners and of compilers.
FAILURE = re.compile(r"FAILED |ERROR |E  |FAIL:|.*\berror: |.*[Aa]ssert.*failed|.*ERROR: \w+Sanitizer|.*violation")
# Some schedulers share the machine out among sessions first, so the session's priority is lowered, too.
YIELD = "renice -n 10 $$ >/dev/null && { echo 10 >/proc/$$/autogroup || true; } 2>/dev/null"

MUTANTS_NOTICED = 85  # per cent

PYTHON = "build/venv/bin/python"
WITH_PYTHON = f"-DREDLATCH_PYTHON=ON -DPython_EXECUTABLE=$PWD/{PYTHON}"
PYTEST = f"{PYTHON} -m pytest --timeout=120 --color=no -q"
# The conformance traces mostly wait, so several workers share a processor.
CONFORMANCE = f"{PYTEST} -n 4 --dist worksteal tests/conformance"
# The traces with the C driver of the build that REDLATCH_BUILD names.
C_TRACES = f"{CONFORMANCE}/test_traces.py -k 'test_trace and c-'"
# The traces with the drivers that run under a sanitizer: the wrappers, and the C core in its own program.
WATCHED_WRAPPERS = "test_trace and (python- or lua5.1- or lua5.4-)"
WATCHED_TRACES = f"{CONFORMANCE}/test_traces.py -k 'test_trace and c- or {WATCHED_WRAPPERS}'"
# The tests that reach system calls: the unit tests, and the scenes without the one that measures memory for half a
# minute.
SYSTEM_TESTS = sorted(path.stem for folder, names in (("unit", "test_*.c"), ("e2e/programs", "scenes_*.c"))
                      for path in (ROOT / "tests" / folder).glob(names) if path.stem != "scenes_resources")
# Locks over several servers are simulated with the client layer and the layers below it.
SIMULATED_SERVERS = "for kind in redlock multi; do {0}/tests/redlatch_sim --kind $kind --seeds {1} || exit 1; done"
# The libraries that an interpreter without sanitizers has to load before a module with sanitizers.
ADDRESS_LIBRARIES = "$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"
# Some compilers' ThreadSanitizer does not work with much address randomisation.
FIXED_ADDRESSES = "$(setarch -R true 2>/dev/null && echo setarch -R)"
# A deleted source leaves its notes in the build folder. These are ignored.
GCOVR = (f"{PYTHON} -m gcovr --root . --filter core/src/ --merge-mode-functions=separate --print-summary"
         " --gcov-ignore-errors=source_not_found --gcov-ignore-errors=no_working_dir_found --fail-under-line 94")


def variant(name: str, definitions: str, targets: str) -> str:
    """Returns the command that configures and builds some targets in a folder of their own."""
    return (f"cmake -S . -B build/{name} -G Ninja -DREDLATCH_WERROR=ON -DREDLATCH_BUILD_TESTS=ON {definitions}"
            f" && cmake --build build/{name} --parallel 2 --target {targets}")


def unit_tests(build: str) -> str:
    """Returns the command that runs the unit tests of a build. Without any test the stage fails."""
    return f"ctest --test-dir {build} --no-tests=error --verbose --parallel 2"


class Stage(NamedTuple):
    """A shell command and the stages that must have passed before. `alone`: no other stage runs beside it but one that
    only computes. `dear`: it runs only with --all, or when it is named."""

    name: str
    command: str
    needs: Tuple[str, ...] = ()
    alone: bool = False
    computes: bool = False
    dear: bool = False


def on_server(name: str) -> Stage:
    """Returns the tests that depend on the server, with a server of another version or make: the traces, the end-to-end
    tests without those of pages, programs and the command, the tests of `redlatch doctor`, and the interop tests."""
    command = (f"export REDLATCH_TEST_SERVER && REDLATCH_TEST_SERVER=$({PYTHON} -m support.other_servers {name})"
               f" && {C_TRACES} && {PYTEST} -n 3 tests/e2e/test_[1-8]*.py tests/e2e/test_94_doctor*.py"
               f" && {PYTHON} -m support.build_peers && {PYTEST} -n 3 tests/interop")
    return Stage(name, command, ("build",), alone=True, dear=True)


def on_topology(name: str) -> Stage:
    """Returns the interop tests with Redisson in another topology, with failovers meanwhile (support/topologies.py)."""
    command = (f"{PYTHON} -m support.build_peers redisson"
               f" && REDLATCH_TEST_TOPOLOGY={name} {PYTEST} -n 3 tests/interop")
    return Stage(f"interop-{name}", command, ("build",), alone=True, dear=True)


def with_redisson(peer: str) -> Stage:
    """Returns the interop tests with another version of Redisson (support/build_peers.py)."""
    command = f"{PYTHON} -m support.build_peers {peer} && REDLATCH_TEST_REDISSON={peer} {PYTEST} -n 3 tests/interop"
    return Stage(f"interop-{peer}", command, ("build",), alone=True, dear=True)


STAGES = [
    Stage("build", "./dev build", alone=True),
    Stage("lint", "./dev lint", ("build",), computes=True),
    Stage("header", f"{PYTHON} tests/lint/header.py build", ("build",)),
    Stage("abi", f"{PYTHON} core/abi/check_abi.py check build/core/libredlatch.so"
                 f" && {PYTHON} core/abi/check_abi.py selftest", ("build",)),
    Stage("install", f"{PYTHON} tests/package/check_install.py build", ("build",)),
    Stage("unit", unit_tests("build"), ("build",)),
    Stage("address", variant("address", "-DREDLATCH_SANITIZE=address,undefined -DREDLATCH_LUA='lua5.1;lua5.4'"
                             f" {WITH_PYTHON}",
                             "unit_tests redlatch_sim redlatch_lua redlatch_python redlatch_python_package")
          + " && " + unit_tests("build/address") + " && build/address/tests/redlatch_sim --seeds 50"
          + f" && REDLATCH_BUILD=build/address REDLATCH_PRELOAD=\"{ADDRESS_LIBRARIES}\" {WATCHED_TRACES}", ("build",)),
    # The longer ones go first, so that two run until the end.
    # The same 20 mutants in every run, from areas where the fast tests must notice mutants by themselves.
    Stage("mutate", f"{PYTEST} tests/mutate && {PYTHON} tests/mutate/mutate.py --count 20 --areas protocol,scripts"
                    f" --layers unit,simulation --at-least {MUTANTS_NOTICED}", ("build",)),
    Stage("coverage", variant("coverage", f"-DREDLATCH_COVERAGE=ON {WITH_PYTHON}",
                              "unit_tests redlatch_sim redlatch_python redlatch_python_package")
          + " && find build/coverage -name '*.gcda' -delete"
          + " && build/coverage/tests/redlatch_sim --seeds 100"
          + f" && {unit_tests('build/coverage')} --exclude-regex '^(scenes_resources|test_script_cases)$'"
          # End-to-end tests only of what no other test covers. All of them would add a hundredth of the lines, and take
          # five times as long as the whole stage.
          + f" && PYTHONPATH=build/coverage/python {PYTEST} -n 3 tests/python tests/e2e/test_87_tls*.py"
          " tests/e2e/test_87_cred*.py tests/e2e/test_89_*.py"
          " -k 'not lua and not command'"
          + f" && REDLATCH_BUILD=build/coverage {C_TRACES}"
          + f" && {GCOVR} build/coverage", ("build",)),
    Stage("thread", variant("thread", "-DREDLATCH_SANITIZE=thread", "unit_tests")
          + f" && {FIXED_ADDRESSES} " + unit_tests("build/thread")
          + f" && REDLATCH_BUILD=build/thread {FIXED_ADDRESSES} {C_TRACES}"),
    # Only the system calls of POSIX. Asynchronous calls differ most: the background thread reads their replies.
    Stage("portable", variant("portable-quick", "-DREDLATCH_PORTABLE=ON -DCMAKE_BUILD_TYPE=Debug",
                              " ".join([*SYSTEM_TESTS, "redlatch_sim", "conformance_c"]))
          + f" && {unit_tests('build/portable-quick')} -R '^({'|'.join(SYSTEM_TESTS)})$'"
          + f" && {SIMULATED_SERVERS.format('build/portable-quick', 10)}"
          + f" && REDLATCH_BUILD=build/portable-quick {C_TRACES}"),
    Stage("simulation", f"{PYTHON} tests/sim/run.py seeds", ("build",), computes=True),
    Stage("faults", f"{PYTHON} tests/sim/run.py faults && build/tests/test_schedule --faults", ("build",),
          computes=True),
    # `inspect` is not tested here: it writes nothing, and pages of the model's keys differ from those of Redis.
    Stage("model", f"{PYTHON} tests/with_redis.py build/tests/model_check SOCKET 200000 1"
                   " $(ls build/scripts/*.lua | grep -v /inspect)", ("build",)),
    Stage("python", f"{PYTEST} tests/python", ("build",)),
    # With the usual build: by C, and by the drivers that play none under a sanitizer.
    Stage("conformance", f"{CONFORMANCE} -k 'not ({WATCHED_WRAPPERS})'", ("build",)),
    Stage("leaks", f"{PYTEST} tests/e2e/leaks_of_lua.py", ("build",)),
    Stage("command", variant("address", "-DREDLATCH_SANITIZE=address,undefined", "redlatch_cli")
          # Under a sanitizer, tests that measure or repeat a thousand times show nothing more; they are in e2e.
          + f" && REDLATCH_TEST_COMMAND=$PWD/build/address/bin/redlatch {PYTEST} -n 3"
          + " tests/e2e/test_9[2-4]_*.py tests/e2e/test_95_completions.py"
          + " -k 'not slowest_command and not fifty_processes'"
          # The time of a start is printed, not judged.
          + f" && {PYTHON} tests/bench/run.py --only S1 --quick", ("address",)),
    Stage("lua", f"REDLATCH_TEST_LUA_BUILD=build/address REDLATCH_TEST_LUA_PRELOAD=\"{ADDRESS_LIBRARIES}\""
                 f" {PYTEST} tests/e2e/test_95_lua*.py -n 3", ("address",)),
    # Always the same seed, so that a new finding is due to the code.
    Stage("fuzz", f"{PYTHON} tests/fuzz/fuzz.py --seed 1", ("build", "address"), alone=True),
    Stage("e2e", f"{PYTEST} tests/e2e -n 6 --dist worksteal", ("build",), alone=True),
    # Builds the benchmarks' peer as well, to show that it still builds.
    Stage("interop", f"{PYTHON} -m support.build_peers && {PYTHON} -m support.build_peers redisson-bench"
                     f" && {PYTEST} tests/interop -n 4", ("build",), alone=True),
    Stage("soak", f"{PYTHON} -m support.build_peers redisson && {PYTEST} tests/soak"
                  f" && {PYTHON} tests/soak/run.py --seconds 60"
                  f" && {PYTHON} tests/soak/run.py --topology sentinel --seconds 30 --seed 1"
                  f" && {PYTHON} tests/soak/run.py --topology cluster --seconds 30 --seed 1", ("build",), alone=True),
    Stage("wheel", f"./dev wheel && {PYTHON} tests/package/check_wheel.py dist", ("build",), computes=True),
    Stage("rock", f"./dev rock && {PYTHON} tests/package/check_rock.py dist", ("build",), computes=True),
    # TLS and failovers with the build of the address stage. The quarantine of freed memory is small, because the test
    # that measures would take it for a leak.
    Stage("network", f"LD_PRELOAD=\"{ADDRESS_LIBRARIES}\" ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1"
                     f" PYTHONPATH=build/address/python {PYTEST} -n 2 tests/e2e/test_87_tls*.py"
                     " tests/e2e/test_87_cred*.py tests/e2e/test_89_*.py -k 'not lua and not command'",
          ("address",), alone=True, dear=True),
    # Checks the types of the package with another type checker.
    Stage("pyright", f"{PYTHON} tests/pyright/run.py", ("build",), computes=True, dear=True),
    # redis-py's own tests, from its source distribution. They judge how long a wait takes.
    Stage("redis-py", f"{PYTHON} tests/redis_py/run.py", ("build",), alone=True, dear=True),
    # The recipes of examples/python/frameworks with the real frameworks, in an environment of its own.
    Stage("frameworks", f"{PYTHON} tests/frameworks/run.py -n 2", ("build",), alone=True, dear=True),
    # nginx and its Lua module, unpacked from Debian's packages.
    Stage("openresty", f"export REDLATCH_TEST_NGINX && REDLATCH_TEST_NGINX=$({PYTHON} -m support.nginx)"
                       f" && {PYTEST} -n 2 tests/e2e/openresty.py", ("build",), alone=True, dear=True),
    # The documentation as a site, checked in browsers. A link or an anchor that leads nowhere is an error.
    Stage("site", f"./dev docs && {PYTHON} tests/site/run.py", ("build",), alone=True, dear=True),
    # Peers and the proxies of the traces connect without TLS.
    Stage("over-tls", f"export REDLATCH_TEST_TLS=1 && {CONFORMANCE} && {PYTEST} -n 3 tests/e2e/test_84_hostile.py",
          ("build",), alone=True, dear=True),
    Stage("forks", f"REDLATCH_TEST_CHILDREN=200 {PYTEST} tests/e2e/test_70_fork.py -k under_load", ("build",),
          alone=True, dear=True),
    Stage("tasks", f"REDLATCH_AIO_TASKS=10000 REDLATCH_AIO_SECONDS=5 {PYTEST} tests/e2e/test_66_aio_many.py",
          ("build",), alone=True, dear=True),
    Stage("failovers", f"{PYTEST} tests/e2e/failovers.py"
                       f" && {PYTHON} tests/soak/run.py --topology sentinel-unacknowledged --seconds 120 --failovers 20"
                       f" && {PYTHON} tests/soak/run.py --topology sentinel --seconds 120 --failovers 20"
                       f" && {PYTHON} tests/soak/run.py --topology cluster --seconds 400 --failovers 120"
                       f" && {PYTHON} tests/soak/run.py --topology cluster-unacknowledged --seconds 120 --failovers 20",
          ("build",), alone=True, dear=True),
    Stage("cluster", f"REDLATCH_TEST_CLUSTER=1 {CONFORMANCE} && {PYTEST} -n 3 tests/e2e/cluster_moves.py"
                     " tests/e2e/cluster_halves.py",
          ("build",), alone=True, dear=True),
    # Needs root. Each artefact is tried in an environment without the project.
    Stage("packages", f"./dev release && {PYTHON} tests/package/check_release.py dist"
                      f" && {PYTHON} tests/package/try_release.py dist",
          ("build", "wheel", "rock"), alone=True, dear=True),
    # All tests with only the system calls of POSIX, as on macOS. One test is left out: the background thread may have
    # read a reply before the call is cancelled.
    Stage("portable-all", variant("portable", f"-DREDLATCH_PORTABLE=ON -DREDLATCH_LUA='lua5.1;lua5.2;lua5.3;lua5.4'"
                                  f" {WITH_PYTHON}", "unit_tests redlatch_sim redlatch_lua redlatch_cli redlatch_python"
                                  " redlatch_python_package")
          + " && " + unit_tests("build/portable") + " && build/portable/tests/redlatch_sim --seeds 100"
          + f" && {SIMULATED_SERVERS.format('build/portable', 100)}"
          + " && export REDLATCH_BUILD=build/portable REDLATCH_TEST_LUA_BUILD=build/portable"
          " PYTHONPATH=build/portable/python REDLATCH_TEST_COMMAND=$PWD/build/portable/bin/redlatch"
          + f" && {CONFORMANCE} && {PYTEST} tests/e2e -n 6 --dist worksteal"
          " -k 'not (test_95_lua_counts and options)'", ("build",), alone=True, dear=True),
    Stage("portable-thread", variant("portable-thread", "-DREDLATCH_PORTABLE=ON -DREDLATCH_SANITIZE=thread",
                                     "unit_tests")
          + f" && {FIXED_ADDRESSES} " + unit_tests("build/portable-thread")
          + f" && REDLATCH_BUILD=build/portable-thread {FIXED_ADDRESSES} {C_TRACES}", dear=True),
    *[Stage(name, f"{PYTHON} tests/platforms/cross.py {name}", alone=True, dear=True)
      for name in ("musl", "aarch64", "macos")],
    Stage("without-tls", variant("without-tls", f"-DREDLATCH_TLS=OFF {WITH_PYTHON}",
                                 "unit_tests redlatch_python redlatch_python_package")
          + " && " + unit_tests("build/without-tls")
          + f" && PYTHONPATH=build/without-tls/python {PYTEST} tests/e2e/without_tls.py", alone=True, dear=True),
    *[on_topology(name) for name in ("replicas", "replicated", "sentinel", "cluster", "tls", "replicas-tls",
                                      "replicated-tls", "sentinel-tls", "cluster-tls")],
    with_redisson("redisson-3"),
    *[on_server(name) for name in ("redis-6.0", "redis-6.2", "redis-8.0", "valkey-8.1", "valkey-9.1")],
]


def counts(log: str, good: bool) -> Tuple[int, int]:
    """Returns how many tests passed and failed according to a stage's log. A stage counts as at least one of either."""
    passed = failed = 0
    for line in log.splitlines():
        ours = re.search(r"\b(\d+) passed, (\d+) failed$", line)
        if ours:
            passed, failed = passed + int(ours[1]), failed + int(ours[2])
        elif re.search(r"^\d+ (passed|failed)\b.* in [\d.]+s", line):  # pytest's last line
            for number, what in re.findall(r"(\d+) (passed|failed)\b", line):
                passed, failed = (passed + int(number), failed) if what == "passed" else (passed, failed + int(number))
    if good:
        return max(passed, 1), failed
    return passed, max(failed, 1)


class Seconds(NamedTuple):
    """How long a stage took, and the processor time of its processes. Servers that it left running do not count."""

    passed: float
    computed: float


class Runner:
    """Starts stages when the stages that they need are done, and keeps the totals."""

    def __init__(self, stages: List[Stage]) -> None:
        self.waiting = list(stages)
        self.requested = {stage.name for stage in stages}
        self.good: Set[str] = set()
        self.bad: Set[str] = set()
        self.running: Dict[str, Stage] = {}
        self.processes: Dict[str, subprocess.Popen[bytes]] = {}
        self.passed = 0
        self.failed = 0
        self.changed = threading.Condition()

    def run(self) -> int:
        """Runs all stages and returns the number of failures."""
        with self.changed:
            while self.waiting or self.running:
                stage = self.next_ready()
                if stage is None:
                    self.changed.wait()
                    continue
                self.waiting.remove(stage)
                missing = [need for need in stage.needs if need in self.bad]
                if missing:
                    self.enter(stage, False, Seconds(0.0, 0.0), f"not run: {missing[0]} failed\n")
                    continue
                self.running[stage.name] = stage
                threading.Thread(target=self.run_stage, args=(stage,), daemon=True).start()
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed

    def next_ready(self) -> "Stage | None":
        """Returns the first stage that may start now, or None."""
        resolved = [stage for stage in self.waiting if all(need in self.good | self.bad for need in stage.needs)]
        beside = [stage for stage in self.running.values() if not stage.computes]
        first = next((stage for stage in resolved if not stage.computes), None)
        if any(stage.alone for stage in beside) or (first is None and not beside):
            free = not any(stage.computes for stage in self.running.values())
            return next((stage for stage in resolved if stage.computes and free), None)
        # When the next stage runs alone, no later stage starts before it.
        return None if first is None or len(beside) >= SLOTS or (first.alone and beside) else first

    def run_stage(self, stage: Stage) -> None:
        """Runs one stage, on a thread of its own."""
        started = time.monotonic()
        log = LOGS / f"{stage.name}.log"
        with log.open("w", encoding="utf-8") as out:
            command = f"{YIELD} && {stage.command}" if stage.computes else stage.command
            process = subprocess.Popen(["bash", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            self.processes[stage.name] = process
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        text = log.read_text(encoding="utf-8", errors="replace")
        with self.changed:
            del self.running[stage.name], self.processes[stage.name]
            seconds = Seconds(time.monotonic() - started, used.ru_utime + used.ru_stime)
            self.enter(stage, process.returncode == 0, seconds, text)
            self.changed.notify()

    def stop(self) -> None:
        """Ends the running stages, each with all processes that it has started."""
        for process in list(self.processes.values()):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)

    def enter(self, stage: Stage, good: bool, seconds: Seconds, log: str) -> None:
        """Prints and counts a result."""
        passed, failed = counts(log, good)
        good = good and failed == 0
        (self.good if good else self.bad).add(stage.name)
        self.passed += passed
        self.failed += failed
        print(f"{'ok    ' if good else 'FAILED'} {seconds.passed:7.1f} s  {seconds.computed:7.1f} s of processors"
              f"  {stage.name:<20} {passed} passed, {failed} failed")
        if not good:
            lines = log.splitlines()
            shown = [*[line for line in lines if FAILURE.match(line)][:SHOWN_LINES], "...", *lines[-SHOWN_LINES:]]
            print("\n".join(f"       | {line}" for line in shown))
            print(f"       | (the whole log: build/logs/{stage.name}.log)")
        elif stage.name == "coverage":
            print("\n".join(f"       | {line}" for line in log.splitlines() if re.match(r"(lines|branches): ", line)))
        sys.stdout.flush()


def selected(names: List[str]) -> List[Stage]:
    """Returns the named stages and those they need, in the list's order. Without names, returns those that CI runs."""
    known = {stage.name: stage for stage in STAGES}
    if names == ["--all"]:
        return STAGES
    for name in names:
        if name not in known:
            raise SystemExit(f"no stage is called '{name}'; expected one of {', '.join(known)}")
    wanted = set(names or [stage.name for stage in STAGES if not stage.dear])
    for stage in reversed(STAGES):
        if stage.name in wanted:
            wanted.update(stage.needs)
    return [stage for stage in STAGES if stage.name in wanted]


def main() -> int:
    """Returns the exit status."""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(stage.name for stage in STAGES))
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    runner = Runner(selected(sys.argv[1:]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    try:
        return 1 if runner.run() else 0
    finally:
        runner.stop()


if __name__ == "__main__":
    sys.exit(main())
