# SPDX-License-Identifier: Apache-2.0
"""Charts of bars as SVG, readable on a phone, on light pages and on dark ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List
from xml.sax.saxutils import escape

WIDTH, EDGE, LONGEST = 480, 14, 340  # in pixels; the value stands behind the bar
HEAD, ROW, BAR = 30, 36, 13
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1f2933; } .title { font-size: 14px; font-weight: 600; }
.card { fill: #fbfcfd; stroke: #cbd5de; } .ours { fill: #2f6f9f; } .other { fill: #9aa7b2; }
@media (prefers-color-scheme: dark) {
text { fill: #e4eaef; } .card { fill: #1b2129; stroke: #3c4955; } .ours { fill: #5aa2d6; } .other { fill: #77838e; }
}
</style>"""


@dataclass(frozen=True)
class Bar:
    """A value with its name and how it is written; redlatch's own are drawn in another colour."""

    label: str
    value: float
    text: str
    ours: bool


@dataclass(frozen=True)
class Panel:
    """Bars of one unit under a title."""

    title: str
    bars: List[Bar]

    @property
    def limit(self) -> float:
        """The longest bar; what is more than six times as long as ours is broken off."""
        ours = [bar.value for bar in self.bars if bar.ours]
        most = max(bar.value for bar in self.bars)
        return min(most, 6 * max(ours)) if ours and max(ours) > 0 else most


def draw_panel(top: int, panel: Panel) -> List[str]:
    """The lines of a panel that begins at a height."""
    parts = [f'<text class="title" x="{EDGE}" y="{top + 20}">{escape(panel.title)}</text>']
    for number, bar in enumerate(panel.bars):
        y = top + HEAD + number * ROW
        share = bar.value / panel.limit if panel.limit else 0.0
        width = LONGEST * min(share, 1.0)
        shown = bar.text + (" \u2192" if share > 1 else "")
        parts.append(f'<text x="{EDGE}" y="{y + 12}">{escape(bar.label)}</text>')
        parts.append(f'<rect class="{"ours" if bar.ours else "other"}" x="{EDGE}" y="{y + 17}" width="{width:.1f}" '
                     f'height="{BAR}" rx="2"/>')
        parts.append(f'<text x="{EDGE + width + 6:.1f}" y="{y + 28}">{escape(shown)}</text>')
    return parts


def draw(title: str, panels: List[Panel]) -> str:
    """The chart."""
    top, parts = 6, []
    for panel in panels:
        parts += draw_panel(top, panel)
        top += HEAD + ROW * len(panel.bars) + 12
    size = f'width="{WIDTH}" height="{top}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" {size} role="img">',
        f"<title>{escape(title)}</title>",
        STYLE,
        f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{top - 1}" rx="8"/>',
        *parts,
        "</svg>",
    ]) + "\n"  # fmt: skip
