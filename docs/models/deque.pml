/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * deque.pml - one owner and two thieves at the deque of framework/pool/deque.h
 *
 * Every access to top, bottom and works[] is one step, as they are seq_cst, or ordered
 * by one that is. The owner pushes WORKS works through a deque of PLACES, popping in
 * between as it likes; thieves steal as long as they like. Each work is taken exactly
 * once, and a place is not used again before its work was taken.
 *
 * Broken on purpose, each of which the checker must find:
 *   BROKEN_ORDER   the owner reads top before it lowers bottom
 *   BROKEN_LAST    the owner takes the last work without a compare and swap
 *   BROKEN_FULL    push does not check that there is room
 */
#define WORKS  4
#define PLACES 2

int top = 0;
int bottom = 0;
byte works[PLACES];
byte taken[WORKS];
bool is_over = false;

inline take(work)
{
    taken[work]++;
    assert(taken[work] == 1)
}

inline push(work)
{
    b = bottom;
    t = top;
#ifdef BROKEN_FULL
    works[b % PLACES] = work;
    bottom = b + 1;
    work++;
#else
    if
    :: b - t >= PLACES -> skip
    :: else ->
        works[b % PLACES] = work;
        bottom = b + 1;
        work++
    fi
#endif
}

inline pop()
{
    b = bottom;
    t = top;
    if
    :: b == t -> skip
    :: else ->
#ifdef BROKEN_ORDER
        t = top;
        bottom = b - 1;
#else
        bottom = b - 1;
        t = top;
#endif
        if
        :: b - 1 < t -> bottom = b
        :: b - 1 == t ->
            w = works[(b - 1) % PLACES];
#ifdef BROKEN_LAST
            top = t + 1;
            take(w);
#else
            atomic {
                if
                :: top == t -> top = t + 1; take(w)
                :: else -> skip
                fi
            }
#endif
            bottom = b
        :: else ->
            w = works[(b - 1) % PLACES];
            take(w)
        fi
    fi
}

proctype owner()
{
    int b, t;
    byte w;
    byte next = 0;

    do
    :: next < WORKS -> push(next)
    :: pop()
    :: next == WORKS && bottom == top -> break
    od;
    is_over = true
}

proctype thief()
{
    int b, t;
    byte w;

    do
    :: is_over -> break
    :: else ->
        t = top;
        b = bottom;
        if
        :: b - t > 0 ->
            w = works[t % PLACES];
            atomic {
                if
                :: top == t -> top = t + 1; take(w)
                :: else -> skip
                fi
            }
        :: else -> skip
        fi
    od
}

init
{
    atomic {
        run owner();
        run thief();
        run thief()
    }
    (_nr_pr == 1);
    byte i;
    for (i : 0 .. WORKS - 1) {
        assert(taken[i] == 1)
    }
}
