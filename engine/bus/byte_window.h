// How many bytes of deliveries a replica has in hand. Above the bound it asks for no more submissions, and again below half
// of it; heartbeats, cancels and results go on (D-02).
//
// What is on its way when it pauses still arrives, so memory may pass the bound by what the server has handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/config/context.h"
#include "engine/ports/bus.h"

namespace lockstep::engine {

class ByteWindow {
public:
    explicit ByteWindow(const Context& context) : context_(context) {}
    ByteWindow(const ByteWindow&) = delete;
    ByteWindow& operator=(const ByteWindow&) = delete;

    /// The binding that is paused and resumed from now on, instead of a former one.
    void regulate(std::unique_ptr<Consumption> consumption);
    /// Lets go of it: nothing more is delivered through it. What is given back from then on is only counted, and nobody is told of
    /// anything: it may be given back in the destructor of whoever has it in hand.
    void close() { consumption_.reset(); }

    /// A delivery of this size has come, or has had its disposition. REQUIRES: what is given back has been taken.
    void take(std::size_t bytes);
    void give_back(std::size_t bytes);

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// `bus_bytes_in_flight`, but never less than two messages of the largest size that the server takes.
    [[nodiscard]] std::size_t bound() const;

private:
    void adjust();
    void notice_a_cut();

    const Context& context_;
    std::unique_ptr<Consumption> consumption_;
    std::size_t bytes_ = 0;
    bool paused_ = false;
    std::uint64_t connection_ = 0;  // that deliveries came through; 0 while there is none
};

}  // namespace lockstep::engine
