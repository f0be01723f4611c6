/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* lock.c - what a thread remembers of the locks that it holds; see lock.h. */
#include "framework/pool/lock.h"

_Thread_local enum cpti_lock_rank cpti_lock_held = CPTI_RANK_NONE;
