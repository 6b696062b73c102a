"""Locks with the interface of other libraries, one module each.

SPDX-License-Identifier: Apache-2.0
"""
