/* Planted faults. A test of the simulation plants one at a time, to show that the simulation finds it. The faults
 * behind FAULT_COUNT are about the server that a client is on, and about its password; a test of the schedule plants
 * them. In a normal build PLANTED is false and costs nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANTED_H
#define PLANTED_H

enum planted_fault {
    FAULT_NONE,
    FAULT_NO_MARGIN,                /* the safe time is longer than the lease */
    FAULT_DEADLINE_FROM_REPLY,      /* the safe time is counted from the reply instead of from sending */
    FAULT_RENEWAL_OUTLIVES_RELEASE, /* a hold is renewed after its release was sent: it is renewed for ever */
    FAULT_NO_RECHECK_AFTER_SUBSCRIBE,
    FAULT_NO_RECHECK_AFTER_RESUBSCRIBE,
    FAULT_NO_COMPENSATION,           /* an abandoned acquire is not undone */
    FAULT_NO_HAND_OVER_COMPENSATION, /* a waiter that gives up during its hand-over does not undo it */
    FAULT_ABANDONED_IS_RESENT,       /* an abandoned acquire is sent again after a reconnect */
    FAULT_RESOLVED_TOO_EARLY,        /* commands in doubt are sent again before the old connection was killed */
    FAULT_END_UNSEEN,             /* a command that is written to a connection that ended while idle counts as sent */
    FAULT_HOLDS_NOT_VERIFIED,     /* holds are not verified after the end of a connection */
    FAULT_REENTRY_NOT_INTENDED,   /* a re-entry states a hold count that is one too low */
    FAULT_RESENT_RELEASE_IS_LOST, /* a release that was sent again and finds nothing always ends with LOST */
    FAULT_LATE_GRANT_IS_KEPT,     /* a grant that arrives after its own deadline is believed */
    FAULT_BACKGROUND_COUNTS_LATE, /* a release in the background of a lost hold counts when its reply comes */
    FAULT_MESSAGE_MISSED_WHILE_REQUESTING,
    FAULT_NEXT_WAITER_SLEEPS,      /* after a waiter left, the next one does not recheck */
    FAULT_HAND_OVER_UNBOUNDED,     /* a process never releases a lock that its own threads wait for */
    FAULT_EXTEND_BEFORE_ANSWERED,  /* an extension is sent while a renewal is in flight */
    FAULT_WIRE_ID_REUSED,          /* all holds of a thread have the same owner id */
    FAULT_LOSS_UNREPORTED,         /* a renewal that finds nothing is taken for success */
    FAULT_POSITION_IS_KEPT,        /* fair: a waiter that gives up keeps its position */
    FAULT_POSITIONS_NOT_REFRESHED, /* fair: positions are not refreshed in time */
    FAULT_SPINS_SELDOM,            /* a waiter that polls rechecks as seldom as one with a subscription */
    FAULT_UPGRADE_WAITS,    /* read-write: an owner of the read lock waits for the write lock, and so for itself */
    FAULT_READERS_OVERTAKE, /* readers overtake a waiting writer */
    FAULT_READERS_WOKEN_ONE_BY_ONE,      /* only the foremost reader is woken */
    FAULT_UNCONFIRMED_AFTER_DEADLINE,    /* an unconfirmed release of a lost hold ends with OK */
    FAULT_UNCONFIRMED_UNREPORTED,        /* the failure of an unconfirmed release is not reported */
    FAULT_SET_UNDONE_IN_PART,            /* the undo of a set omits a name */
    FAULT_MINORITY_IS_ENOUGH,            /* several servers: one group less than the quorum is enough */
    FAULT_ROUND_KEPT_IN_PART,            /* a failed round does not release what it was granted */
    FAULT_LATE_ROUND_IS_BELIEVED,        /* a round that took longer than the lease is believed */
    FAULT_WATCH_IS_FORGOTTEN,            /* the end of the watch of a member is ignored */
    FAULT_MINORITY_LOSES_ALL,            /* the loss of a minority is reported as the loss of the whole lock */
    FAULT_RECORD_OF_LATE_COPY_REUSED,    /* a record is overwritten although a copy of its command may arrive late */
    FAULT_RECORD_WITHOUT_ANSWER_REUSED,  /* the same although its command was not answered */
    FAULT_NOT_VERIFIED_AFTER_MOVE,       /* holds are not verified after a move */
    FAULT_MISSING_IS_KEPT,               /* a hold with a fixed lease that is missing is kept */
    FAULT_MISSING_UNREPORTED,            /* the loss of a hold that is missing is not reported */
    FAULT_WAITERS_NOT_MOVED,             /* waiters do not recheck after a move */
    FAULT_LEASE_OF_LEFT_SERVER,          /* after a move a hold is believed for as long as the old server said */
    FAULT_RENEWAL_IN_DOUBT_COUNTS,       /* a renewal in doubt at the old server counts as confirmed */
    FAULT_RELEASE_OF_MISSING_IS_OK,      /* a release that finds nothing ends with OK */
    FAULT_RELEASE_IN_DOUBT_IS_DROPPED,   /* a release in doubt at the old server is not sent again */
    FAULT_EARLIER_ACKNOWLEDGEMENT,       /* the acknowledgements of an earlier command count */
    FAULT_ONE_REPLICA_TOO_FEW,           /* one replica too few is enough */
    FAULT_UNACKNOWLEDGED_GRANT_IS_KEPT,  /* a grant that too few replicas acknowledged is believed */
    FAULT_UNACKNOWLEDGED_IS_LEFT,        /* a grant that too few replicas acknowledged is not given back */
    FAULT_UNACKNOWLEDGED_RENEWAL,        /* a renewal that too few replicas acknowledged moves the deadline */
    FAULT_UNACKNOWLEDGED_EXTENSION,      /* the same for an extension */
    FAULT_UNACKNOWLEDGED_HAND_OVER,      /* a lock is handed over although no replica acknowledges that */
    FAULT_COMMANDS_NOT_RETURNED,         /* a waiter that undid many requests has no command left */
    FAULT_PERMITS_GIVEN_BACK_IN_PART,    /* of several permits only the first one is given back */
    FAULT_NAMES_STAY,                    /* the names of a slot that moved stay with the old node */
    FAULT_MOVE_NOT_NOTED,                /* a hold is believed for as long as the old node of its name said */
    FAULT_WAITERS_STAY,                  /* waiters do not recheck when their name moves */
    FAULT_CHANNELS_STAY,                 /* channels are not requested from the new node */
    FAULT_CHANNEL_ENDS_UNSEEN,           /* a subscription that ends because its slot moved is not requested again */
    FAULT_OLD_NODE_CONFIRMS,             /* a confirmation by the old node counts as one by the new node */
    FAULT_UNSENT_STAYS,                  /* commands that the old node was not sent wait for that node */
    FAULT_DOUBT_STAYS,                   /* commands in doubt at the old node wait for that node */
    FAULT_DOUBT_COUNTS_AS_CARRIED_OUT,   /* a command in doubt when its name moves counts as run */
    FAULT_DOUBT_COUNTS_AS_REFUSED,       /* the same, but it counts as not run */
    FAULT_UNDOS_STAY,                    /* undos go to the node that had the name before it moved */
    FAULT_REDIRECTED_COUNTS_AS_SENT,     /* a redirected command counts as sent before when it is sent again */
    FAULT_REDIRECTED_TO_SAME,            /* a redirected command goes to the same node again */
    FAULT_REDIRECTED_IS_DROPPED,         /* a redirected command is not sent again */
    FAULT_REDIRECTED_WITHOUT_END,        /* nodes that redirect to each other are followed for ever */
    FAULT_REDIRECTION_RETURNED,          /* the last redirection is passed on to the caller */
    FAULT_IMPORT_UNANNOUNCED,            /* ASK is followed without ASKING */
    FAULT_ASK_IS_MOVED,                  /* ASK changes the node of the name */
    FAULT_OLD_ASK_IS_FOLLOWED,           /* ASK is followed once the importer has a connection, however late */
    FAULT_TRYAGAIN_IS_FATAL,             /* a call ends with TRYAGAIN */
    FAULT_CLUSTERDOWN_IS_FATAL,          /* a call ends with CLUSTERDOWN */
    FAULT_NON_LOCAL_IS_FATAL,            /* a call ends with the error of a script whose key is on another node */
    FAULT_SLOTS_IN_ONE_RENEWAL,          /* a renewal has names of several slots */
    FAULT_OLD_TOPOLOGY_BELIEVED,         /* a topology undoes redirections that came after it was requested */
    FAULT_CHANNELS_FOLLOW_WITHOUT_PAUSE, /* nodes that redirect a channel to each other are followed without a pause */
    FAULT_COUNT,
    FAULT_OTHER_PROCESS_IGNORED,  /* a new connection to another process counts as one to the same process */
    FAULT_ONE_CONNECTION_MOVES,   /* only the connection that found the new server moves */
    FAULT_LISTENS_TO_OLD,         /* the connection for messages stays on the old server */
    FAULT_READ_ONLY_RETURNED,     /* the READONLY of a replica is passed on to the caller */
    FAULT_REPLICA_TAKEN,          /* a replica is taken for the master */
    FAULT_MOVES_WITHOUT_END,      /* moves back and forth are not counted */
    FAULT_MOVE_UNREPORTED,        /* the host is not notified of a move */
    FAULT_SWITCH_IGNORED,         /* a sentinel's message of a new master is ignored */
    FAULT_SENTINEL_NOT_REPLACED,  /* after its sentinel went down the client listens to none */
    FAULT_NAME_NOT_WATCHED,       /* a host name with a new address moves no connection */
    FAULT_OLD_LOOKUP_BELIEVED,    /* an old lookup counts as the current address */
    FAULT_NO_AUTH_ON_OPEN,        /* new credentials are for new connections only */
    FAULT_AUTH_ON_ONE,            /* new credentials are sent on the first connection only */
    FAULT_MESSAGES_KEEP_PASSWORD, /* the connection for messages keeps its credentials */
    FAULT_SUCCESSOR_HEARS_LESS,   /* the successor takes over before it is subscribed */
    FAULT_OLD_CLOSED_FIRST,       /* the connection for messages is closed before its successor is ready */
    FAULT_REFUSED_FOR_EVER,       /* after a refusal the successor is not tried with the next credentials */
    FAULT_REFUSED_UNREPORTED,     /* the host is not notified of refused credentials */
    FAULT_REFUSED_REPORTED_AGAIN, /* the host is notified at each refusal */
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
