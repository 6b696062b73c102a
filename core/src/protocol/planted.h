/* Faults that the simulation's own test plants one at a time, to show that it would find them; and behind FAULT_COUNT
 * those in which server a client is on, and in its password, which the schedule's test plants.
 * In a normal build there is nothing of this: PLANTED is false and costs nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_H
#define PLANTED_H

enum planted_fault {
    FAULT_NONE,
    FAULT_NO_MARGIN,                /* the safe time is longer than the lease */
    FAULT_DEADLINE_FROM_REPLY,      /* validity counted from the reply instead of from sending */
    FAULT_RENEWAL_OUTLIVES_RELEASE, /* release is sent before renewal is cancelled, by its old name: renewed for ever */
    FAULT_NO_RECHECK_AFTER_SUBSCRIBE,
    FAULT_NO_RECHECK_AFTER_RESUBSCRIBE,
    FAULT_NO_COMPENSATION,           /* an abandoned acquire is not undone */
    FAULT_NO_HAND_OVER_COMPENSATION, /* a waiter that gives up during its hand-over leaves it */
    FAULT_ABANDONED_IS_RESENT,       /* an abandoned acquire is sent again after a reconnect */
    FAULT_RESOLVED_TOO_EARLY,        /* resent before the old connection was killed */
    FAULT_END_UNSEEN,                /* what is written to a connection that ended while unused counts as sent */
    FAULT_HOLDS_NOT_VERIFIED,        /* the end of a connection makes nobody ask about the holds */
    FAULT_REENTRY_NOT_INTENDED,      /* re-entry states one level too few */
    FAULT_RESENT_RELEASE_IS_LOST,    /* a resent release that finds nothing always says LOST */
    FAULT_LATE_GRANT_IS_KEPT,        /* a grant that arrives after its own deadline is believed */
    FAULT_MESSAGE_MISSED_WHILE_REQUESTING,
    FAULT_NEXT_WAITER_SLEEPS,            /* a waiter that leaves does not make the next one look */
    FAULT_HAND_OVER_UNBOUNDED,           /* a process never lets go of a lock that its own threads want */
    FAULT_EXTEND_BEFORE_ANSWERED,        /* a shortening is sent while a renewal is under way */
    FAULT_WIRE_ID_REUSED,                /* the owner id is the thread's for ever */
    FAULT_LOSS_UNREPORTED,               /* a renewal that finds nothing is taken for success */
    FAULT_POSITION_IS_KEPT,              /* fair: who gives up stays in the server's queue */
    FAULT_POSITIONS_NOT_REFRESHED,       /* fair: nobody says in time that the waiters are still there */
    FAULT_SPINS_SELDOM,                  /* a waiter that polls waits for a message all the same */
    FAULT_UPGRADE_WAITS,                 /* read-write: who reads and asks to write waits for itself */
    FAULT_READERS_OVERTAKE,              /* a waiting writer holds nobody back */
    FAULT_READERS_WOKEN_ONE_BY_ONE,      /* only the foremost reader is woken */
    FAULT_UNCONFIRMED_AFTER_DEADLINE,    /* an unconfirmed release of a lost hold says OK */
    FAULT_UNCONFIRMED_UNREPORTED,        /* what the reply to an unconfirmed release says is not reported */
    FAULT_SET_UNDONE_IN_PART,            /* the undo of a set forgets a name */
    FAULT_MINORITY_IS_ENOUGH,            /* several servers: one too few counts as enough */
    FAULT_ROUND_KEPT_IN_PART,            /* what a failed round was granted is not given back */
    FAULT_LATE_ROUND_IS_BELIEVED,        /* a round that took longer than the lease is believed */
    FAULT_WATCH_IS_FORGOTTEN,            /* the end of the wait for a member is not heard */
    FAULT_MINORITY_LOSES_ALL,            /* the loss of a part is told as one of the whole */
    FAULT_RECORD_OF_LATE_COPY_REUSED,    /* a record is overwritten although a copy of its command may arrive late */
    FAULT_RECORD_WITHOUT_ANSWER_REUSED,  /* the same although its command was not answered */
    FAULT_NOT_VERIFIED_AFTER_MOVE,       /* holds are not verified on another server */
    FAULT_MISSING_IS_KEPT,               /* a hold that is only queried, and missing, is kept */
    FAULT_MISSING_UNREPORTED,            /* the loss of a hold that is missing is not reported */
    FAULT_WAITERS_NOT_MOVED,             /* waiters do not ask another server */
    FAULT_LEASE_OF_LEFT_SERVER,          /* a hold is believed for as long as on the server that was left */
    FAULT_RENEWAL_IN_DOUBT_COUNTS,       /* a renewal that the server that was left did not answer counts */
    FAULT_RELEASE_OF_MISSING_IS_OK,      /* a release that finds nothing says OK */
    FAULT_RELEASE_IN_DOUBT_IS_DROPPED,   /* a release that the server that was left did not answer is not sent again */
    FAULT_EARLIER_ACKNOWLEDGEMENT,       /* what replicas acknowledged of an earlier command counts */
    FAULT_ONE_REPLICA_TOO_FEW,           /* one replica too few is enough */
    FAULT_UNACKNOWLEDGED_GRANT_IS_KEPT,  /* a grant that too few replicas have is believed */
    FAULT_UNACKNOWLEDGED_IS_LEFT,        /* what too few replicas have is not given back */
    FAULT_UNACKNOWLEDGED_RENEWAL,        /* a renewal that too few replicas have moves the deadline */
    FAULT_UNACKNOWLEDGED_EXTENSION,      /* the same of an extension */
    FAULT_UNACKNOWLEDGED_HAND_OVER,      /* a lock is handed over, which no replica acknowledges */
    FAULT_COMMANDS_NOT_RETURNED,         /* a waiter that gave back often has no command left to give back with */
    FAULT_PERMITS_GIVEN_BACK_IN_PART,    /* of several permits only the first one is given back */
    FAULT_NAMES_STAY,                    /* the names of a slot that moved go on leading to its old node */
    FAULT_MOVE_NOT_NOTED,                /* a hold is believed for as long as the old node of its name said */
    FAULT_WAITERS_STAY,                  /* waiters do not recheck when their name moves */
    FAULT_CHANNELS_STAY,                 /* channels are not asked for at the new node */
    FAULT_CHANNEL_ENDS_UNSEEN,           /* the end of a subscription, as its slot moved, is not heard */
    FAULT_OLD_NODE_CONFIRMS,             /* what the old node confirms counts as heard from the new one */
    FAULT_UNSENT_STAYS,                  /* what an old node was not sent waits for that node */
    FAULT_DOUBT_STAYS,                   /* what is in doubt at an old node waits for that node */
    FAULT_DOUBT_COUNTS_AS_CARRIED_OUT,   /* what is in doubt when its name moves counts as carried out */
    FAULT_DOUBT_COUNTS_AS_REFUSED,       /* the same, as not carried out */
    FAULT_UNDOS_STAY,                    /* undos go where they would have gone before the name moved */
    FAULT_REDIRECTED_COUNTS_AS_SENT,     /* what was redirected counts as sent twice when it is sent again */
    FAULT_REDIRECTED_TO_SAME,            /* what is redirected goes to the same node again */
    FAULT_REDIRECTED_IS_DROPPED,         /* what is redirected is not sent again */
    FAULT_REDIRECTED_WITHOUT_END,        /* nodes that redirect to each other are followed for ever */
    FAULT_REDIRECTION_RETURNED,          /* the last redirection is passed on to the caller */
    FAULT_IMPORT_UNANNOUNCED,            /* ASK is followed without ASKING */
    FAULT_ASK_IS_MOVED,                  /* ASK changes where the name leads */
    FAULT_OLD_ASK_IS_FOLLOWED,           /* ASK is followed when there is a connection, however late */
    FAULT_TRYAGAIN_IS_FATAL,             /* a call ends with TRYAGAIN */
    FAULT_CLUSTERDOWN_IS_FATAL,          /* a call ends with CLUSTERDOWN */
    FAULT_SLOTS_IN_ONE_RENEWAL,          /* a renewal has names of several slots */
    FAULT_OLD_TOPOLOGY_BELIEVED,         /* a topology undoes redirections that came after it was requested */
    FAULT_CHANNELS_FOLLOW_WITHOUT_PAUSE, /* nodes that redirect a channel to each other are followed at once */
    FAULT_COUNT,
    FAULT_OTHER_PROCESS_IGNORED,  /* another process at the end of a new connection is taken for the same */
    FAULT_ONE_CONNECTION_MOVES,   /* only the connection that noticed leads to the new server */
    FAULT_LISTENS_TO_OLD,         /* the connection for messages stays with the old server */
    FAULT_READ_ONLY_RETURNED,     /* a replica's refusal is passed on to the caller */
    FAULT_REPLICA_TAKEN,          /* a replica is taken for the master */
    FAULT_MOVES_WITHOUT_END,      /* moves back and forth are not counted */
    FAULT_MOVE_UNREPORTED,        /* the host is not notified of a move */
    FAULT_NAME_NOT_WATCHED,       /* a name that leads elsewhere moves nobody */
    FAULT_OLD_LOOKUP_BELIEVED,    /* where a name led long ago counts as where it leads */
    FAULT_NO_AUTH_ON_OPEN,        /* new credentials are for new connections only */
    FAULT_AUTH_ON_ONE,            /* they are said on the first connection only */
    FAULT_MESSAGES_KEEP_PASSWORD, /* the connection for messages stays as it was */
    FAULT_SUCCESSOR_HEARS_LESS,   /* its successor takes its place before it is subscribed */
    FAULT_OLD_CLOSED_FIRST,       /* it is closed before its successor is there */
    FAULT_REFUSED_FOR_EVER,       /* after a refusal the successor is not tried with the next credentials */
    FAULT_REFUSED_UNREPORTED,     /* the host is not notified of refused credentials */
    FAULT_REFUSED_REPORTED_AGAIN, /* it is notified at each refusal */
    FAULT_PASSWORD_NOT_WIPED,     /* the old password stays in memory that is freed */
    FAULT_END
};

#ifdef REDLATCH_PLANTED_FAULTS
extern enum planted_fault planted_fault;
#define PLANTED(fault) (planted_fault == (fault))
#else
#define PLANTED(fault) 0
#endif

#endif
