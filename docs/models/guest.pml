/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * guest.pml - guests: threads that take part in a pool, framework/pool/pool_guest.c
 *
 * Two workers on two seats; two guests (cpti_pool_enter, cpti_pool_exit) and a thread
 * that submits work 0 to the inbox. A guest takes a seat if it is not the last one; the
 * first puts work 1 into its own deque. Each computes until work 0 has begun. Then the
 * turn of the first may be over (yield: it leaves its seat and computes until others
 * have run its work), or it runs what it finds until there is nothing, and leaves.
 * Work 0 computes until work 1 has run. As in sleep.pml, a lost wake-up is a deadlock,
 * which the checker reports; in the end all seats must be free.
 *
 * Broken on purpose, each of which the checker must find:
 *   BROKEN_SEAT   a guest takes the last seat, too
 *   BROKEN_STAND  a guest that leaves its seat wakes no thread for work that is there
 *   BROKEN_GIVE   a guest that leaves the pool keeps its seat
 */
#define WORKERS 2
#define PLACES  3
#define NONE    255

short free_seats = WORKERS;
byte searching = 0;
byte tokens = 0;
byte guests = 0; /* with a seat */
byte left = 0;   /* guests that have gone */
bool has_begun = false;
byte ran[2];
chan inbox = [3] of { byte };
chan deque[PLACES] = [2] of { byte };

inline has_work()
{
    found = (len(inbox) > 0);
    i = 0;
    do
    :: found || i == PLACES -> break
    :: else -> found = (len(deque[i]) > 0); i++
    od
}

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

inline wake_for_rest()
{
    has_work();
    if
    :: found -> wake_one()
    :: else -> skip
    fi
}

inline take(queue)
{
    atomic {
        if
        :: work == NONE && len(queue) > 0 -> queue?work
        :: else -> skip
        fi
    }
}

inline take_any()
{
    take(deque[me]); take(inbox);
    take(deque[0]); take(deque[1]); take(deque[2])
}

inline stop_searching()
{
    atomic { was_last = (searching == 1); searching-- };
    if
    :: was_last -> wake_for_rest()
    :: else -> skip
    fi
}

inline run_work()
{
    if
    :: work == 0 -> has_begun = true; (ran[1] > 0)
    :: else -> skip
    fi;
    atomic { ran[work]++; assert(ran[work] == 1); work = NONE }
}

proctype worker(byte me)
{
    byte work = NONE;
    byte i;
    bool found, took, was_last, is_searching;

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
    if
    :: !is_searching && len(deque[me]) == 0 && len(inbox) == 0 ->
        searching++; is_searching = true
    :: else -> skip
    fi;
    take_any();
    if
    :: work == NONE ->
        atomic {
            free_seats++;
            if
            :: is_searching -> searching--
            :: else -> skip
            fi
        };
        goto sleep
    :: else -> skip
    fi;
    if
    :: is_searching -> is_searching = false; stop_searching()
    :: else -> skip
    fi;
    run_work();
    goto next;
sleep:
    has_work();
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

inline stand_up()
{
    if
    :: has_seat ->
        has_seat = false;
        guests--;
#ifndef BROKEN_GIVE
        free_seats++;
#endif
#ifndef BROKEN_STAND
        wake_for_rest()
#endif
    :: else -> skip
    fi
}

proctype guest(byte me; byte own)
{
    byte work = NONE;
    byte i;
    bool found, took, was_last, has_seat;

    atomic {
        guests++;
#ifdef BROKEN_SEAT
        has_seat = true
#else
        has_seat = (guests < WORKERS)
#endif
    };
    if
    :: has_seat -> free_seats--
    :: else -> guests--
    fi;
    if
    :: own != NONE -> deque[me]!own; wake_one()
    :: else -> skip
    fi;
    has_begun;
    if
    :: own != NONE -> stand_up(); (ran[own] > 0) /* its turn is over */
    :: own == NONE -> stand_up(); goto gone
    :: own != NONE
    fi;
    do
    :: take(deque[me]);
        if
        :: work == NONE && has_seat ->
            searching++;
            take_any();
            if
            :: work != NONE -> stop_searching()
            :: else -> searching--; stand_up(); break
            fi
        :: work == NONE && !has_seat ->
            take_any();
            if
            :: work == NONE -> break
            :: else -> skip
            fi
        :: else -> skip
        fi;
        run_work()
    od;
    stand_up();
gone:
    left++
}

/* In the end each seat is free again and no thread searches. */
proctype owner()
{
    byte i;
    bool took;

    inbox!0;
    wake_one();
    (ran[0] + ran[1] == 2 && left == 2);
    (free_seats == WORKERS && searching == 0 && guests == 0)
}

init
{
    atomic {
        run worker(0);
        run worker(1);
        run guest(2, 1);
        run guest(2, NONE);
        run owner()
    }
}
