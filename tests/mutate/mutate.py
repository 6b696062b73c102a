"""Plants one mistake at a time into a copy of the project and tells which ones no test notices.

    ./dev mutate [--count N] [--seed S] [--files GLOB] [--layers NAMES] [--jobs J]

README.md in this folder says which mistakes are planted, which tests run, and what to do about survivors.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Dict, List, Optional

import coverage_map
import equivalents
import recorded_run
import report
from areas import AREAS
from compare import DIFFERS, Comparer
from draw import order_of, shares
from layer_pytest import Conformance, EndToEnd, Leaks, Python, Scenes
from layer_simulation import Simulation
from layer_unit import Unit
from mutants import Mutant, all_mutants
from records import EQUIVALENT, LIVED, NOTICED, Records
from report import Result
from slot import Slot
from worktree import Worktree

ROOT = Path(__file__).resolve().parents[2]
LAYERS = [Unit, Simulation, Python, Scenes, Conformance, Leaks, EndToEnd]
EQUIVALENT_AT_MOST = 5.0  # per cent, judged in a run of at least MANY mutants
MANY = 100
FEW = 40


def arguments(words: List[str]) -> argparse.Namespace:
    """Parses the options of the command."""
    parser = argparse.ArgumentParser(prog="./dev mutate", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=50, help="how many mutants are drawn (50)")
    parser.add_argument("--seed", default="1", help="decides which are drawn (1)")
    parser.add_argument("--final", action="store_true",
                        help="the seed is the last commit that changed tests, and the goal of each area is judged")
    parser.add_argument("--files", action="append", default=[], metavar="GLOB", help="only of these files")
    parser.add_argument("--areas", default="", help=f"only of these: {','.join(AREAS)}")
    parser.add_argument("--layers", default="", help=f"asks only these: {','.join(layer.name for layer in LAYERS)}")
    parser.add_argument("--jobs", type=int, default=2,
                        help="mutants that are tested at the same time, of fewer than 40 the tests of one (2)")
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="fails when fewer are noticed")
    parser.add_argument("--fresh", action="store_true", help="forgets what earlier runs found")
    parser.add_argument("--map", action="store_true", help="records which end-to-end tests run which functions")
    parser.add_argument("--list", action="store_true", help="shows what would be drawn, and asks nobody")
    options = parser.parse_args(words)
    if options.count < 1 or options.jobs < 1:
        parser.error("--count and --jobs are at least 1")
    for given, known in ((options.areas, list(AREAS)), (options.layers, [layer.name for layer in LAYERS])):
        for name in filter(None, given.split(",")):
            if name not in known:
                parser.error(f"'{name}' is none of {', '.join(known)}")
    if options.final:
        command = ["git", "log", "-1", "--format=%H", "--", "tests", ":(exclude)tests/*/recorded/*"]
        options.seed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return options


class Run:
    """One run: draws mutants, tests them, and records the results."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        wanted = options.layers.split(",") if options.layers else [layer.name for layer in LAYERS]
        kinds = [layer for layer in LAYERS if layer.name in wanted]
        requested = frozenset(options.areas.split(",") if options.areas else AREAS)
        # A second copy has to be built, too. A few mutants are done sooner when one copy has all jobs.
        copies, jobs = (1, options.jobs) if options.count < FEW else (options.jobs, 1)
        self.slots = [Slot(ROOT, number, kinds, requested, jobs) for number in range(1, copies + 1)]
        self.tree = self.slots[0].tree
        self.records = Records(self.tree.home / "records.jsonl")
        self.equivalents = equivalents.read()
        self.comparer = Comparer(self.tree)

    def prepare(self) -> None:
        """Copies the project, and runs every layer once without a mutant."""
        for slot in self.slots:
            slot.tree.update()
        self.slots[0].prepare(self.options.jobs)
        for slot in self.slots[1:]:
            slot.follow(self.slots[0])

    def areas(self) -> List[str]:
        """Returns the areas in which one of the layers can notice a mutant."""
        names = self.options.areas.split(",") if self.options.areas else list(AREAS)
        return [name for name in names if any(name in layer.areas for layer in self.slots[0].layers)]

    def draw(self, mutants: Dict[str, List[Mutant]]) -> List[Mutant]:
        """Draws the mutants of this run. An edit that turns out to be no mutant is replaced by another draw."""
        filled = {area: some for area, some in mutants.items() if some}
        if not filled:
            raise SystemExit("no file fits --files and --areas")
        drawn: List[Mutant] = []
        for area, share in shares(self.options.count, list(filled)).items():
            left = share
            for mutant in order_of(self.options.seed, filled[area]):
                if left == 0:
                    break
                if self.comparer.judge(mutant.path, self.slots[0].mutated(mutant)) == DIFFERS:
                    drawn.append(mutant)
                    left -= 1
        return drawn

    def ask_all(self, drawn: List[Mutant]) -> List[Result]:
        """Returns the results of the mutants. Each slot takes the next mutant when it has finished one."""
        results: Dict[int, Result] = {}
        left = iter(enumerate(drawn))
        lock = threading.Lock()

        def work(slot: Slot) -> None:
            while True:
                with lock:
                    place, mutant = next(left, (None, None))
                if place is None or mutant is None:
                    return
                result = slot.ask(mutant, self.records, self.equivalents)
                with lock:
                    results[place] = result
                    print(report.line(result), flush=True)

        with ThreadPoolExecutor(len(self.slots)) as pool:
            workers = [pool.submit(work, slot) for slot in self.slots]
            try:
                for worker in as_completed(workers):
                    worker.result()
            except BaseException:
                for slot in self.slots:
                    slot.stop()
                raise
        return [results[place] for place in sorted(results)]

    def run(self) -> int:
        """Runs all and returns the exit status."""
        self.prepare()
        mutants = all_mutants(self.tree.path, self.areas(), self.options.files)
        drawn = self.draw(mutants)
        if self.options.list:
            print("\n\n".join(report.change(mutant, self.tree.path) for mutant in drawn))
            return 0
        if self.options.fresh:
            self.records.forget()
        print(f"{len(drawn)} mutants by the seed {self.options.seed}, asking "
              f"{', '.join(layer.name for layer in self.slots[0].layers)}", flush=True)
        results = self.ask_all(drawn)
        text = self.closing(results)
        (self.tree.home / "report.txt").write_text(text, encoding="utf-8")
        recorded_run.write(self.tree.home / "run.json", ["./dev", "mutate", *sys.argv[1:]], report.recorded(results))
        print(text)
        return self.status(results)

    def closing(self, results: List[Result]) -> str:
        """Returns the end of the report: survivors and figures."""
        survivors = [result.mutant for result in results if result.verdict == LIVED]
        parts = [f"{report.change(mutant, self.tree.path)}\n\n{equivalents.entry_text(mutant)}" for mutant in survivors]
        everything = all_mutants(self.tree.path, [], [])
        gone = equivalents.stale(self.equivalents, [mutant for some in everything.values() for mutant in some])
        parts += [f"{equivalents.PATH.name}: no mutant fits this entry any more:\n{entry}" for entry in gone]
        noticed = sum(result.verdict == NOTICED for result in results)
        parts.append(f"{report.figures(results)}\n\n{noticed} noticed, {len(survivors)} lived")
        return "\n" + "\n\n".join(parts)

    def status(self, results: List[Result]) -> int:
        """Returns the exit status: 0 if the run reached its goal."""
        if self.options.final:
            judged = list(filter(None, (goal.reached(results) for goal in report.GOALS)))
            print("\n".join(words for _, words in judged))
            if not all(good for good, _ in judged):
                return 1
        share = report.share_noticed(results)
        wanted: Optional[float] = self.options.at_least
        if wanted is not None and share < wanted:
            print(f"{share:.1f} % were noticed; expected at least {wanted:g} %")
            return 1
        equivalent = sum(result.verdict == EQUIVALENT for result in results)
        if len(results) >= MANY and 100 * equivalent > EQUIVALENT_AT_MOST * len(results):
            print(f"{equivalent} of {len(results)} count as equivalent; expected at most {EQUIVALENT_AT_MOST:g} %")
            return 1
        return 0


def main() -> int:
    """Returns the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    options = arguments(sys.argv[1:])
    if options.map:
        tree = Worktree(ROOT)
        tree.update()
        coverage_map.record(tree)
        return 0
    return Run(options).run()


if __name__ == "__main__":
    sys.exit(main())
