# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: redlatch beside its peers on one private server, in turn, and what came out against the targets.

Every comparison is a ratio of two measurements that were made right after each other, and the median over the rounds
counts, since absolute figures drift with the machine. Exit status: 0 when everything could be measured (and, with
--strict, every target was reached), else 1.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from harness import Bench, NotAvailable, ProgramFailed, Report, Scenario, discover
from harness import page
from harness.bench import Pace
from harness.chart import draw
from harness.compare import compare
from harness.disturbance import Disturbance
from harness.machine import describe_machine
from harness.output import Finished, print_machine, print_scenario, write_json

ROOT = Path(__file__).resolve().parents[2]


def parse(words: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measure redlatch beside its peers.")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build", metavar="DIR", help="of CMake; build")
    parser.add_argument("--only", metavar="NAMES", help="only these scenarios, such as P1,P3")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, fewer locks and waiters")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each comparison; 5, or 3 with --quick")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go; <build>/bench/<date>.json")
    parser.add_argument("--strict", action="store_true", help="a target that was not reached is a failure too")
    parser.add_argument("--compare", nargs="+", type=Path, metavar="RUN.json",
                        help="an old run, and the one to set beside it; without the second what is measured now")
    parser.add_argument("--page", nargs="?", type=Path, const=page.newest(ROOT), metavar="RUN.json",
                        help=f"make docs/proof/figures.md of a run and end; without a file of the newest in "
                             f"{page.RECORDED}")
    parser.add_argument("--list", action="store_true", help="name the scenarios and end")
    options = parser.parse_args(words)
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds: at least 1, not {options.rounds}")
    if options.compare and len(options.compare) > 2:
        parser.error(f"--compare: one or two files, not {len(options.compare)}")
    return options


def choose(scenarios: List[Scenario], only: Optional[str]) -> List[Scenario]:
    """The scenarios asked for; ends the program if one is unknown."""
    if only is None:
        return scenarios
    wanted = [name.strip().upper() for name in only.split(",")]
    known = [entry.name for entry in scenarios]
    for name in wanted:
        if name not in known:
            raise SystemExit(f"--only: there is no scenario {name}; there are {', '.join(known)}")
    return [entry for entry in scenarios if entry.name in wanted]


def run_scenario(bench: Bench, entry: Scenario) -> Finished:
    report = Report()
    bench.server.make_pristine()
    disturbance = Disturbance(bench.server_cpu_seconds)
    start = time.monotonic()
    failure = ""
    try:
        entry.run(bench, report)
    except (NotAvailable, ProgramFailed) as error:
        failure = str(error)
    finally:
        bench.end_programs()
    return Finished(entry, report, time.monotonic() - start, failure, disturbance.percent_of_core())


def read(path: Path) -> Dict[str, Any]:
    """A recorded run; ends the program if the file is none."""
    try:
        run: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: expected the JSON file of a run: {error}") from None
    return run


def make_page(path: Path) -> None:
    """Writes the page of figures and its charts."""
    folder = ROOT / "docs" / "proof"
    before = (folder / "figures.md").read_text(encoding="utf-8")
    source = path.resolve().relative_to(ROOT).as_posix() if ROOT in path.resolve().parents else path.name
    made = page.pages(read(path), source, before)
    for chart in folder.glob(page.CHARTS):  # of another run
        chart.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)


def main(words: Optional[List[str]] = None) -> int:
    options = parse(words)
    scenarios = choose(discover("scenarios"), options.only)
    if options.list:
        for entry in scenarios:
            print(f"{entry.name:<4} {entry.title}")
        return 0
    if options.page:
        make_page(options.page)
        return 0
    old = read(options.compare[0]) if options.compare else None
    if old and len(options.compare) == 2:
        print("\n".join(compare(old, read(options.compare[1]))))
        return 0
    rounds = options.rounds or (3 if options.quick else 5)
    pace = Pace(rounds=rounds, seconds=0.5 if options.quick else 2.0, quick=options.quick)
    date = datetime.datetime.now().strftime("%Y-%m-%dT%H%M%S")
    json_path = options.json or options.build_dir / "bench" / f"{date}.json"
    chart_path = json_path.with_suffix(".png")

    bench = Bench(options.build_dir.resolve(), pace)
    finished: List[Finished] = []
    try:
        machine = describe_machine(bench)
        print_machine(machine)
        for entry in scenarios:
            finished.append(run_scenario(bench, entry))
            print_scenario(finished[-1])
            sys.stdout.flush()
    finally:
        bench.close()
        if finished:
            run = {"date": date, "rounds": pace.rounds, "quick": pace.quick, "machine": machine}
            write_json(json_path, run, finished)
            drawn = draw(chart_path, finished, f"redlatch against its targets, {date}")
            print(f"\n{json_path}" + (f"\n{chart_path}" if drawn else ""))
            if old:
                print("\n".join(compare(old, read(json_path))))

    reached = all(figure.reached for entry in finished for figure in entry.report.figures)
    complete = all(entry.complete for entry in finished)
    return 0 if complete and (reached or not options.strict) else 1


if __name__ == "__main__":
    sys.exit(main())
