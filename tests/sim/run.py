"""Runs the simulations of all kinds of locks, one after the other.

    run.py seeds [N]    N seeds of each kind; without N 600, but 300 of locks over several servers and with failovers,
                        and 150 in clusters. Some seed must run each script.
    run.py faults       Plants faults, one at a time. Each must be found, and each kind must have some.
SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Optional, Set

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "tests" / "redlatch_sim"

# Each kind's name, with its row of the table. WRITE is left out: READ simulates both modes.
TABLE = (ROOT / "core" / "src" / "protocol" / "kinds.def").read_text(encoding="utf-8")
KINDS = {name: row for name, row in re.findall(r'^KIND\(\w+, "(\w+)"(.*?)\)$', TABLE, re.DOTALL | re.MULTILINE)
         if ".resource_kind" not in row}
LOCKS = [name for name, row in KINDS.items() if ".is_counted" not in row]
COUNTS = [name for name, row in KINDS.items() if ".is_counted" in row]
# Kinds that sets can have as members; mixed: sets of several kinds.
SETS = [name for name, row in KINDS.items() if ".member_type" in row] + ["mixed"]
SEVERAL = ["multi", "redlock"]  # locks over several servers
# The arguments of all runs of the program. The runs that take longest come first.
CALLS = [["--kind", kind] for kind in SEVERAL]
CALLS += [["--kind", kind] for kind in LOCKS]
CALLS += [["--sets", "--kind", kind] for kind in SETS]
CALLS += [["--kind", kind] for kind in COUNTS]
# Every kind is simulated with replicas that take the place of the master.
CALLS += [["--failover", "--kind", kind] for kind in KINDS]
# Kinds that are simulated in a cluster: a hash, a string, several keys, and keys that scripts do not declare. While a
# slot moves, each of several keys may be on either node.
CLUSTER = ["mutex", "plain", "fenced", "fair", "read"]
# The least number of planted faults in a cluster. All kinds are routed alike, so mutexes find most faults. Keys that
# are missing beside others need fenced locks; keys that a script cannot declare need fair and read-write locks.
OF_ROUTING = {"mutex": 15, "fenced": 1, "fair": 1, "read": 2}
CALLS += [["--cluster", "--kind", kind] for kind in CLUSTER]
FAULTS_AT_LEAST = 3
# With so many seeds every point must be reached.
SEEDS, OF_SEVERAL, OF_FAILOVER, OF_CLUSTER = "600", "300", "300", "150"

# Scripts that no simulated kind runs, and the reason.
ELSEWHERE = {"inspect": "it writes nothing; tests/scripts records what it tells"}


def run(words: List[str]) -> str:
    """Runs the program once. Returns and shows what it prints. Raises SystemExit if it fails."""
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(f"{PROGRAM.name} {' '.join(words)}:\n{done.stdout}", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"{PROGRAM.name} {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def run_all(calls: List[List[str]]) -> List[str]:
    """Runs the program with each of `calls`, two at a time. Returns what the runs print."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, calls))


def usual_seeds(words: List[str]) -> str:
    """Returns how many seeds a run simulates in CI."""
    if words[-1] in SEVERAL:
        return OF_SEVERAL
    return {"--failover": OF_FAILOVER, "--cluster": OF_CLUSTER}.get(words[0], SEEDS)


def run_seeds(seeds: Optional[str]) -> None:
    """Runs seeds of all kinds. Raises SystemExit unless every script was run."""
    output = run_all([[*words, "--seeds", seeds or usual_seeds(words)] for words in CALLS])
    ran: Set[str] = set(re.findall(r"^ *[1-9]\d*  script (\w+)$", "\n".join(output), re.MULTILINE))
    scripts = {path.stem for path in (ROOT / "core" / "src" / "scripts").glob("*.lua")}
    left_out = sorted(scripts - ran - set(ELSEWHERE))
    if left_out:
        raise SystemExit(f"scripts that no simulated kind has run: {', '.join(left_out)}")
    print(f"all {len(scripts - set(ELSEWHERE))} scripts were run; {', '.join(ELSEWHERE)} is tested elsewhere")


def run_faults() -> None:
    """Runs all planted faults. Raises SystemExit if one is not found, or if a kind has too few of them."""
    calls = [words for words in CALLS if words[0] != "--cluster" or words[2] in OF_ROUTING]
    found = {" ".join(words): len(re.findall(r"  seed \d+ ", text))
             for words, text in zip(calls, run_all([[*words, "--faults"] for words in calls]))}
    few = [words for words, count in found.items()
           if count < (1 if "--sets" in words else FAULTS_AT_LEAST) and "--cluster" not in words]
    few += [kind for kind, least in OF_ROUTING.items() if found[f"--cluster --kind {kind}"] < least]
    if few:
        raise SystemExit(f"fewer faults than {FAULTS_AT_LEAST} are planted for: {', '.join(few)}")
    print(", ".join(f"{words} {count}" for words, count in found.items()))


def main(arguments: List[str]) -> int:
    """Runs what the arguments say, and returns the exit status."""
    if arguments == ["faults"]:
        run_faults()
    elif arguments == ["seeds"]:
        run_seeds(None)
    elif len(arguments) == 2 and arguments[0] == "seeds" and arguments[1].isdigit():
        run_seeds(arguments[1])
    else:
        raise SystemExit("usage: run.py seeds [N] | faults")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
