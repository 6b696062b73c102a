#!/bin/sh
# A cron job for several machines: the first to come does the work, the others skip it.
#
#     0 3 * * *  REDIS_URL=redis://redis.example.net:6379/0 /usr/local/bin/nightly.sh
#
# The script starts itself again under the lock, so that nobody can run it without.
# SPDX-License-Identifier: Apache-2.0
set -eu
name=example:nightly

if [ "${REDLATCH_LOCK:-}" != "$name" ]; then
    # The lock is kept for a minute at least. Otherwise a machine whose clock is late would find the lock free after a
    # short job, and do the job again.
    exec redlatch run --once --at-least "${AT_LEAST:-60}" "$name" -- "$0" "$@"
fi

echo "doing the work of $(date +%F)"
