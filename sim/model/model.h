// What an outside observer knows of the cluster, and the only part of the judge that reads events and the keyspace. It turns both into
// facts and hands these to its listener: the facts of one command or script together, after it, and any other at once.
//
// 1. Jobs, workers and tenants are numbers or stable addresses; a name is looked up once for each key or event.
// 2. The model is that of the servers: what Redis has, what the streams hold, what each replica was sent. It knows nothing of
//    scripts, and of settings only how long an answer of policy is good and whether runs need their lock; rules apply the others.
// 3. Where data is lost, the model follows what Redis has kept.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/redis/observer.h"
#include "sim/model/call_times.h"
#include "sim/model/capacity_queues.h"
#include "sim/model/config_documents.h"
#include "sim/model/deliveries.h"
#include "sim/model/fact_list.h"
#include "sim/model/heartbeats_heard.h"
#include "sim/model/key_lives.h"
#include "sim/model/lock_grants.h"
#include "sim/model/names.h"
#include "sim/model/outages.h"
#include "sim/model/output_names.h"
#include "sim/model/policy_calls.h"
#include "sim/model/replica.h"
#include "sim/model/request_reader.h"
#include "sim/model/result_readers.h"
#include "sim/model/settings_read.h"
#include "sim/model/stored_snapshot.h"
#include "sim/model/tick_calls.h"
#include "sim/model/time_limits.h"
#include "sim/model/tunables_in_force.h"
#include "sim/model/weather.h"
#include "sim/model/workflow_runs.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class FactListener {
public:
    virtual ~FactListener() = default;
    /// Valid during the call.
    virtual void on_facts(std::span<const Fact> facts) = 0;
    /// An event of this time is about to be told of; Time::max(): none is any more.
    virtual void on_time(Time /*now*/) {}
};

