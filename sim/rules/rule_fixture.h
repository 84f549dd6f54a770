// The rules of one invariant by themselves: events and changes are made by hand, and what the rules find is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "fakes/redis/keyspace_events.h"
#include "sim/judge/judgement.h"
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::testing {

class RuleTest : public ::testing::Test, private Findings, private fakes::Trace {
protected:
    static constexpr fakes::NodeId kReplica{5};
    static constexpr fakes::NodeId kOther{6};

    explicit RuleTest(RuleFactory make) {
        keys.add_observer(keyspace_events_);
        keys.add_observer(judgement_.model());
        model().set_tunables(settings);
        judgement_.add("tested", make, tunables);
    }

    static fakes::Event event_of(fakes::EventKind kind, std::string_view job, fakes::When when = fakes::When::applied,
                                 fakes::NodeId node = kReplica) {
        fakes::Event event;
        event.kind = kind;
        event.when = when;
        event.outcome = fakes::EventOutcome::applied;
        event.job = job;
        event.node = node;
        return event;
    }
    void tell(const fakes::Event& event) {
        ++events_;
        if (Model::kWanted.contains(event.kind)) model().on_event(event, now);
        if (Weather::kWanted.contains(event.kind)) model().weather().on_event(event, now);
    }
    /// A key of this type, which is made where there is none.
    template <class Container>
    fakes::redis::Keyspace::Node& at(const std::string& key) {
        auto* known = keys.find(key);
        return known != nullptr ? *known : keys.create<Container>(key);
    }
    /// A command of its own.
    void set_field(const std::string& job, std::string_view field, std::string_view value,
                   fakes::NodeId client = kReplica) {
        keys.act_for(client);
        keys.hash_set(at<fakes::redis::Hash>("job:meta:" + job), field, value);
    }
    /// Policy answers a question about the job.
    void answer(const std::string& job, const cap::PolicyCheckResponse& response) {
        const std::string bytes = response.SerializeAsString();
        fakes::Event event = event_of(fakes::EventKind::kernel_check, job);
        event.payload = bytes;
        tell(event);
    }
    /// What `doing` does is one command with these words.
    template <class Doing>
    void by_command(fakes::NodeId node, std::vector<std::string_view> words, Doing doing) {
        keys.act_for(node);
        const std::int64_t now_ms = engine::to_millis(now - Time{});
        keys.tell_command(node, words, now_ms);
        doing();
        keys.tell_command(node, {}, now_ms);
    }
    void set_text(const std::string& key, const std::string& text, fakes::NodeId client = kReplica) {
        by_command(client, {"SET"}, [&] { keys.set_string(key, text, fakes::redis::kNever); });
    }
    /// The hash and the state key.
    void move(const std::string& job, const std::string& state) {
        set_field(job, "state", state);
        keys.set_string("job:state:" + job, state, fakes::redis::kNever);
    }
    /// The hash alone, dated by the clock of Redis.
    void enter(const std::string& job, const std::string& state, fakes::NodeId client = kReplica) {
        set_field(job, "state", state, client);
        set_field(job, "updated_at", std::to_string(redis_time().count()), client);
    }
    [[nodiscard]] RedisTime redis_time() const {
        return std::chrono::duration_cast<RedisTime>(now.time_since_epoch()) + std::chrono::seconds{1};
    }
    void fault(std::string_view name, std::string_view phase = "begin") {
        fakes::Event event = event_of(fakes::EventKind::fault, {});
        event.name = name;
        event.from = phase;
        tell(event);
    }
    struct Result {
        cap::JobStatus status = cap::JOB_STATUS_SUCCEEDED;
        std::uint64_t sequence = 7;
        std::string_view worker = "w";
        std::string_view durable = kSchedulersResults;
    };
    void about_result(fakes::EventKind kind, fakes::When when, const std::string& job, const Result& about,
                      fakes::NodeId node = kReplica) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id(job);
        packet.mutable_job_result()->set_worker_id(std::string(about.worker));
        packet.mutable_job_result()->set_status(about.status);
        fakes::Event event = event_of(kind, job, when, node);
        event.subject = engine::wire::kSubjectResult;
        event.sequence = about.sequence;
        event.name = about.durable;
        event.packet = &packet;
        tell(event);
    }
    void store_result(const std::string& job, const Result& about) {
        about_result(fakes::EventKind::stored, fakes::When::applied, job, about);
    }
    void deliver_result(const std::string& job, const Result& about) {
        about_result(fakes::EventKind::deliver, fakes::When::applied, job, about);
    }
    void acknowledge_result(const std::string& job, const Result& about) {
        about_result(fakes::EventKind::ack, fakes::When::before, job, about);
    }
    void evict(const std::string& key) { keys.remove(*keys.find(key), fakes::redis::Removal::evicted); }
    void evict_all_of(const std::string& job) {
        evict("job:meta:" + job);
        evict("job:state:" + job);
    }
    void deliver(const cap::BusPacket& packet, fakes::NodeId node) {
        fakes::Event event = event_of(fakes::EventKind::core_deliver, "", fakes::When::applied, node);
        event.packet = &packet;
        tell(event);
    }
    /// A heartbeat of a worker of pool "p" reaches the node.
    void hear(std::string_view worker, fakes::NodeId node = kReplica, int active_jobs = 0) {
        cap::BusPacket packet;
        packet.mutable_heartbeat()->set_worker_id(std::string(worker));
        packet.mutable_heartbeat()->set_pool("p");
        packet.mutable_heartbeat()->set_active_jobs(active_jobs);
        deliver(packet, node);
    }
    void read_snapshot(std::string_view reply, fakes::NodeId node = kReplica,
                       fakes::When when = fakes::When::answered) {
        fakes::Event event = event_of(fakes::EventKind::redis, "", when, node);
        event.command = "GET";
        event.key = "sys:workers:snapshot";
        event.payload = reply;
        tell(event);
    }
    /// As an event, without a key of Redis; nothing of it is left to expire.
    void grant_lock(std::string_view key, fakes::NodeId node, std::string_view job = {}) {
        fakes::Event event = event_of(fakes::EventKind::lock_acquired, job, fakes::When::applied, node);
        event.key = key;
        tell(event);
    }
    void befall(fakes::EventKind kind, fakes::NodeId node) { tell(event_of(kind, "", fakes::When::applied, node)); }
    void rest(bool quiet = true) { model().at_rest(keys, quiet); }
    [[nodiscard]] std::uint64_t times_exercised() const { return judgement_.standings().front().exercised; }
    [[nodiscard]] Model& model() { return judgement_.model(); }

    engine::Tunables tunables;
    TunablesInForce settings{tunables};
    fakes::redis::Keyspace keys;
    std::vector<std::string> found;  // "job: detail"
    Time now{std::chrono::seconds{10}};

private:
    bool emit(const fakes::Event& event) override {
        tell(event);
        return true;
    }
    void violated_at(EventNumber, std::string_view, fakes::NodeId, std::string_view job, std::string detail,
                     EventNumber) override {
        found.push_back(std::string(job) + ": " + detail);
    }
    EventNumber present() override { return events_; }
    [[nodiscard]] const Time& told_at() const override { return now; }

    EventNumber events_ = 0;
    fakes::redis::KeyspaceEvents keyspace_events_{*this, {}, fakes::redis::default_lock_keys()};
    Judgement judgement_{*this};
};

}  // namespace lockstep::sim::testing
