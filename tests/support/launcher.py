# SPDX-License-Identifier: Apache-2.0
"""Programs that do not outlive the tests which start them, even if those are killed."""

from __future__ import annotations

import os
import sys
from typing import List

# The kernel kills the program when the thread that started it ends. A launcher arms that, rather than a hook between
# fork and exec, because the test process has threads and Python code may not run safely there.
_LAUNCHER = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)\n"  # PR_SET_PDEATHSIG, SIGKILL
    "if os.getppid() != int(sys.argv[1]): sys.exit('the test process ended first')\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)


def bound(command: List[str]) -> List[str]:
    """The command that runs `command` in the same process, killed at the latest when the calling thread ends."""
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]
