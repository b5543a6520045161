/* A send or an enqueue whose COMMIT is ambiguous: sqs_send and its ledger; enqueue_many and its ids are the same without limits.
 *
 * A client sends an entry; the reply may be lost, also while the first try is still in flight; then it sends again, perhaps
 * through another server. Meanwhile the limit of the queue is lowered, and a consumer receives and deletes the message.
 *
 * Holds: the entry is stored at most once; nothing of it is touched by a retry; `sent` or `recorded` is told only of an entry that
 * is stored, `too_large` only of one that is not and never will be by this request.
 *
 * variant NO_ONCE:        the retry stores without looking for the key (sqs_send.once)
 * variant VALIDATE_FIRST: the limit is looked at before the key is taken (sqs_send.recorded)
 * variant NO_WAIT:        a key that is in flight counts as not there (the unique index, which waits)
 * variant UPSERT:         the retry writes the message again (INSERT … ON CONFLICT DO UPDATE)
 */
#define FREE 0
#define IN_FLIGHT 1
#define STORED 2

byte key = FREE;               /* the ledger's row */
byte owner;                    /* whose transaction has it in flight */
byte stored = 0;               /* messages that were stored for this entry, in all */
bool visible = false;          /* the message can be received */
bool deleted = false;
bool lowered = false;          /* the limit no longer allows the entry */
bool told_stored = false, told_refused = false;
bool resurrected = false;

/* answer: 1 sent, 2 recorded, 3 too_large */
inline sqs_send(me, answer) {
  bool mine, fits;
  mine = false; answer = 0;
#ifdef VALIDATE_FIRST
  fits = !lowered;
  if :: !fits && key != STORED -> answer = 3 :: else fi;
#endif
  if
  :: answer == 0 ->
     atomic {
       if
#ifdef NO_ONCE
       :: true -> mine = true; key = IN_FLIGHT
#else
       :: key == FREE -> key = IN_FLIGHT; owner = me; mine = true
#ifdef NO_WAIT
       :: key == IN_FLIGHT -> mine = true
#else
       :: key == IN_FLIGHT -> (key != IN_FLIGHT);           /* waits for that try */
          if :: key == STORED :: else -> key = IN_FLIGHT; owner = me; mine = true fi
#endif
       :: key == STORED
#endif
       fi
     };
     if
     :: mine ->
#ifndef VALIDATE_FIRST
        fits = !lowered;
#endif
        if
        :: fits ->
           if
           :: atomic { key = STORED; stored++; visible = !deleted; answer = 1 }
           :: atomic { key = FREE; answer = 0 }             /* killed before COMMIT: rolled back */
           fi
        :: else -> atomic { key = FREE; answer = 3 }
        fi
     :: else ->
        answer = 2;
#ifdef UPSERT
        atomic { stored = stored; visible = true; if :: deleted -> resurrected = true :: else fi };
#endif
     fi
  :: else
  fi
}

proctype try(byte me) {
  byte answer;
  sqs_send(me, answer);
  /* The first reply may be lost: nobody is told. The last one is heard. */
  if
  :: me == 1 && answer != 0
  :: answer == 1 || answer == 2 -> told_stored = true; assert(stored >= 1)
  :: answer == 3 -> told_refused = true
  :: answer == 0
  fi
}

proctype consumer() { atomic { visible -> visible = false; deleted = true } }
proctype owner_of_queue() { lowered = true }

init {
  atomic { run try(1); run try(2); run owner_of_queue() };
  run consumer()
}

ltl once { [] (stored <= 1) }
/* A refusal that was told is true, for good: also when the other try commits later. */
ltl honest { [] !(told_refused && stored > 0) }
ltl quiet { [] !resurrected }
