// A port of 127.0.0.1 for a server that is about to start.
#pragma once

namespace lockstep::prod {

/// Held from the moment of the choice on: nobody gets it by chance while this lives, and a server that is told its number can listen
/// on it all the same.
class LoopbackPort {
public:
    /// `wanted` 0: a free one. Throws std::system_error where the wanted one is taken.
    explicit LoopbackPort(int wanted);
    LoopbackPort(const LoopbackPort&) = delete;
    LoopbackPort& operator=(const LoopbackPort&) = delete;
    ~LoopbackPort();
    [[nodiscard]] int number() const { return number_; }

private:
    int socket_;
    int number_ = 0;
};

}  // namespace lockstep::prod
