"""The settings of the example: what Django needs to run, and nothing that redlatch needs. It has no database.

SPDX-License-Identifier: Apache-2.0
"""

import os

SECRET_KEY = os.environ.get("SECRET_KEY", "of the example")
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
