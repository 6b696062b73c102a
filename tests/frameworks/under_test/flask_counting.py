# SPDX-License-Identifier: Apache-2.0
"""The Flask recipe. Its work is that of guarded.py, which counts."""

import flask_app
import guarded

flask_app.recalculate = guarded.count
app = flask_app.app
