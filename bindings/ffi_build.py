"""Writes the C source of the Python module `redlatch._core` (cffi, API mode).

Run by bindings/CMakeLists.txt as
    python ffi_build.py --compiler cc --output _core.c redlatch.h redlatch_events.h ... python_wait.h release.h
SPDX-License-Identifier: Apache-2.0
"""

import argparse
from pathlib import Path

import cffi
from cdef import declarations

MODULE = "redlatch._core"


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the C source of the Python module.")
    parser.add_argument("--compiler", default="cc", help="the C compiler whose preprocessor is used")
    parser.add_argument("--output", type=Path, required=True, help="the .c file to write")
    parser.add_argument("headers", type=Path, nargs="+", help="headers with marked parts, in the order of their needs")
    arguments = parser.parse_args()

    builder = cffi.FFI()
    builder.cdef(declarations(arguments.headers, arguments.compiler))
    builder.set_source(MODULE, "".join(f'#include "{header.name}"\n' for header in arguments.headers))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    builder.emit_c_code(str(arguments.output))


if __name__ == "__main__":
    main()
