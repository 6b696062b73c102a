# SPDX-License-Identifier: Apache-2.0
"""A lock whose acquire always succeeds, run as the others are and judged by the same checkers, is reported."""

from __future__ import annotations

import shutil

import pytest
import run
from crew import ROOT
from kinds import KINDS

SEED = 1_000_000  # none that a run draws


# One kind for each set of checkers; readers go together, whoever lies.
_JUDGED = {kind.checks: name for name, kind in KINDS.items() if name != "read" and "python" in kind.languages}


@pytest.mark.parametrize("kind", _JUDGED.values())
def test_a_lying_lock_is_reported(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seconds", "2", "--seed", str(SEED), "--kinds", kind, "--languages", "python", "--lie"]
    assert run.main(words) == 1
    folder = ROOT / "build" / "soak" / str(SEED)
    found = (folder / "violations").read_text(encoding="utf-8").splitlines()
    for checker in KINDS[kind].checks:
        assert any(line.startswith(f"{checker}: ") and "liar-" in line for line in found), f"{checker} found no liar"
    assert f"again: ./dev soak {' '.join(words)}\n" in capsys.readouterr().out
    assert list(folder.glob("history/*.jsonl")) and list(folder.glob("*.plan"))
    shutil.rmtree(folder)


def test_a_lock_that_does_not_lie_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--seconds", "2", "--seed", str(SEED), "--kinds", "mutex", "--languages", "c"]) == 0
    assert not (ROOT / "build" / "soak" / str(SEED)).exists()
    assert "no violation" in capsys.readouterr().out
