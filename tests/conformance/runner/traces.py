# SPDX-License-Identifier: Apache-2.0
"""Traces as files: found, read, compared with their schema; and what of the vocabulary each one uses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Set, Union

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

FOLDER = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((Path(__file__).resolve().parent / "trace.schema.json").read_text(encoding="utf-8"))

Step = Dict[str, Any]
Text = Union[str, Dict[str, Any]]

# Members of a call that are for the runner alone.
FOR_RUNNER = ("expect", "until", "took_ms", "note")


@dataclass(frozen=True)
class Trace:
    """One file."""

    name: str
    summary: str
    steps: List[Step]
    leaves_holds: bool = False


def load(path: Path) -> Trace:
    """Reads a file; ValueError if it is not what the schema says."""
    content = json.loads(path.read_text(encoding="utf-8"))
    found = complaints(content)
    if found:
        raise ValueError(f"{path.name}: {'; '.join(found)}")
    return Trace(path.stem, content["summary"], content["steps"], content.get("leaves_holds", False))


def complaints(content: Any) -> List[str]:
    """What is wrong with a trace by the schema: the most telling complaint about each place."""
    validator = Draft202012Validator(SCHEMA)
    found = []
    for error in validator.iter_errors(content):
        telling = best_match([error]) or error
        found.append(f"{telling.json_path}: {telling.message[:300]}")
    return found


TRACES = sorted(FOLDER.glob("*.json"))


def expand(text: Text) -> Text:
    """A text with its repetitions written out; hexadecimal stays what it is, since JSON cannot hold the bytes."""
    if isinstance(text, dict) and "repeat" in text:
        return str(text["repeat"]) * int(text["times"])
    return text


def text_bytes(text: Union[Text, int]) -> bytes:
    """The bytes that a text stands for."""
    expanded = str(text) if isinstance(text, int) else expand(text)
    return bytes.fromhex(expanded["hex"]) if isinstance(expanded, dict) else expanded.encode()


def uses(trace: Trace) -> Set[str]:
    """The words of the vocabulary that a driver must know to run this trace: calls, their members, options, values
    that ask for something of their own. A driver's list of what it cannot do is made of the same words."""
    words = set()
    for step in trace.steps:
        call = step.get("call")
        if call is None:
            continue
        words.add(call)
        for member, value in step.items():
            if member in ("by", "start"):
                words.add(member)
            elif member == "options":
                words.update(f"{call}.{option}" for option in value)
                words.update(f"{call}.owner={value[option]}" for option in value if option == "owner")
            elif member in ("lease_ms", "url"):
                words.add(f"{call}.{member}")
            elif member == "name" and isinstance(value, dict) and "hex" in value:
                words.add("name.hex")
    return words
