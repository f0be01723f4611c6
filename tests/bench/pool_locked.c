/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool_locked.c - the pool with locked deques, to compare with
 *
 * The pool's own sources, compiled with the deque of deque_locked.h and under other
 * names, so that both pools stand in one program.
 */
#include "tests/bench/pool_locked.h"

#include "tests/bench/deque_locked.h"

#define cpti_deque          cpti_locked_deque
#define cpti_deque_init     cpti_locked_deque_init
#define cpti_deque_deinit   cpti_locked_deque_deinit
#define cpti_deque_is_empty cpti_locked_deque_is_empty
#define cpti_deque_length   cpti_locked_deque_length
#define cpti_deque_push     cpti_locked_deque_push
#define cpti_deque_pop      cpti_locked_deque_pop
#define cpti_deque_steal    cpti_locked_deque_steal

#define cpt_pool_new             bench_locked_pool_new
#define cpt_pool_free            bench_locked_pool_free
#define cpti_pool_current_place  bench_locked_pool_current_place
#define cpti_pool_guest_of       bench_locked_pool_guest_of
#define cpti_pool_is             bench_locked_pool_is
#define cpti_pool_take_place     bench_locked_pool_take_place
#define cpti_pool_search         bench_locked_pool_search
#define cpti_pool_stop_searching bench_locked_pool_stop_searching
#define cpti_pool_tell_quiet     bench_locked_pool_tell_quiet
#define cpti_pool_stand_up       bench_locked_pool_stand_up
#define cpti_pool_adopt          bench_locked_pool_adopt
#define cpti_pool_enter          bench_locked_pool_enter
#define cpti_pool_exit           bench_locked_pool_exit
#define cpti_pool_help_own       bench_locked_pool_help_own
#define cpti_pool_leave          bench_locked_pool_leave
#define cpti_pool_count          bench_locked_pool_count
#define cpti_pool_put_in_inbox   bench_locked_pool_put_in_inbox
#define cpti_pool_add_thread     bench_locked_pool_add_thread
#define cpti_pool_begin_block    bench_locked_pool_begin_block
#define cpti_pool_end_block      bench_locked_pool_end_block
#define cpti_pool_init_blocks    bench_locked_pool_init_blocks
#define cpti_pool_take_needed    bench_locked_pool_take_needed
#define cpti_pool_has_needed     bench_locked_pool_has_needed
#define cpti_pool_block_thread   bench_locked_pool_block_thread
#define cpti_pool_unblock_thread bench_locked_pool_unblock_thread
#define cpti_pool_look_again     bench_locked_pool_look_again
#define cpti_pool_take_help      bench_locked_pool_take_help
#define cpti_pool_run_help       bench_locked_pool_run_help
#define cpti_pool_try_again      bench_locked_pool_try_again
#define cpti_pool_note_needed    bench_locked_pool_note_needed

#include "framework/pool/pool.c"
#include "framework/pool/pool_block.c"
#include "framework/pool/pool_guest.c"
