# SPDX-License-Identifier: Apache-2.0
"""What every command of `redlatch` prints about itself. After an intended change it is recorded again:

    build/venv/bin/python tests/e2e/usage_texts.py >tests/e2e/usage_texts.txt
"""

from __future__ import annotations

import re
from pathlib import Path

from support.shell import redlatch

RECORDED = Path(__file__).with_suffix(".txt")


def usage_texts() -> str:
    """Returns the text of the program, and those of the commands that it lists."""
    program = redlatch(None, "--help").stdout
    commands = ", ".join(re.findall(r"^  (\w+(?:, \w+)*) ", program, re.MULTILINE)).split(", ")
    texts = {"redlatch": program}
    for command in [*commands, "complete"]:
        texts[f"redlatch {command}"] = redlatch(None, command, "--help").stdout
    return "\n".join(f"=== {command} ===\n{text}" for command, text in texts.items())


if __name__ == "__main__":
    print(usage_texts(), end="")
