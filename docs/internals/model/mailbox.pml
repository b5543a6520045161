/* The mailbox of a job: park and wake.
 *
 * A handler waits for a signal; somebody sends it, before, while, or after. Both insert or lock the mailbox row (job, name) first,
 * and look then: neither can miss the other. A third party may lose the lease meanwhile, so that the handler parks again.
 *
 * Holds: the signal is not missed (a job that parks wakes up in the end), it is delivered once, the job is in one place.
 *
 * variant NO_LOCK:      park looks for a signal before it locks the mailbox row (park.mailbox)
 * variant OLD_SNAPSHOT: wake looks for the parked job in the statement that wrote the signal, with a snapshot from before it
 *                       waited for the row (wake.new_statement)
 */
byte leased = 1, parked = 0, ready = 0;
bool row_locked = false;       /* the mailbox row, by an open transaction */
bool sent = false;             /* committed */
bool told = false;             /* park answered `signalled`: the handler has it */

#define CONSERVED (leased + parked + ready == 1)

proctype handler() {
  bool saw;
  do
  :: leased == 1 ->
#ifdef NO_LOCK
     saw = sent;
     atomic { !row_locked -> row_locked = true };
#else
     atomic { !row_locked -> row_locked = true };
     saw = sent;
#endif
     if
     :: saw -> told = true; row_locked = false; break
     :: else -> atomic { leased = 0; parked = 1; row_locked = false }
     fi
  :: atomic { ready == 1 -> ready = 0; leased = 1 }       /* claimed again */
  od
}

proctype sender() {
  bool is_parked;
#ifdef OLD_SNAPSHOT
  is_parked = (parked == 1);
  atomic { !row_locked -> row_locked = true };
#else
  atomic { !row_locked -> row_locked = true };
  is_parked = (parked == 1);
#endif
  atomic {
    sent = true;
    if
    :: is_parked -> parked = 0; ready = 1                   /* woken */
    :: else                                                 /* kept */
    fi;
    row_locked = false
  }
}

init { atomic { run handler(); run sender() } }

ltl conserved { [] CONSERVED }
ltl not_missed { <> told }
