"""Loads the compiled module and converts the few things that cross it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

from redlatch._core import ffi, lib

__all__ = ["FOREVER", "LEASE_OF_LOCK", "RENEWED", "CData", "ffi", "lib", "new_record", "text"]

# A value that cffi owns; it has no type that a checker could know.
CData = Any

FOREVER: int = lib.REDLATCH_FOREVER
RENEWED: int = lib.REDLATCH_RENEWED
LEASE_OF_LOCK: int = lib.REDLATCH_LEASE_OF_LOCK


def text(characters: CData) -> str:
    """A NUL-terminated C string; bytes that are no UTF-8, as a lock's name may hold, are shown escaped. A field of a
    record does not keep the record's memory: the caller has to."""
    value: bytes = ffi.string(characters)
    return value.decode("utf-8", "backslashreplace")


def new_record(type_name: str) -> CData:
    """A zeroed struct of the public header with its size filled in."""
    record = ffi.new(type_name + " *")
    record.struct_size = ffi.sizeof(type_name)
    return record
