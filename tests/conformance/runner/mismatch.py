# SPDX-License-Identifier: Apache-2.0
"""The exception of a trace that did not go as expected."""


class Mismatch(AssertionError):
    """States what was expected and what came instead."""
