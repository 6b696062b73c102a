# fish completion for redlatch: commands, options, and the names of locks from the server.
# SPDX-License-Identifier: Apache-2.0

# Of the server that the typed words name.
function __redlatch_names
    redlatch complete (string escape -- (commandline -opc)) (commandline -ct) 2>/dev/null </dev/null
end

set -l commands run elect list show wait unlock acquire extend release doctor top help

complete -c redlatch -f
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a run -d 'Run a command while holding a lock'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a elect -d 'Run a command while being the leader'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a list -d 'List the locks on the server'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a show -d 'Show a lock'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a wait -d 'Wait until a lock is free'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a unlock -d 'Take a lock from its holder'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a acquire -d 'Acquire a lock for jobs of several steps'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a extend -d 'Prolong what acquire acquired'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a release -d 'Release what acquire acquired'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a top -d 'Show the locks as they change'
complete -c redlatch -n "__fish_seen_subcommand_from top" -s d -l delay -x -d 'The time between two refreshes'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a doctor -d 'Say what of the server will hurt locks'
complete -c redlatch -n "not __fish_seen_subcommand_from $commands" -a help -d 'The options of a command'
complete -c redlatch -n "__fish_seen_subcommand_from help" -a 'run elect list show wait unlock acquire extend release doctor top'
complete -c redlatch -n "__fish_seen_subcommand_from run elect show wait unlock acquire extend release doctor" -a '(__redlatch_names)'
complete -c redlatch -n "__fish_seen_subcommand_from run elect" -a '(__fish_complete_command)'

complete -c redlatch -s u -l url -x -d 'The server'
complete -c redlatch -l password-file -r -F -d 'File whose first line is the password'
complete -c redlatch -l tls-ca-file -r -F -d 'CA certificates'
complete -c redlatch -l tls-ca-dir -x -a '(__fish_complete_directories)' -d 'Folder of CA certificates'
complete -c redlatch -l tls-cert-file -r -F -d 'Certificate of the client'
complete -c redlatch -l tls-key-file -r -F -d 'Key of the client'
complete -c redlatch -l tls-server-name -x -d 'Name in the certificate of the server'
complete -c redlatch -l tls-verify -x -a 'full ca none' -d 'What is verified'
complete -c redlatch -l tls-min-version -x -a '1.2 1.3' -d 'Oldest version of TLS'
complete -c redlatch -l prefix -x -d 'Prefix of every name'
complete -c redlatch -s h -l help -d 'The options of this command'
complete -c redlatch -n "__fish_seen_subcommand_from run" -s s -l shared -d 'Together with other readers'
complete -c redlatch -n "__fish_seen_subcommand_from list show unlock doctor" -l json -d 'As JSON'
complete -c redlatch -n "__fish_seen_subcommand_from show" -l owner -x -d 'Check that this owner holds it'
complete -c redlatch -n "__fish_seen_subcommand_from unlock extend release" -l owner -x -d 'The owner id'
complete -c redlatch -n "__fish_seen_subcommand_from unlock" -s y -l yes -d 'Do not ask'
complete -c redlatch -n "__fish_seen_subcommand_from run wait acquire doctor" -s q -l quiet -d 'Print less'
complete -c redlatch -n "__fish_seen_subcommand_from acquire extend" -l lease -x -d 'How long the lock stays'
complete -c redlatch -n "__fish_seen_subcommand_from acquire" -l kind -x -a 'mutex fenced fair spin plain read write permit-semaphore' -d 'The kind of lock'
complete -c redlatch -n "__fish_seen_subcommand_from show" -l mine -d 'What the surrounding run holds'
complete -c redlatch -n "__fish_seen_subcommand_from unlock" -l force -d 'Whoever holds it'
complete -c redlatch -n "__fish_seen_subcommand_from run wait acquire" -s w -l wait -x -d 'Wait at most this long'
complete -c redlatch -n "__fish_seen_subcommand_from run acquire" -s n -l nonblock -d 'Do not wait'
complete -c redlatch -n "__fish_seen_subcommand_from run" -l once -d 'Skip if another machine runs it, with status 0'
complete -c redlatch -n "__fish_seen_subcommand_from run" -s E -l conflict-exit-code -x -d 'Status if not acquired'
complete -c redlatch -n "__fish_seen_subcommand_from run elect" -l lease -x -d 'How long the lock stays if this process dies'
complete -c redlatch -n "__fish_seen_subcommand_from run" -l max-hold -x -d 'End the command after this time'
complete -c redlatch -n "__fish_seen_subcommand_from run" -l at-least -x -d 'Hold the lock at least this long'
complete -c redlatch -n "__fish_seen_subcommand_from run elect" -l grace -x -d 'Time from TERM to KILL'
complete -c redlatch -n "__fish_seen_subcommand_from run" -l kind -x -a '@KINDS_OF_RUN@' -d 'The kind of lock'
complete -c redlatch -n "__fish_seen_subcommand_from elect" -l kind -x -a 'mutex fenced fair' -d 'The kind of lock'
complete -c redlatch -n "__fish_seen_subcommand_from wait" -l kind -x -a 'semaphore permit-semaphore latch' -d 'Kind of the name'
complete -c redlatch -n "__fish_seen_subcommand_from run" -l permits -x -d 'Number of permits'
complete -c redlatch -n "__fish_seen_subcommand_from run acquire" -l limit -x -d 'Make the semaphore with this many permits'
complete -c redlatch -n "__fish_seen_subcommand_from run acquire" -l key-template -x -d 'The key of a plain lock'
complete -c redlatch -n "__fish_seen_subcommand_from run elect" -l verbose -d 'Print what happens'
