"""The settings of the example. redlatch needs none of them. There is no database.

SPDX-License-Identifier: Apache-2.0
"""

import os

SECRET_KEY = os.environ.get("SECRET_KEY", "of the example")
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
