# SPDX-License-Identifier: Apache-2.0
"""The one exception of a trace that did not go as it says."""


class Mismatch(AssertionError):
    """What was expected, and what came instead."""
