# SPDX-License-Identifier: Apache-2.0
"""A lock whose acquires always succeed is reported, when it is run and judged like the others."""

from __future__ import annotations

import shutil
from typing import List

import failovers
import pytest
import run
from worker_processes import ROOT
from kinds import KINDS, names_of

SEED = 1_000_000  # no run draws it; each test uses another seed from here on, and so another folder

# The kinds of each run. With fewer kinds, each is lied about more often. Read locks are left out, since readers may
# hold together.
_OTHERS = ("read", "fair", "non-reentrant-fair", "semaphore", "permit-semaphore", "latch")
_JUDGED = [
    [name for name, kind in KINDS.items() if name not in _OTHERS and "python" in kind.languages],
    ["fair", "non-reentrant-fair"],
    ["semaphore", "permit-semaphore", "latch"],
]
# This checker cannot notice a liar: it changes no count.
_BLIND = ("sums",)


def missed_by(kinds: List[str], violations: List[str]) -> List[str]:
    """Returns which checkers found no liar of which kind."""
    found = [line for line in violations if "liar-" in line]
    missed = []
    for kind in kinds:
        names = {member for name in names_of(kind) for member in name.split("+")}
        for checker in set(KINDS[kind].checks).difference(_BLIND):
            blamed = (line for line in found if line.startswith(f"{checker}: ") and any(name in line for name in names))
            if not any(blamed):
                missed.append(f"{checker} of {kind}")
    return missed


@pytest.mark.parametrize("kinds", _JUDGED, ids=",".join)
def test_lying_locks_are_reported(kinds: List[str], capsys: pytest.CaptureFixture[str]) -> None:
    seed = str(SEED + _JUDGED.index(kinds))
    folder = ROOT / "build" / "soak" / seed
    for seconds in ("3", "10"):  # a slow machine may not have started the processes within three
        words = ["--seconds", seconds, "--seed", seed, "--kinds", ",".join(kinds), "--languages", "python", "--lie"]
        assert run.main(words) == 1
        missed = missed_by(kinds, (folder / "violations").read_text(encoding="utf-8").splitlines())
        if not missed:
            break
    assert missed == []
    assert f"again: ./dev soak {' '.join(words)}\n" in capsys.readouterr().out
    assert list(folder.glob("history/*.jsonl")) and list(folder.glob("*.plan"))
    shutil.rmtree(folder)


def test_a_lock_that_does_not_lie_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    seed = str(SEED + len(_JUDGED))
    assert run.main(["--seconds", "2", "--seed", seed, "--kinds", "mutex", "--languages", "c"]) == 0
    assert not (ROOT / "build" / "soak" / seed).exists()
    assert "no violation" in capsys.readouterr().out


def test_replication_does_not_explain_a_lie() -> None:
    """No client requires acknowledgements there, so overlaps of holds may be explained. Those of a liar are not."""
    seed = str(SEED + len(_JUDGED) + 1)
    folder = ROOT / "build" / "soak" / seed
    words = ["--topology", "sentinel-unacknowledged", "--seconds", "10", "--seed", seed, "--languages", "python"]
    assert run.main([*words, "--lie"]) == 1
    violations = (folder / "violations").read_text(encoding="utf-8").splitlines()
    for kind in failovers.RECORDED:
        unexplained = [line for line in violations if line.endswith("; replication does not explain it")]
        assert any("liar-" in line and f"soak:{kind}:" in line for line in unexplained), kind
    assert all("liar-" in line for line in violations)
    shutil.rmtree(folder)
