# SPDX-License-Identifier: Apache-2.0
"""The FastAPI recipe. Its work is that of guarded.py, which counts."""

import fastapi_app
import guarded

fastapi_app.recalculate = guarded.count_in_task
fastapi_app.recalculate_in_thread = guarded.count
app = fastapi_app.app
