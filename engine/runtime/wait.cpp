#include "engine/runtime/wait.h"

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

WaitQueue::Waiter::~Waiter() {
    if (linked_) queue_.unlink(*this);
    if (woken_ && !resumed_) queue_.wake_one();  // cancelled after being chosen: the next one gets its turn
}

void WaitQueue::Waiter::suspend(std::coroutine_handle<> waiting, Executor& executor) {
    waiting_ = waiting;
    executor_ = &executor;
    queue_.link(*this);
    if (deadline_) executor.post_at(*this, *deadline_);
}

void WaitQueue::Waiter::run() {
    if (linked_) queue_.unlink(*this);  // still linked: the deadline fired, nobody woke it
    resumed_ = true;
    waiting_.resume();
}

bool WaitQueue::wake_one() noexcept {
    if (head_ == nullptr) return false;
    Waiter& waiter = *head_;
    unlink(waiter);
    waiter.woken_ = true;
    waiter.withdraw();  // its deadline
    waiter.executor_->post(waiter);
    return true;
}

void WaitQueue::wake_all() noexcept {
    while (wake_one()) {
    }
}

void WaitQueue::link(Waiter& waiter) noexcept {
    PRECONDITION(!waiter.linked_, "who stands already lines up once more behind {} others", size_);
    waiter.previous_ = tail_;
    (tail_ != nullptr ? tail_->next_ : head_) = &waiter;
    tail_ = &waiter;
    waiter.linked_ = true;
    ++size_;
}

void WaitQueue::unlink(Waiter& waiter) noexcept {
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : head_) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->previous_ : tail_) = waiter.previous_;
    waiter.previous_ = waiter.next_ = nullptr;
    waiter.linked_ = false;
    --size_;
}

Task<void> Event::wait() {
    while (!set_) co_await waiters_.wait();
}

Task<bool> Event::wait_until(MonoTime deadline) {
    while (!set_) {
        const bool woken = co_await waiters_.wait_until(deadline);
        if (!woken) co_return set_;
    }
    co_return true;
}

namespace {

/// Counts a coroutine for as long as it is there.
class Counted {
public:
    explicit Counted(std::size_t& count) : count_(count) { ++count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --count_; }

private:
    std::size_t& count_;
};

}  // namespace

Task<Semaphore::Permit> Semaphore::acquire() {
    if (free_ <= promised()) {
        const Counted counted(waiting_);
        co_await waiters_.wait();
    }
    INVARIANT(free_ > 0, "a permit was promised and is not there; {} wait", waiting_);
    --free_;
    co_return Permit(*this);
}

void Semaphore::Permit::release() noexcept {
    if (semaphore_ == nullptr) return;
    Semaphore& semaphore = *std::exchange(semaphore_, nullptr);
    ++semaphore.free_;
    semaphore.waiters_.wake_one();
}

}  // namespace lockstep::engine
