# bash completion for redlatch: commands, options, and the names of locks from the server.
# SPDX-License-Identifier: Apache-2.0

_redlatch_names() {
    redlatch list 2>/dev/null </dev/null | awk 'NR > 1 { print $1 }'
}

_redlatch() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
    local place='--url --prefix --help' options index
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'run list show wait unlock --help --version' -- "$word")
        return
    fi
    case $before in
    --kind)
        mapfile -t COMPREPLY < <(compgen -W 'mutex fenced fair spin plain' -- "$word")
        return
        ;;
    -u | --url | --prefix | -w | --wait | -E | --conflict-exit-code | --lease | --max-hold | --min-hold | --grace | --owner)
        return
        ;;
    esac
    case $command in
    run) options="--nonblock --wait --conflict-exit-code --lease --max-hold --min-hold --grace --kind --verbose $place" ;;
    list) options="--json $place" ;;
    show) options="--json --owner $place" ;;
    wait) options="--wait $place" ;;
    unlock) options="--force --json $place" ;;
    *) return ;;
    esac
    if [ "$command" = run ]; then # behind the name stands a command, with completions of its own
        for ((index = 2; index < COMP_CWORD; index++)); do
            case ${COMP_WORDS[index]} in
            -u | --url | --prefix | -w | --wait | -E | --conflict-exit-code | --lease | --max-hold | --min-hold | --grace | --kind)
                index=$((index + 1))
                ;;
            -*) ;;
            *)
                index=$((index + 1))
                [ "${COMP_WORDS[index]-}" = -- ] && [ "$index" -lt "$COMP_CWORD" ] && index=$((index + 1))
                if declare -F _command_offset >/dev/null; then
                    _command_offset "$index"
                else
                    mapfile -t COMPREPLY < <(compgen -c -- "$word")
                fi
                return
                ;;
            esac
        done
    fi
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$(_redlatch_names)" -- "$word") ;;
    esac
}

complete -F _redlatch redlatch
