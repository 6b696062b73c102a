# SPDX-License-Identifier: Apache-2.0
"""The settings of the Django recipe. Its work is that of guarded.py, which counts."""

import guarded
from shop import work
from site_settings import *  # noqa: F403

work.recalculate = guarded.count
guarded.begin()
