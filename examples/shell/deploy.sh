#!/bin/sh
# Deployments of one service, one after the other, from whatever machine.
#
#     deploy.sh SERVICE
#
# SPDX-License-Identifier: Apache-2.0
set -eu
service=${1:?usage: deploy.sh SERVICE}
name=deploy:$service

if [ "${REDLATCH_LOCK:-}" != "$name" ]; then
    if redlatch show "$name" >/dev/null; then
        echo "another deployment of $service is under way:"
        redlatch show "$name"
    fi
    # Status 1 after five minutes without the lock, 70 if the lock was lost on the way.
    exec redlatch run --wait 300 "$name" -- "$0" "$@"
fi

echo "building $service"
# Before the step that cannot be taken back: is the lock still ours, by the server's word?
redlatch show --mine >/dev/null || { echo "the lock of $service was lost" >&2 && exit 1; }
echo "$service is switched over"
