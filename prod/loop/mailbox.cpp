#include "prod/loop/mailbox.h"

#include <utility>

namespace lockstep::prod {

bool Mailbox::post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (wake_ == nullptr) return false;
    waiting_.push_back(std::move(work));
    // One wake-up per batch. It is sent under the lock, because `close` must not free the handle in between.
    if (waiting_.size() == 1) uv_async_send(wake_);
    return true;
}

void Mailbox::open(uv_async_t& wake) {
    const std::lock_guard lock(mutex_);
    wake_ = &wake;
}

void Mailbox::close() {
    std::vector<std::function<void()>> dropped;
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    dropped.swap(waiting_);
}

void Mailbox::run() {
    std::vector<std::function<void()>> batch;
    {
        const std::lock_guard lock(mutex_);
        batch.swap(waiting_);
    }
    for (auto& work : batch) work();
}

}  // namespace lockstep::prod
