// The messages by which a job is sent out, on their way from a replica to the stream.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

class Sendings {
public:
    /// A sending of whose fate its sender was not told.
    struct Unanswered {
        Since since;              // when it gave up waiting; event 0: it knows the fate of all
        engine::Duration waited;  // until then
        bool refused = false;     // by the stream, as its sender was not told either
    };
    /// What its sender was not told of the same message until now.
    Unanswered begins(const fakes::Event& publish, Time now);
    void goes_on(const fakes::Event& publish, Since now);

private:
    struct Sending {
        fakes::NodeId replica;
        std::string message_id;
        Time begun{};
        bool refused = false;
        Unanswered unanswered{};
    };
    [[nodiscard]] std::vector<Sending>::iterator find(const fakes::Event& publish);

    std::vector<Sending> sendings_;
};

}  // namespace lockstep::sim
