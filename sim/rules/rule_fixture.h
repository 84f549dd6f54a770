// The rules of one invariant by themselves: events and changes are made by hand, and what the rules find is kept.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "fakes/redis/keyspace_events.h"
#include "sim/judge/judgement.h"
#include "sim/model/job_keys.h"
#include "sim/rules/invariants.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::testing {

// Names that all of these tests use: each file has them by `using namespace testing`.
using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
using fakes::redis::Hash;
using fakes::redis::kNever;
using fakes::redis::List;
using fakes::redis::Removal;
using fakes::redis::SortedSet;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Invariants, over all tests of the program: each must have been seen to do both.
inline std::set<std::string_view> seen_to_object, seen_to_agree;

/// One line of a table: what is told, and what is found of it.
struct Story {
    const char* name;
    const char* told;        // words of the fixture: `word`, `word=argument`, or `word@node` for what another one does
    const char* finds = "";  // parts of what is found in the end, all of it, in order: `one|another`
};
inline void PrintTo(const Story& story, std::ostream* out) { *out << story.told; }
inline std::string title_of(const ::testing::TestParamInfo<Story>& info) { return info.param.name; }

inline std::vector<std::string> parts_of(const std::string& text, char between) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, between);) parts.push_back(part);
    return parts;
}

/// Of an argument `first:second`.
inline std::string first(const std::string& argument) { return argument.substr(0, argument.find(':')); }
inline std::string second(const std::string& argument, const std::string& otherwise = {}) {
    const std::size_t colon = argument.find(':');
    return colon == std::string::npos ? otherwise : argument.substr(colon + 1);
}

/// "300ms", "-5s", "10min", "2h"
inline engine::Duration duration_of(const std::string& text) {
    std::size_t digits = 0;
    const auto number = std::stoll(text, &digits);
    const std::string unit = text.substr(digits);
    return number * engine::Duration{unit == "ms" ? 1ms : unit == "s" ? 1s : unit == "min" ? 1min : 1h};
}

class RuleTest : public ::testing::Test, private Findings, private fakes::Trace {
protected:
    static constexpr fakes::NodeId kReplica{5};
    static constexpr fakes::NodeId kOther{6};

    explicit RuleTest(RuleFactory make) : RuleTest({make}) {}
    RuleTest(std::initializer_list<RuleFactory> all) {
        keys.add_observer(keyspace_events_);
        keys.add_observer(judgement_.model());
        model().set_tunables(settings);
        for (const RuleFactory make : all) {
            const auto invariant = std::ranges::find(invariants(), make, &Invariant::rules);
            // A test may make a factory of its own.
            const bool is_known = invariant != invariants().end();
            judgement_.add(is_known ? invariant->name : std::string_view("made_by_a_test"), "by default", make,
                           tunables);
        }
    }
    ~RuleTest() override {
        for (const Standing& standing : judgement_.standings()) {
            const auto objections = static_cast<std::uint64_t>(std::ranges::count(objected, standing.invariant));
            if (objections > 0) seen_to_object.insert(standing.invariant);
            if (standing.exercised > objections) seen_to_agree.insert(standing.invariant);
        }
    }

