// The simulated safety kernel: the policy evaluator behind a connection, with a latency and faults.
//
// 1. It keeps no session: a call in progress knows the connection that it must answer on. A crash of the node drops
//    calls in progress; velocity counters live on, as they would in the kernel's store.
// 2. A call that is answered with a status by a fault has had no effect and is not told as applied.
// 3. A request longer than gRPC's limit is RESOURCE_EXHAUSTED before anybody looks at it.
// 4. A fault of the kernel holds for policy checks and for ListSnapshots, one of the output policy for output checks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "fakes/kernel/protocol.h"
#include "fakes/policy/evaluator.h"
#include "fakes/rng.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct KernelServerConfig {
    Distribution latency = Distribution::constant(std::chrono::milliseconds{2});
    Distribution output_latency = Distribution::constant(std::chrono::milliseconds{2});
    /// Bytes of questions a second that it judges, one question after the other; 0: that takes no time.
    std::uint64_t judging_rate = 0;
};

class KernelServer final : public Server, private ConnectionListener {
public:
    /// Listens as `kernel` on `node` at once. Must outlive the run; random draws come from the stream "kernel".
    KernelServer(World& world, NodeId node, policy::Evaluator evaluator, KernelServerConfig config = {});

    /// Puts another policy in force, as an operator would.
    void replace_policy(policy::Document document, std::string snapshot);
    /// Its node crashes: nothing is judged any more.
    void node_down() { free_at_ = {}; }

    /// For clients: takes a call that has arrived. `answer` is called back on the client's node, if the connection
    /// lives.
    using Answer = std::function<void(std::uint64_t call, KernelAnswer answer)>;
    void on_call(std::shared_ptr<Connection> connection, NodeId client, KernelCall call, Answer answer);

private:
    /// What a fault makes policy say, whatever its rules say; empty = by the rules.
    struct Forced {
        std::string decision;
        Effect effect;
    };

    ConnectionListener& on_accept(std::shared_ptr<Connection> connection, NodeId client) override;
    void on_broken() override {}  // what is in progress finds out when it answers

    /// From now until a question that is put before the judge after `latency` is answered.
    engine::Duration time_to_judge(engine::Duration latency, std::size_t bytes);
    /// The serialised response; tells that it was applied.
    std::string respond(const KernelCall& call, NodeId client, const Forced& forced);

    World& world_;
    NodeId node_;
    policy::Evaluator evaluator_;
    std::deque<std::string> snapshots_;  // newest first
    KernelServerConfig config_;
    engine::MonoTime free_at_{};  // with a rate: when what has been put before the judge is judged
};

}  // namespace lockstep::fakes
