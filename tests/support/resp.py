# SPDX-License-Identifier: Apache-2.0
"""The Redis serialization protocol (RESP2 and RESP3): cutting a byte stream into frames, and writing frames.

The reader keeps each frame's own bytes beside its meaning, so that a proxy can pass on exactly what it received.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Sequence, Tuple, Union

# A reply is None, bool, int, float, str (simple string), bytes (bulk string), ErrorReply, or a list of these; a list
# that the server sent without being asked (RESP3) is a Push. Maps are lists of pairs.
Value = Any
Word = Union[str, bytes, int]

_BULK_TYPES = b"$!="
_AGGREGATE_TYPES = b"*~>%|"
_LONGEST_LINE = 1_048_576


class ProtocolError(ValueError):
    """The bytes are not RESP."""


class _Incomplete(Exception):
    """The buffer ends inside a frame."""


class ErrorReply(str):
    """An error reply; `word` is its first word, which is all that may be relied on."""

    @property
    def word(self) -> str:
        return self.split(" ", 1)[0]


class Push(List[Value]):
    """A RESP3 message that answers no command."""


@dataclass(frozen=True)
class Frame:
    """One whole command or reply: its bytes and what they mean."""

    raw: bytes
    value: Value


class FrameReader:
    """Cuts a stream into frames. With `commands`, a line that is no RESP array counts as an inline command."""

    def __init__(self, commands: bool = False) -> None:
        self._commands = commands
        self._buffer = bytearray()

    def feed(self, data: bytes) -> List[Frame]:
        """Add received bytes; return the frames that are now complete. Raises ProtocolError, once and for all."""
        self._buffer += data
        frames: List[Frame] = []
        start = 0
        while start < len(self._buffer):
            try:
                value, end = self._frame(start)
            except _Incomplete:
                break
            frames.append(Frame(bytes(self._buffer[start:end]), value))
            start = end
        del self._buffer[:start]
        return frames

    def take_rest(self) -> bytes:
        """The bytes that are no whole frame yet; the reader forgets them."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def _frame(self, start: int) -> Tuple[Value, int]:
        if not self._commands:
            return self._reply(start)
        if self._buffer[start] != ord("*"):
            line, end = self._line(start)
            return line.split(), end
        value, end = self._reply(start)
        if not isinstance(value, list) or not all(isinstance(argument, bytes) for argument in value):
            raise ProtocolError(f"a command is an array of bulk strings, not {value!r}")
        return value, end

    def _line(self, start: int) -> Tuple[bytes, int]:
        end = self._buffer.find(b"\n", start)
        if end < 0:
            if len(self._buffer) - start > _LONGEST_LINE:
                raise ProtocolError(f"a line of more than {_LONGEST_LINE} bytes")
            raise _Incomplete
        return bytes(self._buffer[start:end]).rstrip(b"\r"), end + 1

    def _reply(self, start: int) -> Tuple[Value, int]:
        kind = self._buffer[start] if start < len(self._buffer) else None
        if kind is None:
            raise _Incomplete
        line, position = self._line(start + 1)
        if kind in _BULK_TYPES:
            return self._bulk(kind, _integer(line), position)
        if kind in _AGGREGATE_TYPES:
            return self._aggregate(kind, _integer(line), position)
        return _scalar(kind, line), position

    def _bulk(self, kind: int, size: int, start: int) -> Tuple[Value, int]:
        if size < 0:
            return None, start
        end = start + size
        if len(self._buffer) < end + 2:
            raise _Incomplete
        content = bytes(self._buffer[start:end])
        if kind == ord("!"):
            return ErrorReply(content.decode("utf-8", "replace")), end + 2
        return (content[4:] if kind == ord("=") else content), end + 2

    def _aggregate(self, kind: int, size: int, start: int) -> Tuple[Value, int]:
        if size < 0:
            return None, start
        items: List[Value] = Push() if kind == ord(">") else []
        position = start
        for _ in range(size):
            item, position = self._reply(position)
            if kind in b"%|":
                second, position = self._reply(position)
                item = [item, second]
            items.append(item)
        return self._reply(position) if kind == ord("|") else (items, position)


def _integer(line: bytes) -> int:
    try:
        return int(line)
    except ValueError:
        raise ProtocolError(f"expected a number, found {line[:40]!r}") from None


def _scalar(kind: int, line: bytes) -> Value:
    text = line.decode("utf-8", "replace")
    if kind == ord("+"):
        return text
    if kind == ord("-"):
        return ErrorReply(text)
    if kind in b":(":
        return _integer(line)
    if kind == ord("_"):
        return None
    if kind == ord("#"):
        return text == "t"
    if kind == ord(","):
        return float(text)
    raise ProtocolError(f"no reply begins with {bytes([kind])!r}")


def encode_command(*words: Word) -> bytes:
    """A command as clients send it: an array of bulk strings."""
    return _array([_bulk(word) for word in words])


def encode_reply(value: Value) -> bytes:
    """A RESP2 reply: str as simple string, ErrorReply as error, bytes as bulk string, int, None, or a list of these."""
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, ErrorReply):
        return b"-" + value.encode() + b"\r\n"
    if isinstance(value, str):
        return b"+" + value.encode() + b"\r\n"
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, bytes):
        return _bulk(value)
    if isinstance(value, (list, tuple)):
        return _array([encode_reply(item) for item in value])
    raise TypeError(f"cannot write {value!r} as a reply; expected str, bytes, int, None, ErrorReply or a list of them")


def _bulk(word: Word) -> bytes:
    content = word if isinstance(word, bytes) else str(word).encode()
    return b"$%d\r\n%s\r\n" % (len(content), content)


def _array(parts: Sequence[bytes]) -> bytes:
    return b"*%d\r\n%s" % (len(parts), b"".join(parts))
