"""Status: the statuses of the core's calls, by number and name.

SPDX-License-Identifier: Apache-2.0
"""

import enum


class Status(enum.IntEnum):
    """The status of a failed call, as in RedlatchError.status. Numbers and names are those of the C header, which
    describes each: Status.NO_REPLY is REDLATCH_NO_REPLY."""

    OK = 0
    TIMEOUT = -101
    NOT_OWNED = -102
    LOST = -103
    CANCELLED = -104
    AGAIN = -105
    UNCLAIMED = -106
    ALREADY_HELD = -107
    WOULD_DEADLOCK = -108
    NOT_FOUND = -109
    INVALID = -201
    CLOSED = -202
    FORKED = -203
    BAD_HANDLE = -204
    UNSUPPORTED = -205
    IN_USE = -206
    UNREACHABLE = -301
    NO_REPLY = -302
    PROTOCOL = -303
    SERVER = -401
    WRONG_TYPE = -402
    READ_ONLY = -403
    SERVER_OUT_OF_MEMORY = -404
    LOADING = -405
    SERVER_BUSY = -406
    AUTHENTICATION = -407
    NO_PERMISSION = -408
    TOO_MANY_CLIENTS = -409
    NOT_WRITABLE = -410
    NOT_REPLICATED = -411
    NO_MEMORY = -501
    SYSTEM = -502
    INTERNAL = -503
