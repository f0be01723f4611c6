/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * handle.c - a request as its starter may still touch it: to cancel it
 *
 * A handle has two owners, the starter and the request, and outlives neither: it is
 * freed by the last one. It holds no reference to the request, which may end at any
 * time, but the request must detach under the handle's lock before it is freed.
 */
#include "framework/run/handle.h"

struct cpt_request_handle {
    const struct cpt_alloc *alloc;
    struct cpti_lock lock;       /* guards those below */
    struct cpt_request *request; /* NULL: it is gone */
    unsigned owner_count;
};

/* Takes a reference for a caller that has none. Only while another one beside the
 * request's own is held; otherwise the request is just ending. */
static bool try_to_hold(struct cpt_request *request)
{
    uint_least32_t count =
        atomic_load_explicit(&request->reference_count, memory_order_relaxed);

    while ((count & ~CPTI_OWN_REFERENCE) != 0) {
        if (atomic_compare_exchange_weak_explicit(&request->reference_count, &count,
                                                  count + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* Ends @request with a reference that is then given back. */
static bool cancel_held(struct cpt_request *request)
{
    const bool is_first = cpti_request_end(request, CPT_CANCELLED, NULL);

    cpti_request_release(request);
    return is_first;
}

bool cpti_request_cancel(struct cpt_request *request)
{
    return try_to_hold(request) && cancel_held(request);
}

struct cpt_request_handle *cpti_handle_new(struct cpt_request *request,
                                           const struct cpt_alloc *alloc)
{
    struct cpt_request_handle *handle = cpt_alloc_zeroed(alloc, sizeof *handle);

    if (handle != NULL) {
        handle->alloc = alloc;
        handle->request = request;
        handle->owner_count = 2;
        cpti_lock_init(&handle->lock, CPTI_RANK_HANDLE);
        request->handle = handle;
        cpti_request_share(request);
    }
    return handle;
}

static void drop(struct cpt_request_handle *handle, bool is_request)
{
    cpti_lock_take(&handle->lock);
    if (is_request) {
        handle->request = NULL;
    }
    if (--handle->owner_count != 0) {
        cpti_lock_release(&handle->lock);
        return;
    }
    cpti_lock_release(&handle->lock);
    cpti_lock_deinit(&handle->lock);
    cpt_alloc_free(handle->alloc, handle);
}

void cpti_handle_detach(struct cpt_request *request)
{
    if (request->handle != NULL) {
        drop(request->handle, true);
        request->handle = NULL;
    }
}

void cpt_request_handle_free(struct cpt_request_handle *handle)
{
    if (handle != NULL) {
        drop(handle, false);
    }
}

int cpt_request_cancel(struct cpt_request_handle *handle)
{
    struct cpt_request *request = NULL;

    if (handle == NULL) {
        return 0;
    }
    /* The request cannot go while the lock is held: it would have to detach. */
    cpti_lock_take(&handle->lock);
    request = handle->request;
    if (request != NULL && !try_to_hold(request)) {
        request = NULL;
    }
    cpti_lock_release(&handle->lock);
    /* From here on what the end of the request calls may free the handle. */
    return request != NULL && cancel_held(request);
}
