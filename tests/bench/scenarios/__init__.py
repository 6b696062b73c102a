# SPDX-License-Identifier: Apache-2.0
"""The scenarios: one file each, found and registered by themselves."""
