/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tight.pml - threads that block, and the reserve, in framework/pool/pool_block.c
 *
 * One worker, one extra thread and the reserve; two blocked threads make the pool
 * tight. Three steps, which come from outside, block:
 *
 *      work 0   submits work 3, and blocks until that has run (shared work)
 *      work 1   blocks until work 4 has run (a lock)
 *      work 2   blocks until work 3 has run
 *      work 4   is needed from the beginning (the holder goes on, after a timer)
 *
 * While the pool is tight, only needed work runs: 3 is, once its waiter has said so. All works run, each once, and in the end the one seat is free. Which of the
 * works that may run a thread takes is left open. As in sleep.pml, a lost wake-up is a
 * deadlock, which the checker reports.
 *
 * Broken on purpose, each of which the checker must find:
 *   BROKEN_LINE     a tight pool runs works that are not needed
 *   BROKEN_RESERVE  a tight pool has no reserve
 *   BROKEN_MARK     a step says what it needs after it has blocked
 *   BROKEN_WAKE     work that comes to a tight pool wakes no thread
 *   BROKEN_RECHECK  a thread of a tight pool sleeps without another look
 *   BROKEN_SEAT     a thread that continues takes no seat
 */
#define THREADS   3
#define BLOCK_MAX 2
#define WORKS     5
#define NONE      255

short free_seats = 1;
byte seats = 1;
byte searching = 0;
byte tokens = 0;
byte blocked = 0;
bool is_tight = false;
bool waits[WORKS];
bool needed[WORKS];
byte ran[WORKS];

inline take_seat()
{
    atomic {
        if
        :: searching == 0 && free_seats > 0 ->
            free_seats--; searching++; took = true
        :: else -> took = false
        fi
    }
}

inline wake_one()
{
    take_seat();
    if
    :: took -> tokens++
    :: else -> skip
    fi
}

#define MAY(w)   (waits[w] && (!restricted || needed[w]))
#define MAY_ANY  (MAY(0) || MAY(1) || MAY(2) || MAY(3) || MAY(4))
#define HAS_WORK (waits[0] || waits[1] || waits[2] || waits[3] || waits[4])

#ifdef BROKEN_LINE
#define RESTRICTED false
#else
#define RESTRICTED is_tight
#endif

/* Takes any work that may run now. @with_lock: whether the pool is tight is looked at
 * again. */
inline take(with_lock)
{
    atomic {
        restricted = with_lock && RESTRICTED;
        if
        :: MAY(0) -> work = 0; waits[0] = false
        :: MAY(1) -> work = 1; waits[1] = false
        :: MAY(2) -> work = 2; waits[2] = false
        :: MAY(3) -> work = 3; waits[3] = false
        :: MAY(4) -> work = 4; waits[4] = false
        :: else -> skip
        fi;
        restricted = false
    }
}

/* Within one step, as with the lock held. */
inline reseat(left)
{
    free_seats = free_seats + left - seats;
    is_tight = (blocked >= BLOCK_MAX);
    seats = 1;
#ifdef BROKEN_RESERVE
    if
    :: is_tight -> seats = 0
    :: else -> skip
    fi;
#endif
    assert(blocked + seats <= THREADS || is_tight);
    free_seats = free_seats + seats
}

inline block(until)
{
#ifndef BROKEN_MARK
    needed[until] = true;
#endif
    atomic { blocked++; assert(blocked < THREADS); reseat(1) };
    if
    :: HAS_WORK -> wake_one()
    :: else -> skip
    fi;
#ifdef BROKEN_MARK
    needed[until] = true;
#endif
    (ran[until] > 0);
#ifdef BROKEN_SEAT
    atomic { blocked--; reseat(0) }
#else
    atomic { blocked--; reseat(-1) }
#endif
}

inline run_work()
{
    if
    :: work == 0 -> waits[3] = true; wake_one(); block(3)
    :: work == 1 -> block(4)
    :: work == 2 -> block(3)
    :: else -> skip
    fi;
    atomic { ran[work]++; assert(ran[work] == 1); work = NONE }
}

proctype thread()
{
    byte work = NONE;
    bool took, was_last, is_searching, saw_tight, restricted, found;

asleep:
end:
    atomic { tokens > 0 -> tokens-- };
awake:
    is_searching = true;
next:
    atomic {
        if
        :: !is_searching && free_seats < 0 -> free_seats++; goto sleep
        :: else -> skip
        fi
    };
    saw_tight = is_tight;
    take(saw_tight);
    if
    :: work == NONE && !is_searching -> searching++; is_searching = true
    :: else -> skip
    fi;
    if
    :: work == NONE && !saw_tight -> take(false)
    :: else -> skip
    fi;
    if
    :: work == NONE -> atomic { free_seats++; searching-- }; goto sleep
    :: else -> skip
    fi;
    if
    :: is_searching ->
        is_searching = false;
        atomic { was_last = (searching == 1); searching-- };
        if
        :: was_last && HAS_WORK -> wake_one()
        :: else -> skip
        fi
    :: else -> skip
    fi;
    run_work();
    goto next;
sleep:
    saw_tight = is_tight;
    atomic {
        restricted = saw_tight && RESTRICTED;
        found = MAY_ANY;
        restricted = false
    };
#ifdef BROKEN_RECHECK
    found = found && !saw_tight;
#endif
    if
    :: found ->
        take_seat();
        if
        :: took -> goto awake
        :: else -> skip
        fi
    :: else -> skip
    fi;
    goto asleep
}

/* From outside, with the lock held. */
inline submit(w)
{
    atomic {
        waits[w] = true;
#ifdef BROKEN_WAKE
        if
        :: !is_tight -> wake_one()
#else
        if
        :: !is_tight || needed[w] -> wake_one()
#endif
        :: else -> skip
        fi
    }
}

proctype submitter()
{
    bool took;

    submit(0);
    submit(1);
    submit(2)
}

proctype timer()
{
    bool took;

    needed[4] = true;
    submit(4)
}

proctype owner()
{
    (ran[0] + ran[1] + ran[2] + ran[3] + ran[4] == WORKS);
    (free_seats == 1 && seats == 1 && searching == 0 && blocked == 0)
}

init
{
    atomic {
        run submitter();
        run timer();
        run owner();
        run thread();
        run thread();
        run thread()
    }
}
