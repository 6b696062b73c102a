# SPDX-License-Identifier: Apache-2.0
"""The reference, made from the sources: Python's docstrings, the comments of the C headers, the annotations of the Lua
modules, and the manual pages of the command. Its pages are in reference/api."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "core" / "cmake"))
import make_manual  # noqa: E402  # beside the sources of the library

MODULES = {"redlatch": "redlatch", "redlatch-aio": "redlatch.aio"}
OWN_MEMBERS = "    options:\n      inherited_members: false\n"
COMMANDS = {"redlatch-1": "redlatch.1", "redlatch-run-1": "redlatch-run.1"}
# A documented function or class of Lua: the lines of its comment, and the function's declaration.
LUA_ITEM = re.compile(r"((?:^---.*\n)+)(?:^(?:local )?function ([\w.:]+)(\([^)]*\)))?", re.MULTILINE)
PARAMETER = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): ")


def exported(package: str) -> List[str]:
    """Returns the names in a Python package's __all__, in its order, without those such as __version__."""
    source = ROOT / "python" / package.replace(".", "/") / "__init__.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
    raise SystemExit(f"{source}: expected a list __all__")


def python_page(package: str) -> str:
    """Returns a page for mkdocstrings: the first names that a user needs, all others, and the errors without inherited
    members."""
    names = exported(package)
    errors = [name for name in names if name.endswith("Error")]
    first = [name for name in ("connect", "Client", "Lock", "Hold") if name in names]
    items = [f"::: {package}.{name}\n" for name in dict.fromkeys([*first, *names]) if name not in errors]
    items += [f"::: {package}.{name}\n" + ("" if name == "RedlatchError" else OWN_MEMBERS) for name in errors]
    return f"# {package}\n\nMade of the docstrings of the package.\n\n" + "\n".join(items)


def c_text(comment: str) -> Iterator[str]:
    """Yields a comment as Markdown. Parameters are items of a list."""
    for block in make_manual.blocks_of(comment):
        if block[0].startswith("  "):
            heads, *rows = [f"| {' | '.join(row)} |" for row in make_manual.rows_of(block)]
            yield "\n".join([heads, re.sub(r"[^|]+", "---", heads), *rows]) + "\n"
        else:
            yield PARAMETER.sub(r"- **\1**: ", escaped(block[0])) + "\n"


def escaped(text: str) -> str:
    """Returns text with Markdown's emphasis and tags escaped, outside of `code`."""
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", part)
                   for part in re.split(r"(`[^`]*`)", text))


def c_name(code: str) -> str:
    """Returns the name that a declaration declares."""
    for form in (r"REDLATCH_API [^(]*?(\w+)\(", r"(?:typedef )?(?:enum|struct) (\w+)", r"enum \{\s*(\w+)"):
        found = re.match(form, code)
        if found:
            return found[1]
    raise SystemExit(f"expected a function, a struct, an enum or a typedef of one: {code[:80]}")


def c_page() -> str:
    """Returns the page of all functions and types of the headers, those of redlatch.h first."""
    folder = ROOT / "core" / "include"
    parts = ["# C: functions and types\n", "Made of the comments of the headers.\n"]
    for header in [folder / "redlatch.h", *sorted(folder.glob("redlatch_*.h"))]:
        parts.append(f"Declared in `{header.name}`:\n")
        for item in make_manual.read_items(header.read_text(encoding="utf-8")):
            if not item.code:
                parts.append(f"## {item.comment[0].upper()}{item.comment[1:]}\n")
                continue
            code = item.code.replace("REDLATCH_API ", "")
            parts.append(f"### `{c_name(item.code)}`\n\n```c\n{code}\n```\n")
            parts.extend(c_text(item.comment))
    return "\n".join(parts)


def lua_item(comment: str, name: str, arguments: str) -> Iterator[str]:
    """Yields a class or a function. Yields nothing if it is not documented or private."""
    lines = [line.removeprefix("---").removeprefix("-").strip() for line in comment.strip().split("\n")]
    text: List[str] = []
    tags: List[str] = []
    for line in lines:
        if line.startswith("@"):
            tags.append(line)
        elif tags:
            tags[-1] += " " + line  # a tag may continue on the next line
        else:
            text.append(line)
    if any(tag.startswith(("@package", "@private")) for tag in tags):
        return
    classes = [tag.split()[1].rstrip(":") for tag in tags if tag.startswith("@class")]
    if classes:
        yield f"## `{classes[0]}`\n"
        yield escaped(" ".join(text)) + "\n"
        yield from (f"- **{words[0]}** `{words[1]}` {escaped(' '.join(words[2:]))}" for words in
                    (tag.split()[1:] for tag in tags if tag.startswith("@field"))
                    if words[0] != "package" and len(words) > 1)
        yield ""
    elif name and text:
        yield f"### `{name}{arguments}`\n"
        yield escaped(" ".join(text)) + "\n"
        for tag in tags:
            kind, _, rest = tag.partition(" ")
            if kind == "@param":
                first, _, more = rest.partition(" ")
                yield f"- **{first}** {escaped(more)}"
            elif kind == "@return":
                yield f"- returns {escaped(rest)}"
        yield ""


def lua_page() -> str:
    """Returns the page of all documented classes and functions of the Lua modules, the module itself first."""
    folder = ROOT / "lua-rock" / "redlatch"
    parts = ["# Lua: functions and classes\n", "Made of the annotations of the modules.\n"]
    for module in [folder / "init.lua", *sorted(set(folder.glob("*.lua")) - {folder / "init.lua"})]:
        for match in LUA_ITEM.finditer(module.read_text(encoding="utf-8")):
            parts.extend(lua_item(match[1], match[2] or "", match[3] or ""))
    return "\n".join(parts)


def command_page(name: str) -> str:
    """Returns a manual page as mandoc's HTML, with headings that the page's contents list."""
    source = ROOT / "core" / "cli" / name
    made = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", str(source)], check=True, capture_output=True,
                          text=True).stdout
    body = re.sub(r'<table class="(head|foot)">.*?</table>', "", made, flags=re.DOTALL)
    body = re.sub(r'<a\s+class="permalink"[^>]*>(.*?)</a>', r"\1", body, flags=re.DOTALL)
    parts = re.split(r'<h1 class="Sh"[^>]*>(.*?)</h1>', body, flags=re.DOTALL)
    text = [f"# {name.removesuffix('.1')}(1)\n"]
    for heading, html in zip(parts[1::2], parts[2::2]):
        title = " ".join(heading.split()).capitalize()
        text.append(f"## {title}\n\n<div class=\"manual\">\n{html.replace('</section>', '')}\n</div>\n")
    return "\n".join(text)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages of the reference."""
    pages: Dict[str, str] = {name: python_page(package) for name, package in MODULES.items()}
    pages.update({name: command_page(source) for name, source in COMMANDS.items()})
    pages.update({"c": c_page(), "lua": lua_page()})
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/api/{name}.md", content=text))
    return files
