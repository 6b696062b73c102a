# SPDX-License-Identifier: Apache-2.0
"""A faulty driver, to show that the runner notices.

    broken_driver.py HOW

It does nothing, answers every call with success, and at `release` or at its end breaks the rules for drivers in one
way.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Dict

ANSWERS: Dict[str, Any] = {"open": {"status": "ok", "value": {"uuid": ""}}, "reset": {"reset": True}}
# What is printed instead of the answer to `release`.
PRINTED = {"no_object": '[{"status": "ok"}]', "no_json": "ok", "an_error": '{"error": "unheard of"}'}


def main() -> int:
    """Returns the exit status."""
    how = sys.argv[1]
    for line in sys.stdin:
        call = json.loads(line)["call"]
        answer = json.dumps(ANSWERS.get(call, {"status": "ok"}))
        if call == "release":
            if how == "ends":
                return 3
            if how == "warns":
                sys.stderr.write("a warning from the library\n")
            if how == "talks":
                print(answer)
            answer = PRINTED.get(how, answer)
        if call == "reset" and how == "goes_on":
            answer = json.dumps({"status": "ok"})
        print(answer, flush=True)
    if how == "talks_at_the_end":
        print("goodbye")
    return 4 if how == "ends_badly" else 0


if __name__ == "__main__":
    sys.exit(main())
