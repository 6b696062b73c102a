#!/bin/sh
# One process of the counter race, as a shell script: a new `redlatch run` for every addition.
#
#   counter.sh URL FILE ADDITIONS locked|unlocked PROGRAM
#   counter.sh add FILE                            one addition: what the lock is there to guard
# SPDX-License-Identifier: Apache-2.0
set -eu

# Writes over the ten digits, as the other languages do; > would empty the file first.
add_one() {
    read -r value <"$1"
    value=${value#"${value%%[!0]*}"}
    printf '%010d\n' "$((${value:-0} + 1))" 1<>"$1"
}

if [ "$1" = add ]; then
    add_one "$2"
    exit
fi

url=$1 file=$2 additions=$3 mode=$4 program=$5
echo ready
read -r _
while [ "$additions" -gt 0 ]; do
    additions=$((additions - 1))
    if [ "$mode" = locked ]; then
        "$program" run --url "$url" counter -- sh "$0" add "$file"
    else
        add_one "$file"
    fi
done
echo 0 # hand-overs inside this process
