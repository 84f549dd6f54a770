// Action: a move-only `void()` callable, small ones stored in place. std::function would demand copies and
// std::move_only_function is newer than our standard library.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace lockstep::fakes {

class Action {
public:
    Action() = default;
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, Action> && std::invocable<F&>)
    Action(F&& function) {
        using Stored = std::remove_cvref_t<F>;
        if constexpr (fits<Stored>) {
            ::new (static_cast<void*>(storage_)) Stored(std::forward<F>(function));
            operations_ = &kInPlace<Stored>;
        } else {
            ::new (static_cast<void*>(storage_)) Stored*(new Stored(std::forward<F>(function)));
            operations_ = &kOnHeap<Stored>;
        }
    }
    Action(Action&& other) noexcept { take(other); }
    Action& operator=(Action&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~Action() { reset(); }

    explicit operator bool() const { return operations_ != nullptr; }
    /// REQUIRES: not empty.
    void operator()() { operations_->call(storage_); }

private:
    struct Operations {
        void (*call)(void*);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };
    static constexpr std::size_t kCapacity = 64;

    template <class F>
    static constexpr bool fits =
        sizeof(F) <= kCapacity && alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

    template <class F>
    static constexpr Operations kInPlace{
        [](void* self) { (*static_cast<F*>(self))(); },
        [](void* from, void* to) noexcept {
            ::new (to) F(std::move(*static_cast<F*>(from)));
            static_cast<F*>(from)->~F();
        },
        [](void* self) noexcept { static_cast<F*>(self)->~F(); }};
    template <class F>
    static constexpr Operations kOnHeap{[](void* self) { (**static_cast<F**>(self))(); },
                                        [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
                                        [](void* self) noexcept { delete *static_cast<F**>(self); }};

    void take(Action& other) noexcept {
        if (other.operations_ == nullptr) return;
        other.operations_->move(other.storage_, storage_);
        operations_ = std::exchange(other.operations_, nullptr);
    }
    void reset() noexcept {
        if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
    }

    alignas(std::max_align_t) std::byte storage_[kCapacity];
    const Operations* operations_ = nullptr;
};

}  // namespace lockstep::fakes
