#include "prod/ordeal/ordeal.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <list>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "prod/ordeal/attack.h"
#include "prod/ordeal/bus_client.h"
#include "prod/ordeal/cluster.h"
#include "prod/ordeal/judge.h"
#include "prod/ordeal/load.h"
#include "prod/ordeal/messages.h"
#include "prod/ordeal/store_reader.h"

namespace lockstep::prod::ordeal {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kBeat{10};
constexpr milliseconds kLook{500};
/// Quiet is believed when it has lasted: a message that was handed back is nowhere for a moment.
constexpr seconds kQuietFor{3};
/// The same where jobs are missing of which Redis knows nothing: by then, whoever looks for what a stream holds has found it.
constexpr seconds kQuietWithoutSome{60};
constexpr seconds kProgressEvery{15};
constexpr seconds kStorePatience{20};
constexpr std::size_t kNamesMost = 50;
constexpr std::size_t kMarksMost = 10'000;
/// So much of an ordeal's time is quiet before an attack begins: what honest jobs take then is what they are compared with.
constexpr int kQuietShare = 3;

constexpr const char* kSysStream = "CORDUM_SYS";
constexpr const char* kJobsStream = "CORDUM_JOBS";
constexpr std::string_view kSubmissions = "dur_cordum-scheduler__sys_job_submit";
constexpr std::string_view kConsumers[] = {kSubmissions, "dur_cordum-scheduler__sys_job_result"};

struct InForce {
    Planned planned;
    Clock::time_point over;
    Disturbance noted;
};

class Ordeal {
public:
    Ordeal(const Options& options, const std::atomic<bool>& stop)
        : options_(options),
          stop_(stop),
          cluster_(options.shape, options.programs, options.environment),
          bus_(cluster_.nats_url()),
          store_(cluster_.redis_port(), kStorePatience) {
        ledger_.seed = options.seed;
        ledger_.rules = Cluster::rules(options.shape);
    }

    ~Ordeal() {
        if (!options_.logs.empty()) cluster_.copy_logs(options_.logs);
    }
    Ordeal(const Ordeal&) = delete;
    Ordeal& operator=(const Ordeal&) = delete;

    Ledger run() {
        const auto plan =
            options_.shape.attack ? std::vector<Planned>{} : draw_plan(options_.seed, options_.span, options_.shape);
        Load load(cluster_.nats_url(), cluster_.redis_port(),
                  {options_.seed, options_.jobs_per_second, options_.jobs_most, Cluster::topics(),
                   Cluster::topic_of_approvals()});
        disturb(plan, load);
        heal();
        if (attack_) attack_->finish(ledger_);
        load.finish(ledger_);
        if (interrupted()) return std::move(ledger_);
        tell(fmt::format("healed after {} disturbances; waiting for quiet", ledger_.disturbances.size()));
        settle();
        if (interrupted()) return std::move(ledger_);
        // Before the streams, which have more by then: runs of attackers go on sending.
        ledger_.in_flight = store_.marks_in_flight(ledger_.rules.in_flight_life, kMarksMost);
        read_streams();
        read_store();
        ledger_.executions = cluster_.executions();
        ledger_.footprints = cluster_.footprints();
        ledger_.crashes = cluster_.crashes();
        ledger_.unstoppable = cluster_.unstoppable();
        return std::move(ledger_);
    }

private:
    bool interrupted() { return ledger_.interrupted = stop_; }

    void tell(const std::string& line) const {
        if (options_.tell) options_.tell(line);
    }

