"""Derives the declarations that cffi needs from C headers, so that nothing is declared twice.

cffi cannot read directives, comments and our export macro. So the text between the marks `bindings: begin` and
`bindings: end` goes through the C preprocessor first, without the system headers, whose types cffi knows.
SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
from pathlib import Path
from typing import Sequence

MARKED = re.compile(r"/\* bindings: begin\b.*?\*/(?P<text>.*?)/\* bindings: end\b", re.DOTALL)


def marked_text(header: Path) -> str:
    """Returns the text between the two marks. A header must have exactly one pair."""
    found = MARKED.findall(header.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError(
            f"{header}: found {len(found)} parts between 'bindings: begin' and 'bindings: end', expected one"
        )
    text: str = found[0]
    return text


def declarations(headers: Sequence[Path], compiler: str = "cc") -> str:
    """Returns the declarations of all headers, in the order given, for cffi's cdef()."""
    command = [compiler, "-E", "-P", "-x", "c", "-DREDLATCH_API=", "-"]
    source = "\n".join(marked_text(header) for header in headers)
    answer = subprocess.run(command, input=source, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return answer.stdout
