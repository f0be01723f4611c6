/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sleep.pml - threads that sleep and are woken, in framework/pool/pool.c
 *
 * SEATS workers and EXTRA threads for those that block; a thread of the application
 * that submits three works; and the owner, which frees the pool once all have run:
 *
 *      work 0   (inbox)  computes until work 1 has begun on another thread
 *      work 1   (inbox)  submits work 3 to its own deque, and computes until another
 *                        thread has run it
 *      work 2   (lane)   blocks, away from its seat, until work 3 has run
 *      work 3   (deque)
 *
 * The state (free seats, searching threads) changes in one step, as it is one word;
 * queues are read and written in one step each (deque.pml is about their insides). All
 * works run, each once; no thread sleeps for ever, none touches a pool that was freed.
 * A lost wake-up is a deadlock here, which the checker reports.
 *
 * Broken on purpose, each of which the checker must find:
 *   BROKEN_RECHECK  a thread goes to sleep without another look for work
 *   BROKEN_ORDER    the submitter looks at the state before the work is there
 *   BROKEN_LAST     the last searcher, having found work, wakes none for the rest
 *   BROKEN_BLOCK    a thread that blocks keeps its seat
 *   BROKEN_FREE     a submit from elsewhere wakes a thread without the lock
 *   BROKEN_LANE     a look for work leaves out the second lane
 */
#define SEATS   2
#define EXTRA   1
#define THREADS (SEATS + EXTRA)
#define WORKS   4
#define NONE    255

short free_seats = SEATS;
byte searching = 0;
byte tokens = 0; /* of the semaphore */
byte blocked = 0;
bool is_stopping = false;
bool is_over = false;
bool is_freed = false;
byte ended = 0; /* threads */

bool is_locked = false;
bool waits_for_quiet = false; /* the condition */

chan inbox = [WORKS] of { byte };
chan lane = [WORKS] of { byte }; /* the second one */
chan deque[THREADS] = [WORKS] of { byte };
byte ran[WORKS];
bool has_begun = false; /* work 1 */

inline lock()
{
    atomic { !is_locked -> is_locked = true }
}

inline unlock()
{
    is_locked = false
}

inline has_work()
{
#ifdef BROKEN_LANE
    found = (len(inbox) > 0);
#else
    found = (len(inbox) > 0 || len(lane) > 0);
#endif
    i = 0;
    do
    :: found || i == THREADS -> break
    :: else -> found = (len(deque[i]) > 0); i++
    od
}

inline take_seat()
{
    atomic {
        assert(!is_freed);
        if
        :: searching == 0 && free_seats > 0 ->
            free_seats--;
            searching++;
            has_seat = true
        :: else -> has_seat = false
        fi
    }
}

inline wake_one()
{
    take_seat();
    if
    :: has_seat -> tokens++
    :: else -> skip
    fi
}

inline note_run(work)
{
    atomic {
        ran[work]++;
        assert(ran[work] == 1)
    }
}

inline run_work(work)
{
    if
    :: work == 0 ->
        has_begun;
        note_run(0)
    :: work == 1 ->
        has_begun = true;
#ifdef BROKEN_ORDER
        wake_one();
        deque[me]!3;
#else
        deque[me]!3;
        wake_one();
#endif
        (ran[3] > 0);
        note_run(1)
    :: work == 2 ->
#ifndef BROKEN_BLOCK
        lock();
        blocked++;
        free_seats++;
        unlock();
        has_work();
        if
        :: found -> wake_one()
        :: else -> skip
        fi;
#endif
        (ran[3] > 0);
#ifndef BROKEN_BLOCK
        lock();
        blocked--;
        free_seats--;
        unlock();
#endif
        note_run(2)
    :: work == 3 -> note_run(3)
    fi;
    work = NONE
}

/* Puts the next work of @queue into `work`, if that is NONE. */
inline take(queue)
{
    atomic {
        if
        :: work == NONE && len(queue) > 0 -> queue?work
        :: else -> skip
        fi
    }
}

proctype thread(byte me)
{
    byte work = NONE;
    byte i;
    bool found, has_seat, is_searching, was_last;

asleep:
    atomic { tokens > 0 -> tokens-- };
    if
    :: is_over -> goto end
    :: else -> skip
    fi;
awake:
    is_searching = true;
next:
    if
    :: !is_searching ->
        atomic {
            if
            :: free_seats < 0 -> free_seats++; goto sleep
            :: else -> skip
            fi
        }
    :: else -> skip
    fi;
    take(deque[me]);
    take(inbox);
    if
    :: work == NONE ->
        if
        :: !is_searching -> searching++; is_searching = true
        :: else -> skip
        fi;
        take(inbox);
        take(deque[0]);
        take(deque[1]);
        take(deque[2]);
        take(lane)
    :: else -> skip
    fi;
    if
    :: work == NONE ->
        atomic { free_seats++; searching-- };
        goto sleep
    :: else -> skip
    fi;
    if
    :: is_searching ->
        is_searching = false;
        atomic { was_last = (searching == 1); searching-- };
#ifndef BROKEN_LAST
        if
        :: was_last ->
            has_work();
            if
            :: found -> wake_one()
            :: else -> skip
            fi
        :: else -> skip
        fi
#endif
    :: else -> skip
    fi;
    run_work(work);
    goto next;
sleep:
#ifndef BROKEN_RECHECK
    has_work();
    if
    :: found ->
        take_seat();
        if
        :: has_seat -> goto awake
        :: else -> skip
        fi
    :: else -> skip
    fi;
#endif
    if
    :: is_stopping ->
        lock();
        waits_for_quiet = false;
        unlock()
    :: else -> skip
    fi;
    goto asleep;
end:
    ended++
}

/* Submits works 0 to 2. */
proctype submitter()
{
    byte i;
    bool has_seat;

    for (i : 0 .. 2) {
        lock();
        assert(!is_freed);
        if
        :: i == 2 -> lane!i
        :: else -> inbox!i
        fi;
#ifdef BROKEN_FREE
        unlock();
        wake_one()
#else
        wake_one();
        unlock()
#endif
    }
}

/* Frees the pool, once all works have run. */
proctype owner()
{
    byte i;
    bool found;

    (ran[0] + ran[1] + ran[2] + ran[3] == WORKS);
    is_stopping = true;
    lock();
quiet:
    has_work();
    if
    :: free_seats == SEATS && blocked == 0 && !found -> skip
    :: else ->
        atomic { waits_for_quiet = true; is_locked = false };
        (!waits_for_quiet);
        lock();
        goto quiet
    fi;
    unlock();
    is_over = true;
    for (i : 1 .. THREADS) {
        tokens++
    };
    (ended == THREADS);
    is_freed = true
}

init
{
    atomic {
        run submitter();
        run owner();
        run thread(0);
        run thread(1);
        run thread(2)
    }
}
