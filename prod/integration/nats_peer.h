// Somebody with a log-in at NATS who speaks the protocol by hand: what a client library would refuse to send, it sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::prod::testing {

class NatsPeer {
public:
    /// Logs in; without a user, without a log-in. Throws std::runtime_error when nobody listens or the server hangs up.
    explicit NatsPeer(int port, const std::string& user = {}, const std::string& password = {});
    NatsPeer(const NatsPeer&) = delete;
    NatsPeer& operator=(const NatsPeer&) = delete;
    ~NatsPeer();

    void publish(std::string_view subject, std::string_view payload, std::string_view reply = {});
    void subscribe(std::string_view subject, std::string_view queue = {});
    /// Waits until the server has dealt with everything that was said, and keeps what it has sent by then.
    void settle();

    /// What the server refused, as it says it.
    [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }
    /// Payloads that came, in their order.
    [[nodiscard]] const std::vector<std::string>& received() const { return received_; }

private:
    void say(std::string_view text);
    std::string line();
    std::string bytes(std::size_t count);

    int socket_;
    int subscriptions_ = 0;
    std::vector<std::string> refusals_;
    std::vector<std::string> received_;
};

}  // namespace lockstep::prod::testing
