# bash completion for redlatch: commands, options, and the names of locks from the server.
# SPDX-License-Identifier: Apache-2.0

# Bash parts words at the colons that names and URLs have. What the program will get goes to `words`, the place of each
# in COMP_WORDS to `starts`, and what stands before the cursor's own piece of the last one to `head`.
_redlatch_words() {
    local rest=${COMP_LINE:0:COMP_POINT} index blank piece
    words=() starts=()
    for ((index = 0; index <= COMP_CWORD; index++)); do
        blank=${rest%%[![:space:]]*}
        rest=${rest#"$blank"}
        piece=${COMP_WORDS[index]}
        [ "$index" -eq "$COMP_CWORD" ] && piece=$rest
        if [ "$index" -eq 0 ] || [ -n "$blank" ]; then
            words+=("$piece")
            starts+=("$index")
        else
            words[${#words[@]} - 1]+=$piece
        fi
        rest=${rest#"$piece"}
    done
    head=${words[${#words[@]} - 1]}
    [[ $piece == *[!:=]* ]] && head=${head%"$piece"}
}

# Offers the names that begin with the last word, of the server that the words name.
_redlatch_offer_names() {
    local name
    while IFS= read -r name; do
        COMPREPLY+=("$(printf %q "$name")")
    done < <(redlatch complete "${words[@]}" 2>/dev/null </dev/null)
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
}

_redlatch() {
    local words starts head
    _redlatch_words
    local last=$((${#words[@]} - 1))
    local word=${words[last]} before=${words[last - 1]}
    local tls='--tls-ca-file --tls-ca-dir --tls-cert-file --tls-key-file --tls-server-name --tls-verify --tls-min-version'
    local place="--url --password-file --prefix $tls --help"
    local at=1 command options index
    COMPREPLY=()
    while [ "$at" -lt "$last" ]; do # options before the command
        case ${words[at]} in
        -u | --url | --password-file | --prefix | --tls-*) at=$((at + 2)) ;;
        -*) at=$((at + 1)) ;;
        *) break ;;
        esac
    done
    command=${words[at]-}
    if [ "$at" -eq "$last" ] || [ "$command" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "run elect list show wait unlock acquire extend release doctor top help $place --version" -- "$word")
        return
    fi
    case $before in
    --kind)
        local kinds='@KINDS_OF_RUN@'
        [ "$command" = wait ] && kinds='semaphore permit-semaphore latch'
        [ "$command" = elect ] && kinds='mutex fenced fair'
        [ "$command" = acquire ] && kinds='@KINDS_OF_ACQUIRE@'
        mapfile -t COMPREPLY < <(compgen -W "$kinds" -- "$word")
        return
        ;;
    --password-file | --tls-*-file)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --tls-ca-dir)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --tls-verify)
        mapfile -t COMPREPLY < <(compgen -W 'full ca none' -- "$word")
        return
        ;;
    --tls-min-version)
        mapfile -t COMPREPLY < <(compgen -W '1.2 1.3' -- "$word")
        return
        ;;
    -u | --url | --prefix | --tls-server-name | -w | --wait | -d | --delay | -E | --conflict-exit-code | --lease | --max-hold | --at-least | --grace | \
        --permits | --limit | --key-template | --label | --owner)
        return
        ;;
    esac
    case $command in
    run) options="--nonblock --once --shared --wait --conflict-exit-code --lease --max-hold --at-least --grace --kind --permits --limit --key-template --label --quiet --verbose $place" ;;
    elect) options="--lease --grace --kind --label --verbose $place" ;;
    list) options="--wide --json $place" ;;
    show) options="--json --owner --mine $place" ;;
    wait) options="--wait --quiet --kind $place" ;;
    unlock) options="--owner --force --yes --json $place" ;;
    acquire) options="--lease --nonblock --wait --kind --limit --key-template --quiet $place" ;;
    extend) options="--owner --lease $place" ;;
    release) options="--owner $place" ;;
    top) options="--delay $place" ;;
    doctor) options="--quiet --json $place" ;;
    *) return ;;
    esac
    if [ "$command" = run ] || [ "$command" = elect ]; then # behind -- stands a command, with completions of its own
        for ((index = at + 1; index < last; index++)); do
            [ "${words[index]}" = -- ] || continue
            if declare -F _command_offset >/dev/null; then
                _command_offset "${starts[index + 1]}"
            else
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            fi
            return
        done
    fi
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *) _redlatch_offer_names ;;
    esac
}

complete -F _redlatch redlatch
