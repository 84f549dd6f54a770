// A world that is made by hand: events and a keyspace, in the order in which servers would show them, with every rule
// watching. What a sound cluster does is here in the words of the system; what a broken one does is said in planted_breaks.cpp.
//
// Nothing of it is the engine's: stories hold what can be seen from outside, as a rule sees it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "fakes/redis/keyspace_events.h"
#include "sim/judge/judgement.h"
#include "sim/scenario/topology.h"
#include "sim/spec/lifetimes.h"

namespace lockstep::sim {

class ForgedWorld final : private Findings, private fakes::Trace {
public:
    static constexpr NodeId kReplica{5};
    static constexpr NodeId kOtherReplica{6};
    static constexpr NodeId kWorker{7};
    static constexpr NodeId kReader{8};
    static constexpr std::string_view kWorkerId = "w";

    /// Two replicas, a worker that both have just heard, and another service that reads results.
    ForgedWorld();
    ~ForgedWorld() override;

    void wait(engine::Duration duration) { now_ += duration; }
    /// Everything is quiet, and is judged.
    void rest();
    /// The invariants that were violated.
    [[nodiscard]] const std::set<std::string>& violated() const { return violated_; }
    [[nodiscard]] const engine::Tunables& tunables() const { return tunables_; }

    /// Of the job's request, from now on.
    void label(const std::string& job, const std::string& name, const std::string& value) {
        labels_[job][name] = value;
    }

    /// The job's request points to its input, from now on.
    void point_to_input(const std::string& job, std::string pointer) { inputs_[job] = std::move(pointer); }
    /// Policy is asked without it.
    void hide_input(const std::string& job) { hidden_.insert(job); }
    void unlabel(const std::string& job, const std::string& name) { labels_[job].erase(name); }
    /// No rule accepts the job's request, from now on.
    void spoil(const std::string& job) { spoilt_.insert(job); }
    /// What policy constrains is left out of what goes to workers, from now on.
    void forget_constraints() { limits_.clear(); }

    // The way of a job, step by step. Replicas act under its lock unless it is said otherwise.
    void submit(const std::string& job, const std::string& tenant = "t");
    void take_up(const std::string& job, NodeId replica = kReplica);
    void fail_to_read(const std::string& job);
    void let_go(const std::string& job, NodeId replica = kReplica);
    /// `limit`: how many jobs of its tenant policy allows at a time; 0 = any number.
    void ask_policy(const std::string& job, std::string_view decision, int limit = 0, NodeId replica = kReplica);
    /// The job is not let through, because as many others of its tenant are on their way as policy allows.
    void find_tenant_full(const std::string& job, NodeId replica = kReplica);
    /// Nobody answers.
    void ask_policy_in_vain(const std::string& job);
    /// Both halves of a question by themselves.
    void ask_policy_and_wait(const std::string& job);
    void hear_policy(const std::string& job, std::string_view decision);
    /// The job's lock is evicted under its holder.
    void lose_lock(const std::string& job);
    /// Redis fails over, and has lost nothing that a rule could miss.
    void fail_over() {
        keys_.restore([] {});
    }
    /// The same, but for this change of the job's state.
    void fail_over_to(const std::string& job, std::string_view state);
    void move(const std::string& job, std::string_view state, NodeId replica = kReplica);
    void commit_dispatch(const std::string& job, NodeId replica = kReplica);
    void send(const std::string& job, NodeId replica = kReplica);
    void arrive(const std::string& job);
    /// The worker's success reaches a scheduler, which records it.
    void finish(const std::string& job);
    /// The worker's success is in the stream, and no scheduler has been given it.
    void report(const std::string& job);
    /// A replica ends the job because its time is over: its state dates from now.
    void time_out(const std::string& job);
    /// As Redis dates it.
    void date(const std::string& job, NodeId replica = kReplica);
    /// The worker's failure reaches a scheduler.
    void report_failure(const std::string& job);
    /// The other service takes the result that has come last off the stream, after it has kept and marked it, or unheard.
    void read_result(const std::string& job, bool heard);
    /// From its submission to RUNNING.
    void run(const std::string& job);
    /// From its submission to SUCCEEDED.
    void serve(const std::string& job);
    /// Delivered, taken up, charged with a try, and handed back for a while.
    void turn_away(const std::string& job, NodeId replica, engine::Duration delay);
    /// A dead letter, and the word of it on the bus.
    void bury(const std::string& job, std::string_view code);

    // A message that is no job's, by its number in the stream. It is stored as a packet, and arrives as one or as something
    // else.
    void deliver_message(std::uint64_t sequence, bool readable, std::string_view payload = "a packet");
    void answer_message(std::uint64_t sequence, fakes::EventKind verdict);

