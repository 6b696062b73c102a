# SPDX-License-Identifier: Apache-2.0
"""The Celery recipe. Its work is that of guarded.py, which counts."""

import celery_tasks
import guarded

celery_tasks.recalculate = guarded.count
app = celery_tasks.app
recalculate_account = celery_tasks.recalculate_account
