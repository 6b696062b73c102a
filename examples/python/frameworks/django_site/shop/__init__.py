"""The app of the example.

SPDX-License-Identifier: Apache-2.0
"""