    // What else there is to tell.
    void heartbeat();
    /// The worker of this world announces itself, as far as it knows.
    void beat();
    /// A scheduler tells the job's worker to leave off.
    void call_off(const std::string& job, NodeId replica = kReplica);
    /// The job's lock runs out.
    void expire_lock(const std::string& job);
    /// Of one worker, with so many of its four places taken.
    void heartbeat_of(std::string_view worker, int active_jobs);
    /// Both replicas read the settings.
    void read_settings();
    /// The submission of the job is delivered to a replica, which keeps its request.
    void keep_request(const std::string& job);
    /// Output policy is asked, and does not answer.
    void judge_output_in_vain(const std::string& job);
    /// The output of a job that has succeeded is withheld.
    void withhold(const std::string& job);
    /// From now on nobody who listens for what happens to outputs is told.
    void leave_out_audits() { unaudited_ = true; }
    /// Of the protocol, in what is published from now on.
    void speak_version(int version) { version_ = version; }
    void start(NodeId replica);
    void tick(NodeId replica);
    /// The settings open it, and both replicas have read them.
    void open_fail_mode();
    /// An operator approves, up to the request with its label, or rejects, up to the record of it.
    void approve(const std::string& job);
    void reject(const std::string& job);
    /// The request of a submitted job is in the store, as a gateway leaves it.
    void store_request(const std::string& job);
    /// A slot of the tenant is the job's.
    void hold_slot(const std::string& job, const std::string& tenant);
    void judge_output(const std::string& job, std::string_view decision);
    void undo(const std::string& job, const std::string& by);
    void write_snapshot(bool whole, NodeId replica = kReplica);
    // Workflow runs. Their documents are JSON texts.
    /// A replica takes the run's lock, unless somebody has it, and reads the run.
    void take_run(const std::string& run, std::string_view token, NodeId replica = kReplica);
    /// It writes the run, and gives the lock back if that is still its own.
    void change_run(const std::string& run, std::string_view token, std::string document, NodeId replica = kReplica);
    void lose_run_lock(const std::string& run);
    void set_text(NodeId client, std::string_view key, std::string text);
    void set_field(NodeId client, std::string_view key, std::string_view field, std::string_view value);
    /// A replica takes the expiry of a key away.
    void persist(std::string_view key);
    void list_in_index(const std::string& job, std::string_view state);

private:
    bool emit(const fakes::Event& told) override;
    void violated(Breach breach) override { violated_.emplace(breach.invariant); }
    EventNumber present() override { return events_; }
    [[nodiscard]] const Time& told_at() const override { return now_; }

    [[nodiscard]] cap::BusPacket request_packet(const std::string& job) const;
    [[nodiscard]] std::string question_about(const std::string& job) const;
    /// A script in its three parts, with what it changes.
    template <class Change>
    void script(NodeId client, std::string_view name, std::string_view key, std::string_view job,
                std::string_view reply, Change change);
    void tell(fakes::EventKind kind, fakes::When when, NodeId node, std::string_view job, std::string_view subject,
              const cap::BusPacket* packet, std::string_view message_id = {});
    void tell_of_result(fakes::EventKind kind, fakes::When when, NodeId node, std::string_view durable,
                        const std::string& job, const cap::BusPacket& packet);
    void on_every_call(fakes::EventKind kind, NodeId node, std::string_view job, std::string_view to,
                       std::string_view question = {}, std::string_view answer = {});
    void ask_in_vain(fakes::EventKind kind, std::string_view job, std::string_view to);
    void enter(const std::string& job, std::string_view state);
    void audit_withheld(const std::string& job);
    [[nodiscard]] std::string line_of(const std::string& job) const;
    void write_date(const std::string& job);
    [[nodiscard]] std::string letter_about(const std::string& job, std::string_view code) const;
    /// When it is by the clock of Redis, in UTC.
    [[nodiscard]] std::string utc() const;
    void leave_index(const std::string& job, std::string_view state);
    template <class Container>
    fakes::redis::Keyspace::Node& at(std::string_view key);
    /// What `change` does is one command of `client`.
    template <class Change>
    void command(NodeId client, std::string_view name, std::string_view key, Change change);
    /// By the clock of Redis, which shows how long the story has been told; milliseconds.
    [[nodiscard]] std::int64_t redis_now() const { return engine::to_millis(now_.time_since_epoch()); }
    [[nodiscard]] std::int64_t redis_micros() const { return redis_now() * 1000; }
    /// As it is documented for such a key.
    [[nodiscard]] std::int64_t expiry_of(std::string_view key, std::string_view value = {}) const;
    void renew(std::string_view key);

    engine::Tunables tunables_;
    TunablesInForce settings_{tunables_};
    spec::Lifetimes lifetimes_{settings_};
    fakes::redis::Keyspace keys_;
    fakes::redis::KeyspaceEvents keyspace_events_;
    Judgement judgement_{*this};
    NameNumbers job_numbers_;
    std::map<std::string, std::map<std::string, std::string>> labels_;  // by job
    std::map<std::string, std::string> inputs_;                         // where each job's is
    std::set<std::string> hidden_;
    std::set<std::string> spoilt_;
    bool unaudited_ = false;
    int version_ = 1;
    std::map<std::string, int> limits_;           // by job, what policy has constrained
    std::map<std::string, std::string> tenants_;  // by job
    std::string run_listed_;                      // by its status
    std::set<std::string> violated_;
    Time now_{std::chrono::seconds{10}};
    EventNumber events_ = 0;
    std::uint64_t stream_sequence_ = 0;
};

}  // namespace lockstep::sim
