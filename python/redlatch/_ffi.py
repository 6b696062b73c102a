"""Loads the compiled module, and converts strings and records of the core.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

from redlatch._core import ffi, lib

__all__ = ["FOREVER", "LEASE_OF_LOCK", "RENEWED", "CData", "ffi", "lib", "new_record", "text"]

# A value of cffi. Type checkers know no type for it.
CData = Any

FOREVER: int = lib.REDLATCH_FOREVER
RENEWED: int = lib.REDLATCH_RENEWED
LEASE_OF_LOCK: int = lib.REDLATCH_LEASE_OF_LOCK


def text(characters: CData) -> str:
    """Returns a NUL-terminated C string as str. Bytes that are not UTF-8, which a lock's name may contain, are escaped.
    If the string is a field of a record, the caller must keep the record alive: the field does not."""
    value: bytes = ffi.string(characters)
    return value.decode("utf-8", "backslashreplace")


def new_record(type_name: str) -> CData:
    """Returns a zeroed struct of the public header with its `struct_size` set."""
    record = ffi.new(type_name + " *")
    record.struct_size = ffi.sizeof(type_name)
    return record