    void disturb(const std::vector<Planned>& plan, Load& load) {
        const auto began = Clock::now();
        auto told = began;
        auto next = plan.begin();
        while (Clock::now() - began < options_.span && !stop_) {
            for (; next != plan.end() && Clock::now() - began >= next->at; ++next) begin(*next, load);
            end_due(Clock::now());
            if (options_.shape.attack && !attack_ && Clock::now() - began >= options_.span / kQuietShare) {
                ledger_.attacked_from = now();
                attack_.emplace(cluster_.nats_url(), cluster_.redis_port(), options_.seed, job_prefix(options_.seed));
            }
            cluster_.supervise();
            cluster_.measure_once();
            if (Clock::now() - told > kProgressEvery) {
                told = Clock::now();
                tell(fmt::format("{} s: {} disturbances, {} jobs at rest",
                                 std::chrono::duration_cast<seconds>(told - began).count(), ledger_.disturbances.size(),
                                 resting()));
            }
            std::this_thread::sleep_for(kBeat);
        }
    }

    std::string resting() {
        StoreReader look(cluster_.redis_port(), milliseconds(300));
        const auto jobs = look.resting_jobs();
        return jobs ? std::to_string(*jobs) : "(Redis does not answer)";
    }

    void begin(const Planned& planned, Load& load) {
        if (!hurts(planned.kind)) {
            load.request(planned.kind, planned.amount);
            ledger_.disturbances.push_back({planned.kind, "load", now(), now()});
            return;
        }
        InForce one{planned, Clock::now() + planned.lasts, {planned.kind, {}, now(), {}}};
        if (cluster_.begin(planned, one.noted.target)) in_force_.push_back(std::move(one));
    }

    void end_due(Clock::time_point at) {
        for (auto one = in_force_.begin(); one != in_force_.end();) {
            if (one->over > at || !cluster_.can_end(one->planned)) {
                ++one;
                continue;
            }
            if (cluster_.end(one->planned)) {
                one->noted.until = now();
                ledger_.disturbances.push_back(std::move(one->noted));
            }
            one = in_force_.erase(one);
        }
    }

    void heal() {
        while (!in_force_.empty()) {
            end_due(Clock::time_point::max());
            std::this_thread::sleep_for(kBeat);
        }
        cluster_.supervise();
    }

    /// Waits until no job is under way, no message is pending and no lock is held, and stays so for a while. What floods and attackers
    /// have left takes its time; what counts is how long nothing has come to rest. Jobs of attackers wait for workers that never come:
    /// theirs are the messages that may still be in hand.
    void settle() {
        const auto began = Clock::now();
        std::set<std::string> waiting;
        for (const auto& [job, submission] : ledger_.submissions) {
            if (submission.acknowledged) waiting.insert(job);
        }
        std::optional<Clock::time_point> quiet_since;
        auto moved = began;
        while (Clock::now() - moved < options_.quiet_limit && !stop_) {
            cluster_.supervise();
            cluster_.measure_once();
            const std::size_t before = waiting.size();
            const std::uint64_t least = least_pending_;
            ledger_.unrest = unrest(waiting);
            if (waiting.size() < before || least_pending_ < least) moved = Clock::now();
            if (!ledger_.unrest.empty())
                quiet_since.reset();
            else if (!quiet_since)
                quiet_since = Clock::now();
            if (quiet_since && Clock::now() - *quiet_since >= (waiting.empty() ? kQuietFor : kQuietWithoutSome)) {
                ledger_.settled = true;
                break;
            }
            std::this_thread::sleep_for(kLook);
        }
        ledger_.settling = std::chrono::duration_cast<Span>(Clock::now() - began);
    }

    /// What is not at rest; empty: all is quiet.
    std::string unrest(std::set<std::string>& waiting) {
        if (std::string why = cluster_.servers_missing(); !why.empty()) return why;
        std::string under_way;
        std::erase_if(waiting, [&](const std::string& job) {
            const std::string state = store_.state_of(job);
            if (!state.empty() && !at_rest(state)) under_way = job;
            return at_rest(state);
        });
        if (!under_way.empty()) return fmt::format("{} jobs, {} among them", waiting.size(), under_way);
        for (const std::string_view name : kConsumers) {
            const auto consumer = look_at(name);
            if (!consumer) return fmt::format("nothing can be learnt about the consumer {}", name);
            if (name == kSubmissions) least_pending_ = std::min(least_pending_, consumer->pending);
            if (consumer->left() > 0)
                return fmt::format("{} messages of {} to be delivered, {} in hand", consumer->pending, name,
                                   consumer->unacknowledged);
        }
        const auto held = locks();
        return held.empty() ? "" : fmt::format("the lock {}", held.front());
    }

