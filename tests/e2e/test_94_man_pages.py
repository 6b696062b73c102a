# SPDX-License-Identifier: Apache-2.0
"""The examples of the man page of the command: every option in them is one that the command has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List

from support.shell import redlatch

PAGE = Path(__file__).resolve().parents[2] / "core" / "cli" / "redlatch.1"


def examples() -> List[List[str]]:
    """Returns the words of each call of `redlatch` in the examples, up to the command that it runs."""
    source = PAGE.read_text(encoding="utf-8").partition(".SH EXAMPLES")[2].partition("\n.SH ")[0]
    text = re.sub(r"\\f[BIR]", "", source).replace("\\-", "-")
    return [call.partition(" -- ")[0].split() for call in re.findall(r"\bredlatch ([a-z]+ [^|;&\n]*)", text)]


def test_options_of_examples() -> None:
    calls = examples()
    assert len(calls) > 3
    for command, *words in calls:
        usage = redlatch(None, command, "--help")
        assert usage.returncode == 0, command
        for option in [word.partition("=")[0] for word in words if word.startswith("--")]:
            assert re.search(rf"(?<!\S){re.escape(option)}\b(?!-)", usage.stdout), f"{command} {option}"
        for letter in "".join(word[1:] for word in words if re.fullmatch(r"-[a-zA-Z]+", word)):
            assert re.search(rf"(?<!\S)-{letter}\b", usage.stdout), f"{command} -{letter}"
