# SPDX-License-Identifier: Apache-2.0
"""What runs conformance traces: it reads them, feeds a driver their calls, and compares outcomes and keys.

README.md one folder up is the description of the format; nothing in here knows any language's interface.
"""

from .drivers import DRIVERS, Driver, DriverProcess
from .mismatch import Mismatch
from .play import play
from .traces import TRACES, Trace, complaints, failure_of, load, uses

__all__ = [
    "DRIVERS",
    "TRACES",
    "Driver",
    "DriverProcess",
    "Mismatch",
    "Trace",
    "complaints",
    "failure_of",
    "load",
    "play",
    "uses",
]
