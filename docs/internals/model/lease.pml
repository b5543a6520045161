/* The life of one job under leases: claim, finish, fail, lose, release, cancel.
 *
 * Two workers, one of which may stall at any point (every statement of a process may come arbitrarily late), a reaper that may
 * find any lease run out at any time, and replies that get lost: a settle is then asked again. Each atomic block is a
 * transaction.
 *
 * Holds: the job is in exactly one place; it has at most one outcome; effects that commit together with the outcome happen
 * once; a settle never ends another's lease; what is told is true; the job ends.
 *
 * variant NO_FENCE_LEASE: finish asks for the job only, not for the lease (finish.fence)
 * variant NO_MOVE:        finish records its outcome without looking whether its DELETE found the lease (finish.fence_lease)
 * variant NO_RECHECK:     lose picks a lease in one statement and takes it back in another, by the job (lose.recheck)
 * variant NO_ALREADY:     a finish that is asked again is told `stale`, though it was this lease that ended the job (finish.already)
 * variant NO_CANCEL_FLAG: a cancel of a leased job leaves no flag, and answers as if it did (lose.cancel)
 */
#define WORKERS 2
#define LOSSES_MAX 2
/* Giving back and dying end some time: otherwise nothing could be said about the end of the job. */
#define GIVEN_BACK_MAX 2

/* The place rows. */
byte ready = 1, leased = 0, finished = 0;
byte lease_seq = 0, lease_id = 0;       /* of the leased row */
byte ended_by = 0;                      /* the lease that the outcome names */
byte abandoned = 0;                     /* a lease whose worker was killed */
byte outcomes = 0, effects = 0, losses = 0, given_back = 0;
bool cancel_flag = false, cancel_said = false, cancelled = false;

#define CONSERVED (ready + leased + finished == 1)

inline claim(mine) {
  atomic {
    ready == 1 -> ready = 0; leased = 1;
    lease_seq++; lease_id = lease_seq; mine = lease_id; cancel_flag = false
  }
}

/* answer: 1 finished, 2 already, 3 stale */
inline finish(mine, answer) {
  atomic {
    if
#ifdef NO_FENCE_LEASE
    :: leased == 1 ->
#else
    :: leased == 1 && lease_id == mine ->
#endif
       assert(lease_id == mine);        /* nobody ends another's lease */
       leased = 0; finished++; outcomes++; effects++; ended_by = mine; answer = 1
#ifdef NO_MOVE
    :: else -> leased = 0; ready = 0; finished++; outcomes++; effects++; ended_by = mine; answer = 1
#else
    :: else ->
       if
#ifndef NO_ALREADY
       :: finished == 1 && ended_by == mine -> answer = 2
#endif
       :: else -> answer = 3
       fi
#endif
    fi
  }
}

/* Gives the job back, or ends it when a cancel was requested. */
inline give_back() {
  if
  :: cancel_flag -> finished++; outcomes++; cancelled = true
  :: else -> ready++
  fi
}

proctype worker() {
  byte mine = 0, answer = 0;
  bool lost_reply;
end_idle:
  do
  :: finished == 0 ->
     if
     :: claim(mine);
        do
        :: finish(mine, answer);
           if
           :: lost_reply = true           /* the reply is cut: asked again */
           :: lost_reply = false
           fi;
           if
           :: lost_reply -> finish(mine, answer)
           :: else
           fi;
           /* What is told is true: `stale` only if this lease did not end the job. */
           assert(answer != 3 || ended_by != mine);
           break
        :: atomic {                       /* release: by the worker's own decision */
             given_back < GIVEN_BACK_MAX -> given_back++;
             if
             :: leased == 1 && lease_id == mine -> leased = 0; give_back()
             :: else
             fi
           };
           break
        :: atomic { given_back < GIVEN_BACK_MAX -> given_back++;                    /* killed */
             if :: lease_id == mine -> abandoned = mine :: else fi };
           break
        od
     :: finished == 1 -> break
     fi
  :: finished == 1 -> break
  od
}

/* lose: leases that have run out; how many times is bounded, so that the job can end. */
proctype reaper() {
  byte seen;
end_idle:
  do
  :: losses < LOSSES_MAX ->
#ifdef NO_RECHECK
     atomic { leased == 1 -> seen = lease_id };
     atomic { leased = 0; finished = 0; ready = 1; losses++ }
#else
     atomic { leased == 1 -> leased = 0; losses++; give_back() }
#endif
  /* A worker that was killed leaves its lease: it is always found in the end. */
  :: atomic { leased == 1 && lease_id == abandoned -> leased = 0; give_back() }
  :: finished == 1 -> break
  od
}

proctype canceller() {
  atomic {
    if
    :: ready == 1 -> ready = 0; finished++; outcomes++; cancelled = true
    :: leased == 1 ->
#ifndef NO_CANCEL_FLAG
       cancel_flag = true;
#endif
       cancel_said = true
    :: finished == 1
    fi
  }
}

init {
  atomic { run worker(); run worker(); run reaper(); if :: run canceller() :: skip fi }
}

/* A cancel that was answered `requested` is honoured by every way out of `leased` but finish. */
ltl honoured { [] ((cancel_said && ready == 1) -> false) }
ltl conserved { [] CONSERVED }
ltl once { [] (outcomes <= 1 && effects <= 1) }
ltl ends { <> (finished == 1) }