    std::optional<Consumer> look_at(std::string_view name) {
        auto consumer = bus_.consumer(kSysStream, std::string(name));
        if (consumer && attack_ && name == kSubmissions)
            consumer->hostile = store_.unfinished_jobs(kHostileTenant).value_or(0);
        return consumer;
    }

    /// Of honest jobs: what attackers have submitted may wait for workers that never come, and is tried again meanwhile.
    std::vector<std::string> locks() {
        return store_.keys(fmt::format("cordum:scheduler:job:{}*", job_prefix(options_.seed)), kNamesMost);
    }

    /// Its marks are told apart: it may be in hand.
    void note_of_attackers(std::uint64_t sequence) {
        if (attack_) of_attackers_.insert(std::to_string(sequence));
    }

    void read_streams() {
        bus_.read(kSysStream, "sys.job.result", [this](const BusClient::Stored& message) {
            auto result = parse_result(message.payload);
            if (!result || !ledger_.submissions.contains(result->job)) return note_of_attackers(message.sequence);
            ledger_.results.push_back({std::move(result->job), std::move(result->status), std::move(result->worker),
                                       message.sequence, message.stored, result->may_be_tried_again});
        });
        bus_.read(kSysStream, "sys.job.submit", [this](const BusClient::Stored& message) {
            const auto request = parse_request(message.payload);
            if (!request) return;
            if (!ledger_.submissions.contains(request->job)) note_of_attackers(message.sequence);
            ledger_.stored.insert(request->job);
        });
        bus_.read(kJobsStream, "worker.*.jobs", [this](const BusClient::Stored& message) {
            const auto request = parse_request(message.payload);
            if (request && request->job.starts_with(kAttackPrefix)) return;
            const auto known = request ? ledger_.submissions.find(request->job) : ledger_.submissions.end();
            if (known == ledger_.submissions.end()) {
                ledger_.dispatched_unsound.push_back(fmt::format("message {} for {}: about no job that was submitted",
                                                                 message.sequence, message.subject));
                return;
            }
            ++ledger_.dispatched[request->job];
            const std::string fault = fault_of_content(request->content, request->job, known->second.content_size);
            if (!fault.empty()) ledger_.dispatched_unsound.push_back(fmt::format("{}: {}", request->job, fault));
        });
        for (const std::string_view name : kConsumers) {
            if (const auto consumer = look_at(name)) ledger_.consumers.push_back(*consumer);
        }
    }

    void read_store() {
        for (const auto& [job, submission] : ledger_.submissions)
            ledger_.ends.emplace(job, store_.end_of(job, submission.content_size));
        ledger_.locks = locks();
        for (LeftMark& mark : ledger_.in_flight)
            mark.hostile = of_attackers_.contains(mark.key.substr(mark.key.rfind(':') + 1));
        for (const std::string& job : ledger_.may_not_run) {
            const std::string state = store_.state_of(job);
            if (!state.empty() && state != "FAILED") ledger_.let_through.emplace(job, state);
        }
        ledger_.garbage_letters = store_.count("dlq:entry:poison:*");
    }

    const Options& options_;
    const std::atomic<bool>& stop_;
    Cluster cluster_;
    BusClient bus_;
    StoreReader store_;
    Ledger ledger_;
    std::list<InForce> in_force_;
    std::optional<Attack> attack_;
    std::set<std::string> of_attackers_;                                       // messages of the stream, by sequence
    std::uint64_t least_pending_ = std::numeric_limits<std::uint64_t>::max();  // submissions, since the healing
};

}  // namespace

Ledger undergo(const Options& options, const std::atomic<bool>& stop) { return Ordeal(options, stop).run(); }

}  // namespace lockstep::prod::ordeal
