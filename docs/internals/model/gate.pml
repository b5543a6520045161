/* A gate: admit, hand_over and the nudge.
 *
 * JOBS jobs behind one gate of LIMIT. A job is enqueued in a transaction of its own; it runs when it is admitted, and finishing
 * it frees its slot. The gate's row is locked SKIP LOCKED: whoever does not get it leaves a nudge, in its own transaction, and
 * goes on; the workers' turns heed nudges. The lock is a leaf: its holder waits for nothing.
 *
 * A transaction has two steps here, because what it does becomes visible only when it commits: `begin` (it has locked the gate or
 * not, and reads what is committed) and `commit`.
 *
 * Holds: held = jobs that hold the gate + freed and not yet subtracted; never more than LIMIT hold it; a waiter and a free slot
 * do not coexist once all is quiet; every job runs.
 *
 * variant NO_NUDGE:       who does not get the gate goes on without leaving a nudge (admit.nudge)
 * variant OLD_SNAPSHOT:   what is committed is read before the gate is locked, not after (a statement of its own after the lock)
 * variant NO_LOCK:        admissions are decided without the lock (admit.limit, counted from a snapshot)
 * variant FREED_LOST:     a nudge says that there is room, but not how many slots were freed (admit.freed)
 */
#define JOBS 3
#define LIMIT 1

byte waiting = 0, running = 0, done = 0;
byte held = 0;                 /* the gate's count */
byte nudges = 0, freed = 0;    /* rows of `nudge`, and the slots that they say are free */
bool locked = false;
byte enqueued = 0;

#define ADMITTED (running)

/* In a transaction that has just added `add` waiters and freed `free` slots; both become visible with its commit. */
inline admit(add, free) {
  byte got, w, h, f, n, take;
  got = 0;
#ifdef OLD_SNAPSHOT
  atomic { w = waiting; h = held; f = freed; n = nudges };
#endif
#ifdef NO_LOCK
  got = 1;
#else
  atomic { if :: !locked -> locked = true; got = 1 :: else -> got = 0 fi };
#endif
  if
  :: got == 1 ->
#ifndef OLD_SNAPSHOT
     atomic { w = waiting; h = held; f = freed; n = nudges };
#endif
     take = 0;
     h = h - f - free;
     do
     :: take < w + add && h + take < LIMIT -> take++
     :: else -> break
     od;
     atomic {                                /* commit: the lock goes with it */
       waiting = waiting + add - take;
       running = running + take;
       held = h + take;
       freed = freed - f; nudges = nudges - n;
       locked = false
     }
  :: else ->
     atomic {                                /* commit */
       waiting = waiting + add;
#ifndef NO_NUDGE
       if
       :: add + free > 0 -> nudges++
       :: else                               /* what was found stays where it is */
       fi;
#ifndef FREED_LOST
       freed = freed + free
#endif
#endif
     }
  fi
}

proctype client() {
  admit(1, 0);
  enqueued++
}

/* Takes a job that is admitted, runs it, finishes it. */
proctype worker() {
end_idle:
  do
  :: atomic { running > 0 -> running--; } ; admit(0, 1); atomic { done++ }
  :: done == JOBS -> break
  od
}

/* A turn that has nothing else to do. */
proctype turn() {
end_idle:
  do
  :: nudges > 0 -> admit(0, 0)
  :: done == JOBS -> break
  od
}

init {
  byte i;
  atomic {
    i = 0;
    do :: i < JOBS -> run client(); i++ :: else -> break od;
    run worker(); run worker(); run turn()
  }
}

/* Between taking a job out of `running` and finishing it, its slot is still held: so the count is checked at the gate. */
ltl limit { [] (held <= LIMIT && running <= LIMIT) }
ltl all_run { <> (done == JOBS) }
