#include <nlohmann/json.hpp>

#include "fakes/kernel/client.h"
#include "fakes/kernel/server.h"
#include "fakes/kernel/test_actor_world.h"
#include "fakes/policy/parse.h"
#include "prod/kernel/test_kernel_sides.h"
#include "prod/kernel/test_policy.h"

namespace lockstep::prod {

namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::NodeId;

constexpr NodeId kKernel{1};
constexpr NodeId kScheduler{2};

class SimulatedSide final : public KernelSide {
public:
    explicit SimulatedSide(fakes::KernelClientConfig config) : config_(config) {}

    Observed observe(const Step& step) override {
        world_.told.clear();
        world_.base.fault.kernel = {};
        world_.base.fault.output = {};
        auto& fault = step.output ? world_.base.fault.output : world_.base.fault.kernel;
        engine::Duration patience = 2s;
        switch (step.weather) {
            case Weather::slow: fault.latency = 3s; break;
            case Weather::no_answer: fault.no_answer = true; break;
            case Weather::status: fault.status = step.status; break;
            case Weather::no_such_service: fault.status = fakes::kStatusUnimplemented; break;
            case Weather::breaks_before:
                fault.latency = 1s;
                world_.after(kScheduler, 500ms, [this] { world_.base.break_connections(kScheduler, kKernel); });
                break;
            case Weather::breaks_after:
                // The handler takes 2 ms, the way there and back 0.1 ms each, a connection that must be made as long again.
                call(step, patience);
                world_.told.clear();
                world_.after(kScheduler, 2150us, [this] { world_.base.break_connections(kScheduler, kKernel); });
                break;
            case Weather::crashes:
                fault.latency = 1s;
                world_.after(kScheduler, 500ms, [this] { world_.base.node_down(kKernel); });
                break;
            case Weather::refused: world_.base.node_down(kKernel); break;
            case Weather::silent:
                world_.base.partition(kScheduler, kKernel);
                client_.emplace(world_, kScheduler, kKernel, server_, config_);
                patience = 150ms;
                break;
            case Weather::silent_long:
                world_.base.partition(kScheduler, kKernel);
                client_.emplace(world_, kScheduler, kKernel, server_, config_);
                patience = 3s;
                break;
            case Weather::deadline_passed: patience = -1ms; break;
            default: break;
        }
        Observed observed{call(step, patience), ran(), 0};
        world_.run_for(5s);
        observed.ran_in_the_end = ran();
        recover(step);
        return observed;
    }

private:
    /// Until the kernel is there again for the client.
    void recover(const Step& step) {
        world_.base.fault.kernel = {};
        world_.base.fault.output = {};
        world_.base.node_up(kKernel);
        world_.base.heal();
        for (int i = 0; i < 100 && call({.output = step.output}, 2s).starts_with("status"); ++i) world_.run_for(100ms);
    }

    std::string call(const Step& step, engine::Duration patience) {
        const auto told = [](const auto& answer) -> std::string {
            if (!answer) return "nothing";
            if (!*answer) return "status " + std::to_string((*answer).error().code);
            return std::string(fakes::policy::recorded_name((**answer).decision()));
        };
        const engine::MonoTime deadline = world_.monotonic(kScheduler) + patience;
        if (step.output) return told(world_.run(client_->check_output(output_request(step), deadline)));
        return told(world_.run(client_->check(check_request(step), deadline)));
    }

    [[nodiscard]] int ran() const {
        return static_cast<int>(world_.of(EventKind::kernel_check).size() + world_.of(EventKind::output_check).size());
    }

    const fakes::KernelClientConfig config_;
    fakes::testing::ActorWorld world_;
    fakes::KernelServer server_{world_, kKernel, test_policy()};
    std::optional<fakes::KernelClient> client_{std::in_place, world_, kScheduler, kKernel, server_, config_};
};

}  // namespace

std::unique_ptr<KernelSide> simulated_side(fakes::KernelClientConfig config) {
    return std::make_unique<SimulatedSide>(config);
}

}  // namespace lockstep::prod
