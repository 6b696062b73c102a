"""Writes the manual page redlatch.3 from the public headers: the introduction of redlatch.h, then every item with its
comment, those of redlatch.h first.

Run as: make_manual.py core/include build/redlatch.3
SPDX-License-Identifier: Apache-2.0
"""

import re
import sys
from pathlib import Path
from typing import Iterator, List, NamedTuple

BEGIN_MARK = "/* bindings: begin"
END_MARK = "/* bindings: end"
RULE = re.compile(r"/\* -{10,} (?P<title>.+?) -+ \*/")
# An item: an optional comment right before a declaration that ends with a semicolon at the end of its line, outside
# of braces.
ITEM = re.compile(
    r"(?:/\*(?P<comment>(?:[^*]|\*(?!/))*)\*/\n)?"
    r"(?P<code>(?:typedef|enum|struct|REDLATCH_API)\b(?:\{[^}]*\}|[^{};])*;[^\n]*)",
)


class Item(NamedTuple):
    """One declaration of the header, or a section's title (then `code` is empty)."""

    comment: str
    code: str


def read_items(header: str) -> Iterator[Item]:
    """Yields titles and declarations in the header's order."""
    surface = "".join(part.split(END_MARK)[0] for part in header.split(BEGIN_MARK)[1:])
    for match in re.finditer(f"{RULE.pattern}|{ITEM.pattern}", surface):
        if match["title"]:
            yield Item(match["title"], "")
        else:
            yield Item(comment_text(match["comment"] or ""), match["code"])


def comment_text(comment: str) -> str:
    """Returns a comment without its decoration, with its line breaks."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip()


def escaped(text: str) -> str:
    """Escapes text for roff, which finds no requests and no escapes in it then. Its hyphens can be pasted."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    text = text.replace("`", "\\(ga")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def rows_of(lines: List[str]) -> List[List[str]]:
    """Returns the rows of a table, its heads first. A line belongs to the row before if it has no first cell, or if the
    first cell of that row ends with a comma."""
    starts = [match.start() for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
    rows: List[List[str]] = []
    for line in lines:
        cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None])]
        if cells[0] and not (rows and rows[-1][0].endswith(",")):
            rows.append(cells)
        else:
            rows[-1] = [f"{cell} {more}".strip() for cell, more in zip(rows[-1], cells)]
    return rows


def blocks_of(text: str) -> Iterator[List[str]]:
    """Splits a comment into blocks. A block is the lines of a table, which are indented, or one line: a paragraph, an
    item that begins with a dash, or a parameter, which begins with a name and a colon."""
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("  "):
            yield block.split("\n")
            continue
        for part in re.split(r"\n(?=- |(?:[a-z_]+, )*[a-z_]+: )", block):
            if part.strip():
                yield [" ".join(part.split())]


def table(lines: List[str]) -> Iterator[str]:
    """Writes a table as a list of terms."""
    for term, *rest in rows_of(lines)[1:]:
        sentences = [f"{cell[0].upper()}{cell[1:]}." for cell in rest if cell and cell != "-"]
        yield "\n".join([".TP", f"\\fB{escaped(term)}\\fR", "\n.br\n".join(map(escaped, sentences))])


def paragraphs(text: str) -> Iterator[str]:
    """Writes a comment as roff."""
    for block in blocks_of(text):
        if block[0].startswith("  "):
            yield from table(block)
        elif block[0].startswith("- "):
            yield f".IP \\(bu 2\n{escaped(block[0][2:])}"
        else:
            yield f".PP\n{escaped(block[0])}"


def introduction(header: str) -> Iterator[str]:
    """Writes the header's first comment. A single line without a period or colon at its end is a heading."""
    first = comment_text(header[header.index("/*") + 2:header.index("*/")])
    blocks = re.split(r"\n\s*\n", first.split("\n", 2)[2].strip())
    yield ".SH DESCRIPTION"
    for block in blocks:
        if "\n" not in block and not block.endswith((".", ":")):
            yield f".SS {escaped(block)}"
        else:
            yield from paragraphs(block)


def declaration(code: str) -> str:
    """Writes a prototype as a bold line that roff may break, and a type with its line breaks."""
    if code.startswith("REDLATCH_API "):
        prototype = " ".join(code.split()[1:])
        return f".PP\n.RS 2\n\\fB{escaped(prototype)}\\fR\n.RE"
    return f".PP\n.RS 2\n.nf\n{escaped(code)}\n.fi\n.RE"


def manual(header: str) -> str:
    """Returns the whole page."""
    match = re.search(r'^#define REDLATCH_VERSION "([^"]+)"', header, flags=re.MULTILINE)
    summary = re.search(r"redlatch: (.+)", header)
    if match is None or summary is None:
        raise SystemExit("the header has no REDLATCH_VERSION, or no first line `redlatch: <what it is>`")
    lines: List[str] = [
        '.\\" Made from redlatch*.h by make_manual.py; edit the headers.',
        '.\\" SPDX-License-Identifier: Apache-2.0',
        f'.TH REDLATCH 3 "" "redlatch {match[1]}" "redlatch"',
        ".nh\n.ad l",
        f".SH NAME\nredlatch \\- {escaped(summary[1].rstrip('.'))}",
        ".SH SYNOPSIS\n.nf\n.B #include <redlatch.h>\n.PP\n"
        "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs redlatch)\n.fi",
    ]
    lines.extend(introduction(header))
    for item in read_items(header):
        if not item.code:
            lines.append(f".SH {escaped(item.comment.upper())}")
            continue
        lines.append(declaration(item.code))
        lines.extend(paragraphs(item.comment))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Reads the headers of the first argument, a folder, and writes the page to the second."""
    if len(sys.argv) != 3:
        raise SystemExit("usage: make_manual.py FOLDER PAGE")
    first = Path(sys.argv[1], "redlatch.h")
    headers = [first, *sorted(Path(sys.argv[1]).glob("redlatch_*.h"))]
    text = "".join(header.read_text(encoding="utf-8") for header in headers)
    Path(sys.argv[2]).write_text(manual(text), encoding="utf-8")


if __name__ == "__main__":
    main()
