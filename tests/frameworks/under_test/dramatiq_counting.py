# SPDX-License-Identifier: Apache-2.0
"""The dramatiq recipe. Its work is that of guarded.py, which counts."""

import dramatiq_tasks
import guarded

dramatiq_tasks.recalculate = guarded.count
broker = dramatiq_tasks.broker
recalculate_account = dramatiq_tasks.recalculate_account