class Model final : public EventObserver, public fakes::redis::KeyspaceObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::publish,
                                               fakes::EventKind::ack,
                                               fakes::EventKind::nak,
                                               fakes::EventKind::term,
                                               fakes::EventKind::max_deliveries,
                                               fakes::EventKind::redis,
                                               fakes::EventKind::kernel_check,
                                               fakes::EventKind::stored,
                                               fakes::EventKind::deliver,
                                               fakes::EventKind::read_back,
                                               fakes::EventKind::core_deliver,
                                               fakes::EventKind::lock_acquired,
                                               fakes::EventKind::lock_released,
                                               fakes::EventKind::lock_renewed,
                                               fakes::EventKind::lock_expired,
                                               fakes::EventKind::node_down,
                                               fakes::EventKind::fault,
                                               fakes::EventKind::core_publish,
                                               fakes::EventKind::in_progress,
                                               fakes::EventKind::output_check,
                                               fakes::EventKind::submit,
                                               fakes::EventKind::cancel,
                                               fakes::EventKind::approve,
                                               fakes::EventKind::paused,
                                               fakes::EventKind::resumed,
                                               fakes::EventKind::connection_broken,
                                               fakes::EventKind::node_up,
                                               fakes::EventKind::heartbeat};

    /// Both outlive the model.
    Model(EventClock& clock, FactListener& listener) : clock_(clock), listener_(listener) {}

    [[nodiscard]] const std::deque<Job>& jobs() const { return jobs_; }
    /// Null: it was never named.
    [[nodiscard]] const Job* find(std::string_view job) const {
        if (last_named_ != nullptr && last_named_->name == job) return last_named_;
        const NameNumbers::Number number = job_names_.find(job);
        return number == 0 ? nullptr : &jobs_[number - 1];
    }
    [[nodiscard]] const ConfigDocuments& config_documents() const { return config_documents_; }
    /// How many tenants have, or had, a stored request.
    [[nodiscard]] std::size_t tenants_of_requests() const { return tenants_of_requests_.size(); }
    /// The key that its request points to; empty: none.
    [[nodiscard]] std::string_view input_of(const Job& job) const { return input_names_.name_of(job.causes.input); }
    /// How often a read of its input found nothing.
    [[nodiscard]] int misses_of_input(const Job& job) const;
    /// A restart or a failover took back what Redis had, at some time.
    [[nodiscard]] bool taken_back() const { return was_taken_back_; }
    [[nodiscard]] const RequestReader& requests() const { return requests_; }
    /// Jobs of the tenant that take a slot, without `except`.
    [[nodiscard]] static int active(const Tenant& tenant, const Job& except) {
        return tenant.active - (counts_as_active(except) ? 1 : 0);
    }
    [[nodiscard]] std::string_view name_of(WorkerNumber worker) const { return worker_names_.name_of(worker); }
    /// 0: it was never named.
    [[nodiscard]] WorkerNumber number_of(std::string_view worker) const { return worker_names_.find(worker); }
    /// Null: the replica knows nothing of the worker.
    [[nodiscard]] const Liveness* liveness(fakes::NodeId replica, WorkerNumber worker) const;
    [[nodiscard]] const Liveness* liveness(fakes::NodeId replica, std::string_view worker) const {
        return liveness(replica, number_of(worker));
    }
    /// By worker; of a worker that the replica does not know, both events are 0.
    [[nodiscard]] std::span<const Liveness> workers_of(fakes::NodeId replica) const { return at(replica).now.workers; }
    [[nodiscard]] const ReplicaTraffic& traffic_of(fakes::NodeId replica) const { return at(replica).traffic; }
    /// When the store last refused the replica a job at this worker, or the replica heard so.
    [[nodiscard]] Time found_full(fakes::NodeId replica, WorkerNumber worker) const {
        const std::vector<Time>& full = at(replica).full;
        return worker < full.size() ? full[worker] : kBeforeAll;
    }
    [[nodiscard]] const SnapshotWriter& snapshot_writer(fakes::NodeId node) const { return at(node).writer(); }
    [[nodiscard]] const StoredSnapshot& snapshot() const { return snapshot_; }
    [[nodiscard]] const ReplicaStart& start_of(fakes::NodeId replica) const { return at(replica).start; }
    /// Since when; event 0: it does not.
    [[nodiscard]] Since redis_reached_by(fakes::NodeId replica) const { return at(replica).reached; }
    /// A clock of the cluster was set forward or back.
    [[nodiscard]] bool clocks_jumped() const { return clocks_jumped_; }
    /// That of Redis was, or goes at another speed.
    [[nodiscard]] bool redis_clock_set() const { return redis_clock_set_; }
    /// The same, but that clocks may have drifted.
    [[nodiscard]] bool clocks_were_set() const { return clocks_were_set_; }
    /// An operator changed the settings.
    [[nodiscard]] bool settings_changed() const { return settings_changed_; }
    /// When the last command began, by the clock of Redis.
    [[nodiscard]] std::int64_t redis_ms() const { return redis_ms_; }
    /// A settings document in Redis was replaced, by anyone.
    [[nodiscard]] bool settings_replaced() const { return settings_replaced_; }
    /// When the last event was told.
    [[nodiscard]] Time now() const { return clock_.told_at(); }

    /// Of the lock of the schedulers' reconciler; null: the replica has not asked for it on its present connection.
    [[nodiscard]] const TickHold* tick_hold(fakes::NodeId replica) const { return tick_locks_.hold_of(replica); }
    /// A fault has begun or ended, or a process or connection was disturbed, at some time.
    [[nodiscard]] bool disturbed() const { return disturbed_; }

    /// Packets are changed on their way, or were: a name may be that of nothing.
    [[nodiscard]] bool packets_garbled() const { return packets_garbled_; }
    /// By the settings that Redis has or had, input policy fails open.
    [[nodiscard]] bool fail_mode_opened() const { return fail_mode_opened_; }

    /// A replica has still to record what was said against an output, a message is delivered for the last time, a service has a result to
    /// read, a sum of dead letters is to be published, or a rollback to be done: the run must not end before.
    [[nodiscard]] bool waits() const {
        return outputs_unrecorded_ > 0 || late_deliveries_.any_is_last() || result_readers_.open() > 0 ||
               letter_sums_.is_one_to_come(clock_.told_at()) || sagas_.waits();
    }
    [[nodiscard]] const LockGrants& lock_grants() const { return lock_grants_; }
    /// When Redis last gave it no reply to a call.
    [[nodiscard]] Time redis_unanswered(fakes::NodeId node) const { return at(node).redis_unanswered; }
    [[nodiscard]] const ResultReaders& result_readers() const { return result_readers_; }
    [[nodiscard]] const LetterSums& letter_sums() const { return letter_sums_; }
    /// An index of dead letters was lost, or Redis was restored: it may list fewer than there are.
    [[nodiscard]] bool letter_index_lost() const { return letter_index_lost_; }
    /// A redacted output has been stored there.
    [[nodiscard]] bool has_redacted_output(std::string_view key) const { return redacted_outputs_.contains(key); }
    /// What it is; null: there is none, or it was removed.
    [[nodiscard]] const std::string* redacted_output(std::string_view key) const {
        const auto found = redacted_outputs_.find(key);
        return found == redacted_outputs_.end() || !found->second ? nullptr : &*found->second;
    }
    [[nodiscard]] const WorkflowRuns& runs() const { return runs_; }
    [[nodiscard]] const Sagas& sagas() const { return sagas_; }
    [[nodiscard]] const Deliveries& deliveries() const { return deliveries_; }
    /// Bytes of the largest message that was delivered so far.
    [[nodiscard]] std::uint64_t largest_delivered() const { return deliveries_.largest(); }
    /// Bytes of the largest message that NATS takes; 0: its links are narrow, and how soon what it sends arrives is not known.
    [[nodiscard]] std::uint64_t max_payload() const { return max_payload_; }
    [[nodiscard]] bool runs_go_unlocked() const { return run_turns_.go_unlocked; }
    /// Documents that were in force at some time: the one that schedulers start with, whose reconciler block is in the tunables, and each
    /// that Redis had since. Which replica goes by which of them is not known.
    [[nodiscard]] std::span<const TimeLimits> time_limits() const { return time_limits_; }
    /// The document that schedulers start with; nothing: they have none.
    [[nodiscard]] const std::optional<TimeLimits>& file_limits() const { return file_limits_; }
    /// Which documents each replica may go by.
    [[nodiscard]] const SettingsRead& settings() const { return settings_; }
    /// Jobs that are DISPATCHED or RUNNING, and the most at one time.
    [[nodiscard]] int jobs_out() const { return jobs_out_; }
    [[nodiscard]] int most_jobs_out() const { return most_jobs_out_; }
    /// Jobs that are PENDING or SCHEDULED.
    [[nodiscard]] int jobs_waiting() const { return jobs_waiting_; }
    /// By name.
    [[nodiscard]] const std::map<std::string, Tenant, std::less<>>& tenants() const { return tenants_; }
    /// The set of tenants with a queue lost something.
    [[nodiscard]] bool tenants_list_unsure() const { return tenants_list_unsure_; }
    [[nodiscard]] const Capacity& capacity() const { return capacity_; }
    [[nodiscard]] const CallTimes& call_times() const { return call_times_; }
    [[nodiscard]] const Outages& outages() const { return outages_; }
    [[nodiscard]] const PolicyCalls& policy_calls() const { return policy_calls_; }
    [[nodiscard]] Announced announced(WorkerNumber worker) const {
        return worker < announced_.size() ? announced_[worker] : Announced{};
    }
    /// Results and submissions that NATS stored: ticks read both.
    [[nodiscard]] std::uint64_t stored_for_ticks() const { return stored_for_ticks_; }
    /// Whether the schedulers' consumer has results still to settle.
    [[nodiscard]] bool has_unsettled_results() const { return !unsettled_results_.empty(); }
    /// By scheduler.
    [[nodiscard]] const std::map<fakes::NodeId, TickCalls>& tick_calls() const { return tick_calls_; }
    /// To be told of what it wants after all who judge.
    [[nodiscard]] Weather& weather() { return weather_; }
    [[nodiscard]] const Weather& weather() const { return weather_; }

    /// Of the schedulers. REQUIRES: set_tunables.
    [[nodiscard]] const TunablesInForce& tunables() const { return *tunables_; }
    /// They outlive the model.
    void set_tunables(const TunablesInForce& tunables) { tunables_ = &tunables; }
    /// See OutputNames.
    void set_key_families(const KeyFamilies& families) { output_names_.set_families(families); }
    /// policy_answer_max_age, the most that any replica has.
    void set_answers_good_for(engine::Duration time) { answers_good_for_ = time; }
    /// As all replicas have them; where theirs differ, no rule may go by how long a report is good.
    void set_liveness_times(const LivenessTimes& times) { liveness_times_ = times; }
    /// See LateDeliveries::follow.
    void follow_deliveries(std::int64_t first, std::int64_t last) { late_deliveries_.follow(first, last); }
    /// See max_payload().
    void set_max_payload(std::uint64_t bytes) { max_payload_ = bytes; }
    /// The timeouts document that schedulers start with, in JSON; may be empty.
    void set_time_limits(std::string_view document);
    /// `wf_on_redis_error` or `wf_on_contention` is "local".
    void set_runs_go_unlocked(bool set) { run_turns_.go_unlocked = set; }
    /// A node has counted something, set a gauge or taken a sample (MetricTold).
    void on_metric(fakes::NodeId node, std::string_view name, double value, std::span<const std::string_view> labels);
    /// Delivers what is still to be delivered, where the end of the last command is not told.
    void flush();
    /// The run is over, and this is what Redis has. `quiet`: nothing is left to happen.
    void at_rest(const fakes::redis::Keyspace& redis, bool quiet, std::size_t handlers_in_flight = 0);

    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void zset_listed(fakes::NodeId client, std::string_view key) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void set_added(fakes::NodeId client, std::string_view key, std::string_view member) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void expiry_set(fakes::NodeId client, std::string_view key, std::int64_t before, std::int64_t after) override {
        key_lives_.expiry_set(client, key, before, after);
    }
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void losing(const fakes::redis::Keyspace& before) override { taken_back_.losing(before); }
    void restored(const fakes::redis::Keyspace& now) override;

