// Identifiers as types: texts that name a job, a worker or the holding of a lock, and numbers of messages in a stream and of a
// job's dispatches. Two of them cannot be exchanged: each is made from its text or number by name only, and gives it back by
// name only, which is done where it enters or leaves the engine (messages, commands, logs).
//
// 1. Nothing converts by itself, neither to or from the plain value nor from one identifier to another.
// 2. They compare and hash as the plain value does. Default-made ones are empty or zero, which stands for "none" or "nobody knows".
#pragma once

#include <fmt/format.h>  // not core.h: a formatter that is derived from another needs its definition

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::engine {

template <class Tag>
class TextId {
public:
    TextId() = default;
    explicit TextId(std::string text) : text_(std::move(text)) {}
    explicit TextId(std::string_view text) : text_(text) {}
    explicit TextId(const char* text) : text_(text) {}

    [[nodiscard]] const std::string& text() const& { return text_; }
    [[nodiscard]] std::string text() && { return std::move(text_); }
    [[nodiscard]] bool empty() const { return text_.empty(); }

    friend bool operator==(const TextId&, const TextId&) = default;
    friend auto operator<=>(const TextId&, const TextId&) = default;

private:
    std::string text_;
};

template <class Tag>
class NumberId {
public:
    constexpr NumberId() = default;
    constexpr explicit NumberId(std::uint64_t value) : value_(value) {}

    [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
    /// The number that is given out after this one.
    [[nodiscard]] constexpr NumberId next() const { return NumberId(value_ + 1); }

    friend bool operator==(NumberId, NumberId) = default;
    friend auto operator<=>(NumberId, NumberId) = default;

private:
    std::uint64_t value_ = 0;
};

/// The job id of the protocol, as a request or a key of the store has it.
using JobId = TextId<struct JobIdTag>;
/// Who works on jobs, as heartbeats name it. Empty: nobody in particular.
using WorkerId = TextId<struct WorkerIdTag>;
/// One holding of a lock: drawn anew for each, and known to its holder only. Empty: no lock.
using Token = TextId<struct TokenTag>;

/// A message's place in its stream, from 1 on. 0: nobody knows it.
using StreamSequence = NumberId<struct StreamSequenceTag>;
/// How often a job has been sent to a worker, this time included. 0: never.
using DispatchNumber = NumberId<struct DispatchNumberTag>;

}  // namespace lockstep::engine

template <class Tag>
struct std::hash<lockstep::engine::TextId<Tag>> {
    [[nodiscard]] std::size_t operator()(const lockstep::engine::TextId<Tag>& id) const noexcept {
        return std::hash<std::string>{}(id.text());
    }
};

template <class Tag>
struct std::hash<lockstep::engine::NumberId<Tag>> {
    [[nodiscard]] std::size_t operator()(lockstep::engine::NumberId<Tag> id) const noexcept {
        return std::hash<std::uint64_t>{}(id.value());
    }
};

template <class Tag>
struct fmt::formatter<lockstep::engine::TextId<Tag>> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(const lockstep::engine::TextId<Tag>& id, Context& context) const {
        return fmt::formatter<std::string_view>::format(id.text(), context);
    }
};

template <class Tag>
struct fmt::formatter<lockstep::engine::NumberId<Tag>> : fmt::formatter<std::uint64_t> {
    template <class Context>
    auto format(lockstep::engine::NumberId<Tag> id, Context& context) const {
        return fmt::formatter<std::uint64_t>::format(id.value(), context);
    }
};