    /// `more`: what the other parameters do not say. The outcome is `applied` unless it says another one.
    static fakes::Event event_of(EventKind kind, std::string_view job, When when = When::applied,
                                 fakes::NodeId node = kReplica, fakes::Event more = {}) {
        more.kind = kind;
        more.when = when;
        if (more.outcome == EventOutcome::none) more.outcome = EventOutcome::applied;
        more.job = job;
        more.node = node;
        return more;
    }
    void tell(const fakes::Event& event) {
        ++events_;
        if (Model::kWanted.contains(event.kind)) model().on_event(event, now);
        if (Weather::kWanted.contains(event.kind)) model().weather().on_event(event, now);
    }
    void observe(EventKind kind, std::string_view job, const fakes::Event& more, When when = When::applied,
                 fakes::NodeId node = kReplica) {
        tell(event_of(kind, job, when, node, more));
    }
    /// A key of this type, which is made where there is none.
    template <class Container>
    fakes::redis::Keyspace::Node& at(std::string_view key) {
        auto* known = keys.find(key);
        return known != nullptr ? *known : keys.create<Container>(key);
    }
    /// A command of its own.
    void set_field(const std::string& job, std::string_view field, std::string_view value,
                   fakes::NodeId client = kReplica) {
        keys.act_for(client);
        keys.hash_set(at<Hash>("job:meta:" + job), field, value);
    }
    /// Policy answers a question about the job.
    void answer(const std::string& job, const cap::PolicyCheckResponse& response) {
        observe(EventKind::kernel_check, job, {.payload = response.SerializeAsString()});
    }
    /// What `doing` does is one command with these words.
    template <class Doing>
    void by_command(fakes::NodeId node, std::vector<std::string_view> said, Doing doing) {
        keys.act_for(node);
        const std::int64_t now_ms = engine::to_millis(now - Time{});
        keys.tell_command(node, said, now_ms);
        doing();
        keys.tell_command(node, {}, now_ms);
    }
    /// What all of `changes` do is one script.
    template <class... Changes>
    void command(fakes::NodeId client, Changes... changes) {
        by_command(client, {"EVALSHA", "sha1"}, [&] { (changes(), ...); });
    }
    void set_text(const std::string& key, const std::string& text, fakes::NodeId client = kReplica) {
        by_command(client, {"SET"}, [&] { keys.set_string(key, text, kNever); });
    }
    /// The hash and the state key.
    void move(const std::string& job, const std::string& state) {
        set_field(job, "state", state);
        keys.set_string("job:state:" + job, state, kNever);
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
        observe(EventKind::fault, {}, {.name = name, .from = phase});
    }
    struct Result {
        cap::JobStatus status = cap::JOB_STATUS_SUCCEEDED;
        std::uint64_t sequence = 7;
        std::string_view worker = "w";
        std::string_view durable = kSchedulersResults;
        engine::Duration delay{};  // of a nak
    };
    void about_result(EventKind kind, When when, const std::string& job, const Result& about,
                      fakes::NodeId node = kReplica) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id(job);
        packet.mutable_job_result()->set_worker_id(std::string(about.worker));
        packet.mutable_job_result()->set_status(about.status);
        observe(kind, job,
                {.subject = engine::wire::kSubjectResult,
                 .name = about.durable,
                 .sequence = about.sequence,
                 .number = about.delay.count(),
                 .packet = &packet},
                when, node);
    }
    void store_result(const std::string& job, const Result& about) {
        about_result(EventKind::stored, When::applied, job, about);
    }
    void deliver_result(const std::string& job, const Result& about) {
        about_result(EventKind::deliver, When::applied, job, about);
    }
    void acknowledge_result(const std::string& job, const Result& about) {
        about_result(EventKind::ack, When::before, job, about);
    }
    void evict(const std::string& key) { keys.remove(*keys.find(key), Removal::evicted); }
    void evict_all_of(const std::string& job) {
        evict("job:meta:" + job);
        evict("job:state:" + job);
    }
    void deliver(const cap::BusPacket& packet, fakes::NodeId node) {
        const std::string_view subject =
            packet.has_heartbeat() ? engine::wire::kSubjectHeartbeat : engine::wire::kSubjectHandshake;
        observe(EventKind::core_deliver, "", {.subject = subject, .packet = &packet}, When::applied, node);
    }
    /// A heartbeat of a worker of pool "p" reaches the node.
    void hear(std::string_view worker, fakes::NodeId node = kReplica, int active_jobs = 0) {
        cap::BusPacket packet;
        packet.mutable_heartbeat()->set_worker_id(std::string(worker));
        packet.mutable_heartbeat()->set_pool("p");
        packet.mutable_heartbeat()->set_active_jobs(active_jobs);
        deliver(packet, node);
    }
    void read_snapshot(std::string_view reply, fakes::NodeId node = kReplica, When when = When::answered) {
        observe(EventKind::redis, "", {.command = "GET", .key = "sys:workers:snapshot", .payload = reply}, when, node);
    }
    /// As an event, without a key of Redis; nothing of it is left to expire.
    void grant_lock(std::string_view key, fakes::NodeId node, std::string_view job = {}) {
        observe(EventKind::lock_acquired, job, {.key = key}, When::applied, node);
    }
    void befall(EventKind kind, fakes::NodeId node) { tell(event_of(kind, "", When::applied, node)); }
    /// Something unrelated happens then, so that what is due is judged.
    void wait(engine::Duration time) {
        now += time;
        befall(EventKind::heartbeat, kOther);
    }
    /// The replica reads the settings that Redis has.
    void read_settings() {
        for (const When when : {When::applied, When::answered})
            observe(EventKind::redis, "", {.command = "GET", .key = kSettingsKey}, when);
        now += 1s;
    }
    /// The question names the job and says nothing else of it.
    void ask_policy(std::string_view job, fakes::NodeId node = kReplica) {
        cap::PolicyCheckRequest question;
        question.set_job_id(std::string(job));
        observe(EventKind::kernel_check, job, {.payload = question.SerializeAsString()}, When::before, node);
    }
    void rest(bool quiet = true) { model().at_rest(keys, quiet); }
    /// The fixture's words, each told with its argument, and the node that it is about in `by`.
    using Words = std::map<std::string_view, std::function<void(const std::string&)>>;
    void define(Words more) {
        more.merge(words);
        words.swap(more);
    }
    void tell_word(std::string_view word) {
        static const std::map<std::string_view, NodeId> kNodes{{"other", kOther},
                                                               {"gateway", Topology::kGateway},
                                                               {"operator", Topology::kOperator},
                                                               {"redis", Topology::kRedis},
                                                               {"nats", Topology::kNats},
                                                               {"nobody", NodeId{}},
                                                               {"worker", NodeId{7}},
                                                               {"first", NodeId{7}},
                                                               {"second", NodeId{8}}};
        if (word.starts_with('+')) return void(now += duration_of(std::string(word.substr(1))));
        const std::size_t at = word.rfind('@');
        const auto node = at == std::string_view::npos ? kNodes.end() : kNodes.find(word.substr(at + 1));
        by = node == kNodes.end() ? kReplica : node->second;
        if (node != kNodes.end()) word = word.substr(0, at);
        const std::size_t end = std::min(word.find('='), word.size());
        const auto known = words.find(word.substr(0, end));
        ASSERT_TRUE(known != words.end()) << word;
        known->second(std::string(word.substr(std::min(end + 1, word.size()))));
    }
    void judge(const Story& story) {
        for (const std::string& word : parts_of(story.told, ' ')) tell_word(word);
        const std::vector<std::string> parts = parts_of(story.finds, '|');
        EXPECT_THAT(found, SizeIs(parts.size()));
        for (std::size_t i = 0; i < std::min(found.size(), parts.size()); ++i)
            EXPECT_THAT(found[i], HasSubstr(parts[i]));
    }
    [[nodiscard]] std::uint64_t times_exercised() const { return judgement_.standings().front().exercised; }
    [[nodiscard]] Model& model() { return judgement_.model(); }

    engine::Tunables tunables;
    TunablesInForce settings{tunables};
    fakes::redis::Keyspace keys;
    std::vector<std::string> found;          // "job: detail"
    std::vector<std::string_view> cited;     // paragraphs, one for each
    std::vector<std::string_view> objected;  // invariants, one for each
    Time now{std::chrono::seconds{10}};
    fakes::NodeId by = kReplica;
    Words words{
        {"ok", [this](auto&) { EXPECT_THAT(found, IsEmpty()); }},
        {"found", [this](auto& count) { EXPECT_EQ(std::to_string(found.size()), count); }},
        {"forget", [this](auto&) { found.clear(); }},
        {"times", [this](auto& count) { EXPECT_EQ(std::to_string(times_exercised()), count); }},
        {"fault",
         [this](auto& name) { observe(EventKind::fault, {}, {.name = name, .from = "begin"}, When::applied, by); }},
        {"heal", [this](auto& name) { fault(name, "end"); }},
        {"down", [this](auto&) { befall(EventKind::node_down, by); }},
        {"up", [this](auto&) { befall(EventKind::node_up, by); }},
        {"freeze", [this](auto&) { befall(EventKind::paused, by); }},
        {"thaw", [this](auto&) { befall(EventKind::resumed, by); }},
        {"wait", [this](auto& time) { wait(duration_of(time)); }},
        {"failover", [this](auto&) { keys.restore([] {}); }},
        {"evict", [this](auto& key) { evict(key); }},
        {"waits", [this](auto&) { EXPECT_TRUE(model().waits()); }},
        {"idle", [this](auto&) { EXPECT_FALSE(model().waits()); }},
        {"rest", [this](auto&) { rest(); }},
        {"hear", [this](auto& worker) { hear(worker, by); }},
    };

private:
    bool emit(const fakes::Event& event) override {
        tell(event);
        return true;
    }
    void violated(Breach breach) override {
        found.push_back(std::string(breach.job) + ": " + breach.detail);
        cited.push_back(breach.paragraph);
        objected.push_back(breach.invariant);
    }
    EventNumber present() override { return events_; }
    [[nodiscard]] const Time& told_at() const override { return now; }

    EventNumber events_ = 0;
    fakes::redis::KeyspaceEvents keyspace_events_{*this, {}, fakes::redis::default_lock_keys()};
    Judgement judgement_{*this};
};

/// Tests of a fixture that are told by a table of stories.
template <class Fixture>
struct Told : Fixture, ::testing::WithParamInterface<Story> {
    void judge() { Fixture::judge(GetParam()); }
};

}  // namespace lockstep::sim::testing
