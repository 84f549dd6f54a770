// Scope: owns the tasks that run side by side. Nothing runs in the background without one.
//
// 1. Destroying a scope destroys every child where it stands, the youngest first. A crash of a simulated node is
//    exactly that.
// 2. A child that has finished is destroyed by the executor after its last step, never inside it.
// 3. REQUIRES: a scope is not destroyed or cancelled from inside a step of one of its own children. Checked in a child's first
//    step; of later ones a scope does not hear, and the address sanitiser finds the frame that is gone.
#pragma once

#include <cstddef>

#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

class Scope {
public:
    /// The executor must outlive the scope.
    explicit Scope(Executor& executor) : executor_(executor) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { cancel(); }

    /// Takes the task over and queues its first step. REQUIRES: a task that has not been moved away.
    void spawn(Task<void> task);
    /// Destroys every child. The scope can be used again afterwards.
    void cancel() noexcept;
    /// Completes when no child is left (children spawned meanwhile included).
    [[nodiscard]] Task<void> join();

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] Executor& executor() const { return executor_; }

private:
    class Child;

    void remove(Child& child) noexcept;

    Executor& executor_;
    Child* youngest_ = nullptr;
    std::size_t size_ = 0;
    bool starting_ = false;  // a child is at its first step
    WaitQueue joined_;
};

}  // namespace lockstep::engine