private:
    Job& job(std::string_view name);
    Job& job_of(const fakes::Event& event);
    /// Null: it was never named.
    [[nodiscard]] Job* known_job(std::string_view name) {
        const NameNumbers::Number number = job_names_.find(name);
        return number == 0 ? nullptr : &jobs_[number - 1];
    }
    Tenant& tenant(std::string_view name);
    template <class Change>
    void recount(Job& job, Change change) {
        Tenant& former = *job.tenant;
        const bool waited = is_waiting(job.state());
        look_whether_crowded(former);
        count(job, -1);
        change();
        count(job, +1);
        if (!waited && is_waiting(job.state())) job.tried = clock_.told_at();
        look_whether_crowded(*job.tenant);
        look_for_free_slot(former);
        if (job.tenant != &former) look_for_free_slot(*job.tenant);
    }
    [[nodiscard]] WorkerNumber number_of_server(std::string_view handed);
    void count(const Job& job, int by);
    [[nodiscard]] static bool counts_as_active(const Job& job) { return !job.is_torn && is_active(job.state()); }
    void enter(fakes::NodeId client, Job& job, std::string_view state);
    void write_record(fakes::NodeId client, Job& job, RecordField field, const std::string* before,
                      std::string_view after);
    void date(fakes::NodeId client, Job& job, std::string_view micros);
    void name_tenant(fakes::NodeId client, Job& job, TenantNamed::Where where, std::string_view tenant);
    void record_compensation(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view bytes);
    void take_compensation(fakes::NodeId client, std::string_view key, std::size_t index);
    void keep_aside(fakes::NodeId client, std::string_view key, std::string_view bytes);
    void follow_rollback_lock(const fakes::Event& event, Time now);
    void lose_stack(std::string_view key, fakes::redis::Removal why);
    void lose_saga_of(const Job& job);
    /// Where the member of this sorted set is a saga that owes a rollback.
    void end_rollback(std::string_view key, std::string_view member);
    void restore_sagas(const fakes::redis::Keyspace& now);
    void follow_saga(Job& job, State to);
    void follow_question(const fakes::Event& event, Job& job);
    void on_compensation(const fakes::Event& event);
    void on_compensation_stored(const fakes::Event& event, const Job& by);
    void store_request(fakes::NodeId client, Job& stored, const std::string* before, std::string_view json);
    /// Null: it is none.
    std::shared_ptr<const cap::JobRequest> read_stored(Job& stored, std::string_view json);
    bool look_at_submission(const fakes::Event& event, Unanswered::Delivery& delivery);
    void name_worker(Job& job, WorkerNumber worker, EventNumber event);
    void look_whether_out(Job& job, EventNumber event);

    void look_for_free_slot(Tenant& tenant);
    void look_whether_crowded(Tenant& tenant) {
        if (tenant.is_crowded()) tenant.crowded_until = clock_.told_at();
    }
    void leave_queue(Job& job);
    void set_waits_for_slot(Job& job, bool waits);
    QueueStep& step();
    TenantQueue& touched(Tenant& tenant, fakes::NodeId client);
    void begin_step(std::int64_t redis_ms);
    void end_step(fakes::NodeId client);
    void leave_queues(fakes::NodeId client, std::string_view key, std::string_view member, double before);
    void enter_queue(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                     double after);
    void write_turns(std::string_view tenant_name, std::string_view field, std::string_view value);
    void unwrite_turns(std::string_view tenant_name, std::string_view field);
    void write_wait(Job& job, std::string_view field, const std::string* before, std::string_view after);
    void remove_from_queues(std::string_view key, fakes::redis::Removal why, const fakes::redis::Value& last);
    void note_list(std::string_view key, int jobs);
    void restore_queues(const fakes::redis::Keyspace& now);

    void note_policy_limits(Job& job, const cap::PolicyCheckResponse& response);
    static void note_request_limits(Job& job, const cap::JobRequest* request);
    void write_limit(fakes::NodeId client, Job& job, std::string_view field, std::string_view after);
    void write_settings(fakes::NodeId client, const std::string* text_before, std::string_view text);
    void no_limits_owed();
    void follow_file_of_limits(const fakes::Event& event);
    void note_published(const fakes::Event& event, Time now);
    void on_redis(const fakes::Event& event, Time now);
    void on_circuit_call(const fakes::Event& event);
    void change_circuit(fakes::NodeId client, SharedCircuitChanged::Part part, const SharedCircuit& after,
                        std::optional<fakes::redis::Removal> removed = {});
    void on_reply(const fakes::Event& event, Job* about, StateReads::CallKind kind, Time now);
    void on_fault(const fakes::Event& event, Time now);
    void on_tick_call(TickLock& lock, const fakes::Event& event, Time now);
    void on_page();
    void write_run(fakes::NodeId client, std::string_view name, std::string_view document);
    void write_step_input(fakes::NodeId client, std::string_view key, std::string_view text);
    void ask_for_step(fakes::NodeId client, std::string_view field, std::string_view request);
    void note_timeline(fakes::NodeId client, std::string_view key, std::string_view entry);
    /// Nothing: it is taken off the list.
    void list_run(std::string_view key, std::string_view member, std::optional<double> seconds);
    void set_timer(fakes::NodeId client, std::string_view key, std::string_view member, double seconds);
    void on_delivery(const fakes::Event& event);
    void on_read_back(const fakes::Event& event);
    void on_answer(const fakes::Event& event);
    void on_step_stored(const fakes::Event& event, Job& meant, bool says_this);
    void note_run_change(fakes::NodeId client, std::optional<RunChange> change);
    void follow_record_call(const fakes::Event& event, Time now);
    void on_lock(const fakes::Event& event, Time now);
    void on_lock_touched(const fakes::Event& event);
    void follow_grant(const fakes::Event& event, Since now);
    void disturb_stop(fakes::NodeId node);
    void note_stopped(fakes::NodeId node);
    void on_publish(const fakes::Event& event, Time now);
    void look_at_request(Sent& fact, const cap::JobRequest& request);
    void on_sign_of_life(const fakes::Event& event, Time now);
    void note_out_of_bounds(const fakes::Event& event, std::string_view reason);
    void on_snapshot_call(const fakes::Event& event, Time now);
    void on_snapshot_written(fakes::NodeId client, std::string_view text, std::int64_t expires_at);
    void on_snapshot_lock(const fakes::Event& event, Since since);
    void follow_reach(const fakes::Event& answered, Time now);
    void lose_reach(fakes::NodeId node);
    void on_node_up(fakes::NodeId node, Time now);
    void on_job_taken(const fakes::Event& taken, Job& job);
    void count_try(fakes::NodeId client, Job& job);
    void note_try(fakes::NodeId client, Job& job, std::string_view field, const std::string* before,
                  std::string_view after);
    void count_attempt(fakes::NodeId client, Job& job, std::int64_t before, std::int64_t after);
    void end_scan(fakes::NodeId client, Job& job);
    void restore_tries(Job& job, const fakes::redis::Keyspace& now, std::string_view key);
    void note_marks(const fakes::Event& event, Job& job, std::vector<ForeignMark> marks);
    void on_announcement(const fakes::Event& event, Time now);
    void note_cancel(const fakes::Event& event);
    void on_cancel_heard(const fakes::Event& event);
    void on_dispatch(const fakes::Event& event, Time now);
    void on_result_received(const fakes::Event& event);
    void follow_result_reader(const fakes::Event& event);
    void on_result_list(const fakes::Event& event);
    void on_operation(const fakes::Event& event);
    void on_request(const fakes::Event& event);
    void on_submission_settled(const fakes::Event& event);
    void on_announced(const fakes::Event& event, Time now);
    void lose_workers_of(fakes::NodeId node);
    void on_arrival(const fakes::Event& event, Time now);
    void on_success_stored(const fakes::Event& event);
    void on_input_read(const fakes::Event& event);
    void on_submission(const fakes::Event& event);
    void on_request_submitted(const cap::JobRequest& request);
    void note_topic(const cap::JobRequest& request);
    void on_success_said(const fakes::Event& event);
    void forget_in_nats(const fakes::Event& fault);
    void write_letter(fakes::NodeId client, Job& about, const std::string* before, std::string_view after);
    void remove_letter(std::string_view key, fakes::redis::Removal why, const fakes::redis::Value& last);
    void restore_letters(const fakes::redis::Keyspace& now);
    void list_letter(std::string_view key, std::string_view member);
    void restore_listings(const fakes::redis::Keyspace& now);
    [[nodiscard]] bool is_written_by_scheduler(fakes::NodeId client) const;
    RecordChange& change_of(const Job& job);
    void note_changes();
    void record_field(fakes::NodeId client, Job& job, std::string_view field, const std::string* before,
                      std::string_view after);
    void note_topic_of(RecordSources& sources, std::string_view topic);
    void record_request(Job& stored, const std::shared_ptr<const cap::JobRequest>& request);
    void record_text(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after);
    void record_letter(fakes::NodeId client, Job& about, const std::string* before, std::string_view after);
    void record_entry(fakes::NodeId client, std::string_view key, std::string_view value);
    void record_score(fakes::NodeId client, std::string_view key, std::string_view member, double score);
    void record_removal(std::string_view key, fakes::redis::Removal why);
    void restore_records(const fakes::redis::Keyspace& now);
    void note_report(const fakes::Event& event);
    static void note_decision(const cap::PolicyCheckResponse& answer, Job& job);
    void note_output_call(const fakes::Event& event, Job& job, const cap_output::OutputCheckRequest* question);
    EventNumber acquired_by_asker(Job& job, fakes::NodeId replica);
    void note_letter_sent(const fakes::Event& event);
    static void note_message_id(Sent& fact, RecordSources& sources);
    void on_letter_told(const fakes::Event& event);
    void on_sum_told(const fakes::Event& event, const std::string& name);
    std::string_view code_of_letter(std::string_view letter);
    void on_late_answer(const fakes::Event& event);
    void on_exhausted(const fakes::Event& event);
    void meet_end(const fakes::Event& event);
    Job& letter_of_message(const fakes::Event& event);
    void on_output_question(const fakes::Event& event);
    void on_policy(const fakes::Event& event, Time now);
    void on_policy_asked(const fakes::Event& event, Job& job);
    void on_result(const fakes::Event& event, Time now);
    void on_settled(const fakes::Event& event, Job& job);
    [[nodiscard]] EventNumber handled_since(fakes::NodeId replica, const ProcessedMark& mark) const;
    void on_node_down(fakes::NodeId node);
    void note_broken_connection(const fakes::Event& event, Time now);
    [[nodiscard]] static Choosing* choosing(Job& job, fakes::NodeId replica);
    void may_choose(const fakes::Event& event, Job& job, Since since);
    void choose_no_more(Job& job, fakes::NodeId replica, Since lost, bool knows);
    [[nodiscard]] Choice choice_of(const Job& job, const Choosing& choosing) const;
    void choose(fakes::NodeId replica, Job& job, std::string_view worker);
    void take_choice_back(fakes::NodeId replica, Job& job, std::string_view worker);
    void note_not_sent(fakes::NodeId replica, Job& job, std::string_view cause);
    void follow_choice(const fakes::Event& call, Job& job, StateReads::CallKind kind);
    void follow_traffic(const fakes::Event& event, Job& job, WorkerNumber worker);
    void note_refused(fakes::NodeId replica, Job& job, WorkerNumber worker);
    [[nodiscard]] const Replica& at(fakes::NodeId node) const;
    Replica& replica(fakes::NodeId node);
    Liveness& liveness_of(fakes::NodeId replica, WorkerNumber worker);

    template <class Happened>
    Happened& note(Happened fact, fakes::NodeId node, const Job* job, EventNumber event) {
        fact.event = event;
        fact.at = clock_.told_at();
        fact.node = node;
        fact.job = job;
        return facts_.add(std::move(fact));
    }
    /// Of a change that has no event of its own: the event that is told next belongs to the same command.
    [[nodiscard]] EventNumber upcoming() const { return clock_.present() + 1; }
    void flush_unless_in_command() {
        if (!in_command_ && !facts_.all().empty()) flush();
    }

    EventClock& clock_;
    FactListener& listener_;
    FactList facts_;
    bool in_command_ = false;
    fakes::NodeId actor_;       // of the last event or command
    Job* delayed_ = nullptr;    // of the present command, as of the fact of that name
    std::vector<Job*> served_;  // no worker keeps a slot free for them any more, by the present command
    std::pair<WorkerNumber, const Job*> listed_;  // by the present command: the job in the list of the worker
    QueueStep step_;
    const Job* moved_ = nullptr;                 // whose state the present command has changed last
    std::span<const std::string_view> command_;  // that is being executed; empty: none, or nobody can tell

    NameNumbers job_names_, worker_names_, label_names_, input_names_;
    std::deque<Job> jobs_;       // by number - 1
    Job* last_named_ = nullptr;  // a script writes much of one job
    std::vector<Job*> jobs_by_event_number_;
    std::map<std::string, Tenant, std::less<>> tenants_;
    std::vector<Replica> replicas_;  // by node
    Capacity capacity_;
    CallTimes call_times_;
    StoredSnapshot snapshot_;
    KeyLives key_lives_;
    const TunablesInForce* tunables_ = nullptr;
    LivenessTimes liveness_times_;
    Weather weather_;
    RequestReader requests_;
    TakenBack taken_back_;
    TickLocks tick_locks_;
    RunTurns run_turns_;
    WorkflowRuns runs_;
    Sagas sagas_;
    Deliveries deliveries_;
    LateDeliveries late_deliveries_;
    LetterSums letter_sums_;
    bool letter_index_lost_ = false;
    LockGrants lock_grants_;
    ConfigDocuments config_documents_;
    std::map<std::string, OutputSizes, std::less<>> output_sizes_;  // by key
    std::set<NameNumbers::Number> tenants_of_requests_;
    ResultReaders result_readers_;
    std::uint64_t max_payload_ = 1'048'576;
    TickLock* command_lock_ = nullptr;  // that the command which is being executed names
    struct Page {
        fakes::NodeId reader;
        TickLock* lock = nullptr;
    };
    std::optional<Page> page_;    // read by it, and not told of yet
    int outputs_unrecorded_ = 0;  // jobs
    std::map<std::string, std::optional<std::string>, std::less<>> redacted_outputs_;  // by key; nothing: removed
    fakes::NodeId command_client_;       // of the command that is being executed
    std::vector<RecordChange> changes_;  // by that command
    /// What policy was shown of an output, and has not answered.
    struct Shown {
        std::string content;
        bool cut_off = false;
    };
    std::map<std::pair<fakes::NodeId, fakes::JobNumber>, Shown> shown_;  // by asker and Job::number
    std::vector<TimeLimits> time_limits_{1};
    std::optional<TimeLimits> file_limits_;
    SettingsRead settings_;
    std::map<fakes::NodeId, TickCalls> tick_calls_;
    int jobs_out_ = 0;
    int most_jobs_out_ = 0;
    int jobs_waiting_ = 0;
    Outages outages_;
    HeartbeatsHeard heartbeats_;
    PolicyCalls policy_calls_;
    SharedCircuit circuit_;
    std::vector<Announced> announced_;                           // by worker
    std::map<std::uint64_t, Job*> submissions_;                  // delivered and not settled, by sequence
    std::map<WorkerResults::Sequence, Job*> unsettled_results_;  // null for one that names none
    std::uint64_t stored_for_ticks_ = 0;
    std::map<WorkerResults::Sequence, EventNumber>
        processed_results_;  // that schedulers have marked so in Redis: when they were handed them
    std::map<std::uint64_t, EventNumber> processed_submissions_;  // the same, when first
    std::map<std::string, int, std::less<>> inputs_missed_;       // by key: reads that found nothing
    bool was_taken_back_ = false;
    bool leader_noted_ = false;  // of the durable of submissions, in Redis
    bool disturbed_ = false;
    bool list_blocked_ = false;  // see RecordChange
    bool data_lost_ = false;     // some, at some time
    bool clocks_jumped_ = false;
    bool redis_clock_set_ = false;
    OutputNames output_names_;
    const OutputNames::Told output_met_ = [this](std::string_view name) {
        note(OutputMet{}, actor_, nullptr, clock_.present()).name = name;
    };
    Time redis_told_{};          // when that was
    std::int64_t redis_ms_ = 0;  // of the command that is being executed
    bool clocks_were_set_ = false;
    bool settings_changed_ = false;
    bool settings_replaced_ = false;
    bool tenants_list_unsure_ = false;
    bool packets_garbled_ = false;
    bool fail_mode_opened_ = false;
    engine::Duration answers_good_for_{};
};

}  // namespace lockstep::sim
