#include "engine/runtime/scope.h"

#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

/// A spawned task. Run for the first time it starts the task; run as the task's continuation it retires itself.
class Scope::Child final : public Work {
public:
    Child(Scope& scope, Task<void> task) : scope_(scope), handle_(task.release()) {
        PRECONDITION(handle_, "a task that has been moved away is spawned beside {} others", scope.size_);
        handle_.promise().start_on(scope.executor_);
        handle_.promise().continue_with(*this);
    }
    ~Child() { handle_.destroy(); }

    Child* older = nullptr;
    Child* younger = nullptr;

private:
    void run() override {
        if (!started_) {
            started_ = true;
            const bool nested = std::exchange(scope_.starting_, true);  // a loop may be turned inside a step
            handle_.resume();  // when it finishes, the final awaiter posts this child again
            scope_.starting_ = nested;
            return;
        }
        Executor& executor = scope_.executor_;
        std::exception_ptr error;
        try {
            handle_.promise().take();
        } catch (...) {
            error = std::current_exception();
        }
        scope_.remove(*this);
        delete this;
        if (error) executor.unhandled(error);
    }

    Scope& scope_;
    Task<void>::Handle handle_;
    bool started_ = false;
};

void Scope::spawn(Task<void> task) {
    auto* child = new Child(*this, std::move(task));
    child->older = youngest_;
    if (youngest_ != nullptr) youngest_->younger = child;
    youngest_ = child;
    ++size_;
    executor_.post(*child);
}

void Scope::cancel() noexcept {
    INVARIANT(!starting_, "a scope of {} tasks is cancelled inside a step of one of them", size_);
    while (youngest_ != nullptr) {
        Child* child = youngest_;
        youngest_ = child->older;
        if (youngest_ != nullptr) youngest_->younger = nullptr;
        --size_;
        delete child;
    }
    joined_.wake_all();
}

void Scope::remove(Child& child) noexcept {
    (child.younger != nullptr ? child.younger->older : youngest_) = child.older;
    if (child.older != nullptr) child.older->younger = child.younger;
    if (--size_ == 0) joined_.wake_all();
}

Task<void> Scope::join() {
    while (!empty()) co_await joined_.wait();
}

}  // namespace lockstep::engine
