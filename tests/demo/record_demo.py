"""Records `./dev demo` as docs/demo.cast, in the format of asciinema (version 2), and as docs/demo.svg, an animated
picture of it.

    record_demo.py           runs the demo and writes both
    record_demo.py --draw    draws docs/demo.svg again from docs/demo.cast

The cast has the original times. In the picture no pause is longer than 1.5 s. The picture ends with all lines, and
shows all of them at once to readers who prefer reduced motion.
SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import List, Tuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
CAST = ROOT / "docs" / "demo.cast"
PICTURE = ROOT / "docs" / "demo.svg"
WIDTH, HEIGHT = 118, 40  # of the terminal, in characters
LONGEST_PAUSE = 1.5
COLUMN, ROW, EDGE = 7.3, 18, 14  # in pixels: a character, a line, the border
CLASSES = {"1": "title", "32": "good", "31": "bad", "2": "dim"}  # of tests/demo/show.py's colours
STYLE = """text { font: 12px ui-monospace, monospace; fill: #d8dee6; white-space: pre; }
rect { fill: #171c22; }
.title { fill: #ffffff; font-weight: 700; } .good { fill: #86d9a0; } .bad { fill: #ff9a90; } .dim { fill: #a5afba; }
g { animation: appear .01s linear both; }
@keyframes appear { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { g { animation: none; } }"""


def record() -> None:
    """Runs the demo in a pseudo-terminal and writes its output with the times."""
    parent, child = pty.openpty()
    begin = time.monotonic()
    events: List[Tuple[float, str, str]] = []
    command = [sys.executable, str(ROOT / "tests" / "demo" / "demo.py")]
    with subprocess.Popen(command, stdout=child, stderr=child, stdin=subprocess.DEVNULL, close_fds=True) as process:
        os.close(child)
        while True:
            try:
                text = os.read(parent, 65536).decode("utf-8", "replace")
            except OSError:  # the process has ended
                break
            events.append((round(time.monotonic() - begin, 3), "o", text))
    if process.returncode != 0:
        raise SystemExit(f"the demo ended with status {process.returncode}; nothing was recorded")
    head = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": "./dev demo"}
    CAST.write_text("".join(json.dumps(each) + "\n" for each in [head, *events]), encoding="utf-8")


def shown_lines(cast: str) -> List[Tuple[float, str]]:
    """Returns each line of a cast with the time when it was complete."""
    lines: List[Tuple[float, str]] = []
    rest = ""
    for event in cast.splitlines()[1:]:
        moment, _, text = json.loads(event)
        *complete, rest = (rest + text.replace("\r", "")).split("\n")
        lines += [(moment, each) for each in complete]
    return lines


def in_shorter_time(lines: List[Tuple[float, str]]) -> List[Tuple[float, str]]:
    """Returns the lines with long pauses shortened."""
    moved: List[Tuple[float, str]] = []
    now = before = 0.0
    for moment, text in lines:
        now += min(moment - before, LONGEST_PAUSE)
        before = moment
        moved.append((now, text))
    return moved


def draw(cast: str) -> str:
    """Returns the picture of a cast."""
    lines = in_shorter_time(shown_lines(cast))
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", text) for _, text in lines]
    width = round(2 * EDGE + COLUMN * max(map(len, plain)))
    height = 2 * EDGE + ROW * len(lines)
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size} role="img">',
        "<title>A run of ./dev demo in a terminal</title>",
        f"<style>{STYLE}</style>",
        f'<rect {size} rx="8"/>',
    ]
    for number, ((moment, text), words) in enumerate(zip(lines, plain)):
        colour = re.match(r".*?\x1b\[([0-9]+)m", text)
        kind = CLASSES.get(colour[1], "") if colour else ""
        if words:
            parts.append(f'<g style="animation-delay:{moment:.2f}s"><text class="{kind}" x="{EDGE}" '
                         f'y="{EDGE + ROW * (number + 0.75):g}">{escape(words)}</text></g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(words: List[str]) -> None:
    """Records the demo, unless called with --draw, and draws it."""
    if words not in ([], ["--draw"]):
        raise SystemExit("usage: record_demo.py [--draw]")
    if not words:
        record()
    PICTURE.write_text(draw(CAST.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
