"""Enables redlatch's fixtures for the tests of this folder.

SPDX-License-Identifier: Apache-2.0
"""

pytest_plugins = ["redlatch.testing"]
