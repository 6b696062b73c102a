"""The URLs of the example.

SPDX-License-Identifier: Apache-2.0
"""

from django.urls import path

from shop import views

urlpatterns = [path("accounts/<int:account>/recalculate", views.recalculate)]
