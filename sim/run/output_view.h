// What a judge is shown of a run in place of what happened: everything, but for one value of one output of a scheduler or workflow
// engine. A judge that has nothing to say to it does not judge that output.
//
// Redis has a copy of its keys here, in which the value is another one; the judge watches the copy. The run itself goes on as it was.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/messages.h"
#include "fakes/redis/keyspace.h"
#include "fakes/redis/keyspace_events.h"
#include "sim/run/corruption.h"
#include "sim/scenario/topology.h"
#include "sim/spec/lifetimes.h"
#include "sim/world/metric_store.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class OutputView final : public EventObserver, public fakes::redis::KeyspaceObserver, private fakes::Trace {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();

    /// All outlive this. `corruption`: null: the judge is shown what happened.
    OutputView(const Topology& topology, const Corruption* corruption, EventObserver& judge, fakes::EventKinds wanted)
        : topology_(topology), corruption_(corruption), judge_(judge), wanted_(wanted) {
        keys_.add_observer(keyspace_events_);
    }

    /// That the judge watches.
    [[nodiscard]] fakes::redis::Keyspace& keys() { return keys_; }
    /// Without a corruption.
    [[nodiscard]] const OutputsSeen& seen() const { return seen_; }
    /// How often it was done.
    [[nodiscard]] int corrupted() const { return corrupted_; }

    /// Whether the judge is shown it, and what it is shown: valid until the next.
    [[nodiscard]] bool shows(MetricChange& change);
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
    void set_removed(fakes::NodeId client, std::string_view key, std::string_view member) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) override;
    void expiry_set(fakes::NodeId client, std::string_view key, std::int64_t before, std::int64_t after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    using How = Corruption::How;
    struct Message {
        std::string payload, message_id;
        cap::BusPacket packet;
        bool dropped = false;
    };

    bool emit(const fakes::Event& event) override;
    [[nodiscard]] bool is_engine(fakes::NodeId node) const;
    /// Whether it did something to a part of it. `kind`: what its names begin with.
    bool alter(google::protobuf::Message& message, const std::string& kind);
    /// Empty: it is nobody's output, or not the engine's.
    [[nodiscard]] std::string name_of(fakes::NodeId client, std::string_view key, std::string_view member);
    /// Whether this value is the one.
    bool meets(std::string_view output, std::string_view value);
    /// Whether this removal is the one, and is not to be seen.
    bool is_left_undone(std::string_view output);
    [[nodiscard]] std::string changed(std::string_view value) const;
    /// What a text is to be shown as; nothing: it is not there.
    std::optional<std::string> shown(fakes::NodeId client, std::string_view key, std::string_view text,
                                     const std::string* before);
    template <class Do>
    void later(Do&& apply);
    template <class Container>
    fakes::redis::Keyspace::Node& at(std::string_view key);
    void drop_field(std::string_view key, std::string_view field);
    const Message* shown_message(const fakes::Event& event);
    Message make_message(const fakes::Event& event, const std::string& subject);

    const Topology& topology_;
    const Corruption* corruption_;
    EventObserver& judge_;
    const fakes::EventKinds wanted_;
    engine::Tunables tunables_;
    TunablesInForce in_force_{tunables_};
    spec::Lifetimes lifetimes_{in_force_};
    fakes::redis::Keyspace keys_;
    fakes::redis::KeyspaceEvents keyspace_events_{*this, Topology::kRedis, fakes::redis::default_lock_keys()};
    OutputsSeen seen_;
    std::string label_;  // that is shown in place of another
    std::vector<std::string_view> labels_;
    std::unordered_map<std::string, Message> messages_;  // by what was sent
    struct Later {
        Time due;
        fakes::NodeId client;
        std::function<void()> apply;
    };
    std::deque<Later> later_;
    Time now_{};
    std::int64_t redis_ms_ = 0;
    int met_ = 0;
    int corrupted_ = 0;
};

}  // namespace lockstep::sim
