# SPDX-License-Identifier: Apache-2.0
"""Where the tests of the soak find it."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e"), str(HERE.parent / "interop")]
