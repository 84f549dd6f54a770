#include "engine/runtime/executor.h"

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

void Work::withdraw() noexcept {
    if (executor_ == nullptr) return;
    if (ticket_ == Executor::kContinuation) {
        executor_->continuations_.remove(*this);
    } else {
        executor_->dequeue(*this, ticket_);
    }
    executor_ = nullptr;
}

void WorkList::push_back(Work& work) noexcept {
    work.previous_ = tail_;
    work.next_ = nullptr;
    (tail_ != nullptr ? tail_->next_ : head_) = &work;
    tail_ = &work;
}

Work& WorkList::pop_front() noexcept {
    PRECONDITION(!empty(), "there is no work to be taken out");
    Work& work = *head_;
    remove(work);
    return work;
}

void WorkList::remove(Work& work) noexcept {
    (work.previous_ != nullptr ? work.previous_->next_ : head_) = work.next_;
    (work.next_ != nullptr ? work.next_->previous_ : tail_) = work.previous_;
    work.previous_ = work.next_ = nullptr;
}

void Executor::post(Work& work) {
    PRECONDITION(!work.queued(), "work is queued already");
    work.ticket_ = enqueue(work);
    work.executor_ = this;
}

void Executor::post_at(Work& work, MonoTime when) {
    PRECONDITION(!work.queued(), "work is queued already");
    work.ticket_ = enqueue_at(work, when);
    work.executor_ = this;
}

void Executor::post_continuation(Work& work) {
    PRECONDITION(!work.queued(), "work is queued already");
    continuations_.push_back(work);
    work.ticket_ = kContinuation;
    work.executor_ = this;
}

void Executor::run_step(Work& work) {
    PRECONDITION(!work.queued(), "work is run while it is queued");
    work.run();
    while (!continuations_.empty()) {
        Work& next = continuations_.pop_front();
        release(next);
        next.run();
    }
}

}  // namespace lockstep::engine
