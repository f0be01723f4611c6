/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_lock.hpp - locks and counted resources of cpt_mutex.h in C++; see cpt.hpp
 *
 *      static cpt::mutex lock("prices");                   // shown as ‹lock: prices›
 *      static cpt::semaphore connections("connections", 4);
 *
 *      const std::lock_guard<cpt::mutex> guard(lock);      // blocks the thread
 *
 *      return task.await(task.acquire(connections),        // holds no thread
 *                        [](cpt::task task, cpt::held<cpt::semaphore> one) { ... });
 *
 * What is held is given back when the cpt::held ends, or release() is called. Hand it
 * over to hold it during another wait: [one = std::move(one)](cpt::task) { ... }. What a
 * task still holds when it fails, is cancelled or its request ends is given back anyway.
 */
#ifndef CPT_LOCK_HPP
#define CPT_LOCK_HPP

#include <cpt/cpt_mutex.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

namespace cpt
{

namespace detail
{

/* What could not be made for want of memory, when the program begins. */
template <class T> T *made(T *object)
{
    if (object == nullptr) {
#if defined(__cpp_exceptions)
        throw std::bad_alloc();
#else
        std::terminate();
#endif
    }
    return object;
}

} // namespace detail

/* A lock with a name, for std::lock_guard and std::unique_lock. It outlives the requests
 * that use it. */
class mutex
{
  public:
    explicit mutex(const char *name)
        : mutex_(detail::made(cpt_mutex_new(name, nullptr)))
    {
    }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;
    ~mutex()
    {
        cpt_mutex_free(mutex_);
    }
    void lock()
    {
        cpt_mutex_lock(mutex_);
    }
    bool try_lock()
    {
        return cpt_mutex_trylock(mutex_) != 0;
    }
    void unlock()
    {
        cpt_mutex_unlock(mutex_);
    }
    cpt_mutex *get() const
    {
        return mutex_;
    }

    /* For cpt::held and cpt::task. */
    static void give_back(cpt_pending *pending)
    {
        cpt_mutex_release(pending);
    }
    cpt_pending *ask(cpt_task *task) const
    {
        return cpt_mutex_acquire(task, mutex_);
    }

  private:
    cpt_mutex *mutex_;
};

/* @count of something, as connections of a database. It outlives the requests that use
 * it. */
class semaphore
{
  public:
    /* @count is at least 1: else std::invalid_argument. */
    semaphore(const char *name, uint32_t count)
        : semaphore_(
              detail::made(cpt_semaphore_new(name, at_least_one(count), nullptr)))
    {
    }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;
    ~semaphore()
    {
        cpt_semaphore_free(semaphore_);
    }
    cpt_semaphore *get() const
    {
        return semaphore_;
    }

    /* For cpt::held and cpt::task. */
    static void give_back(cpt_pending *pending)
    {
        cpt_semaphore_release(pending);
    }
    cpt_pending *ask(cpt_task *task) const
    {
        return cpt_semaphore_acquire(task, semaphore_);
    }

  private:
    static uint32_t at_least_one(uint32_t count)
    {
#if defined(__cpp_exceptions)
        if (count == 0) {
            throw std::invalid_argument("the count of a semaphore is at least 1");
        }
#endif
        return count;
    }

    cpt_semaphore *semaphore_;
};

/* What a task has got of a cpt::mutex or cpt::semaphore. Not longer than its request. */
template <class Lock> class held
{
  public:
    explicit held(cpt_pending *acquired) : pending_(acquired)
    {
    }
    held(held &&other) noexcept : pending_(std::exchange(other.pending_, nullptr))
    {
    }
    held &operator=(held &&other) noexcept
    {
        std::swap(pending_, other.pending_);
        other.release();
        return *this;
    }
    held(const held &) = delete;
    ~held()
    {
        release();
    }
    /* Once; a second call, or one after it was moved, has no effect. */
    void release() noexcept
    {
        if (pending_ != nullptr) {
            Lock::give_back(std::exchange(pending_, nullptr));
        }
    }

  private:
    cpt_pending *pending_;
};

} // namespace cpt

#endif
