# SPDX-License-Identifier: Apache-2.0
"""The findings of `redlatch doctor`, read from its JSON."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Set, Tuple

from support import RedisServer
from support.shell import redlatch

WARNING, PROBLEM = 1, 2
Findings = Dict[str, List[Dict[str, Any]]]


def examine(server: Optional[RedisServer], *arguments: str) -> Tuple[int, Findings]:
    """Returns the exit status and the findings by subject."""
    done = redlatch(server, "doctor", "--json", *arguments)
    findings: Findings = {}
    for finding in json.loads(done.stdout):
        findings.setdefault(finding["subject"], []).append(finding)
    return done.returncode, findings


def wrong(findings: Findings) -> Set[Tuple[str, str]]:
    """Returns subject and level of each warning and problem, except those about the server's version."""
    return {(subject, finding["level"]) for subject, all_of_it in findings.items() for finding in all_of_it
            if finding["level"] in ("warning", "problem") and subject != "version"}


def message(findings: Findings, subject: str, level: str) -> str:
    """Returns the message and the advice of the only finding with this subject and level."""
    (found,) = [finding for finding in findings[subject] if finding["level"] == level]
    return f"{found['message']} {found['advice']}"
