# SPDX-License-Identifier: Apache-2.0
"""The runner of conformance traces: reads them, sends a driver their calls, and compares outcomes and keys.

README.md one folder up describes the format. No language's interface is known here.
"""

from .drivers import DRIVERS, Driver
from .mismatch import Mismatch
from .play import play
from .processes import Answer, DriverProcess, Processes, Speaker
from .servers import Servers
from .traces import TRACES, Trace, complaints, complaints_of, failure_of, load, uses

__all__ = [
    "DRIVERS",
    "TRACES",
    "Answer",
    "Driver",
    "DriverProcess",
    "Mismatch",
    "Processes",
    "Servers",
    "Speaker",
    "Trace",
    "complaints",
    "complaints_of",
    "failure_of",
    "load",
    "play",
    "uses",
]
