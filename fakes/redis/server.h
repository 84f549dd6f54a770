// The simulated Redis server on its node: connections, one command after the other, its clock, and the ways in which a
// real one loses time or data.
//
// 1. Commands are executed one at a time in the order in which they arrive, each connection in its own order. A pipeline
//    is not atomic: now and then (drawn) another connection's commands come in between.
// 2. A fault that strikes while a command runs (told as an event) takes effect once that command has ended.
// 3. The server must outlive the world's run; clients reach it by its connections only.
#pragma once

#include <concepts>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fakes/redis/database.h"
#include "fakes/redis/keyspace_events.h"
#include "fakes/redis/script_engine.h"
#include "fakes/redis/script_names.h"
#include "fakes/redis/undo_journal.h"
#include "fakes/world.h"

namespace lockstep::fakes::redis {

/// What survives the end of the server's process.
enum class Persistence : std::uint8_t {
    none,      // nothing
    everysec,  // what had been written at the last full second of its life
    always,    // everything that was executed
};

struct RedisServerOptions {
    Persistence persistence = Persistence::everysec;
    /// How far a failover may go back, and how long WAIT takes: there is one replica, which has every write so much later.
    engine::Duration replica_lag{};
    /// What a command costs when nothing slows it down.
    engine::Duration service_time = std::chrono::microseconds(10);
    std::vector<std::string> lock_keys = default_lock_keys();
};

/// One reply on its way to the client, with its canonical bytes.
struct ServerReply {
    engine::RedisValue value;
    std::string bytes;
};

/// Where a connection's replies go, on the client's node.
class ReplySink {
public:
    virtual ~ReplySink() = default;
    /// The next replies of the connection, in the order of its commands. `link` is the number that the client gave.
    virtual void on_replies(std::uint64_t link, std::vector<ServerReply> replies) = 0;
};

class RedisServer final : public Server {
public:
    static constexpr std::string_view kService = "redis";

    RedisServer(World& world, NodeId node, RedisServerOptions options = {});
    ~RedisServer() override;

    [[nodiscard]] NodeId node() const { return node_; }
    [[nodiscard]] Database& database() { return *database_; }
    [[nodiscard]] const Keyspace& keyspace() const { return database_->keyspace(); }
    [[nodiscard]] ScriptNames& script_names() { return script_names_; }
    /// The observer must outlive the server. Not before the first command: add it when building the cluster.
    template <std::derived_from<KeyspaceObserver> Observer>
    void add_observer(Observer& observer) {
        database_->keyspace().add_observer(observer);
    }
    void add_observer(KeyspaceObserver& observer, const KeyspaceChanges& changes) {
        database_->keyspace().add_observer(observer, changes);
    }

    // For the fault plan.

    /// The process ends and comes back at once: connections break, scripts are forgotten, data is lost as the persistence
    /// allows, and LOADING is answered for `loading`.
    void restart(engine::Duration loading);
    /// The primary is gone, nobody answers for `takes`, and then a replica is the primary that had received what was written
    /// until `lag` before the end of the old one (at most the option's replica_lag). Scripts are not replicated.
    void failover(engine::Duration lag, engine::Duration takes = {});
    void failover() { failover(options_.replica_lag); }
    /// The primary is cut off, together with the nodes of `with_it`, and does not know. The replica is promoted as by `failover`, and
    /// everybody else goes to it at once; the others go on with the old one, whose writes nobody copies, until `one_primary`: then they
    /// go to the new one, and what they have written is gone. Observers see the content of whichever executes, and each change of turns
    /// as data that is lost and found (`restored`). Another call, a restart, a failover and the end of the node end it before.
    void two_primaries(engine::Duration lag, std::vector<NodeId> with_it);
    void one_primary();
    /// The replica gets nothing until as many calls of `let_replica_go_on`; then it has all at once what is older than its lag. Who waits
    /// for it waits to the end of his patience; the real server answers as soon as it has gone on. False: there is none.
    bool stall_replica();
    void let_replica_go_on();
    void script_flush();
    /// Removes the keys that match; how many.
    std::size_t evict(std::string_view glob);
    /// Cuts the texts under the keys that match in half, as a bug of a peer or a disk may; how many. By nobody's command.
    std::size_t corrupt(std::string_view glob);
    /// The node went down (its connections and timers are gone), and came back.
    void node_down();
    void node_up(engine::Duration loading = {});
    /// The wall clock of the node was moved: what has expired by it is removed.
    void clock_changed();

    [[nodiscard]] bool listening() const override;

    // For clients, on this node, by way of a connection.

    using Commands = std::shared_ptr<const std::vector<engine::RedisCommand>>;
    void receive(const Connection& connection, std::uint64_t link, std::weak_ptr<ReplySink> sink, Commands commands);

    ConnectionListener& on_accept(std::shared_ptr<Connection> connection, NodeId client) override;

private:
    class Peer;

    void serve_next();
    void execute_slice(Peer& peer, std::size_t count);
    ServerReply execute(Peer& peer, const engine::RedisCommand& command);
    /// How long a WAIT that comes next on this connection is still to take; nothing: something else comes, or it is over.
    [[nodiscard]] std::optional<engine::Duration> left_to_wait(const Peer& peer) const;
    void put_off(Peer& peer, engine::Duration delay);
    [[nodiscard]] std::optional<Effect> out_of_memory(const Peer& peer, const engine::RedisCommand& command);
    [[nodiscard]] engine::Duration service_time(Peer& peer, std::size_t count);
    void hang_up(bool tell_clients);
    void hang_up_on(const std::function<bool(NodeId)>& concerned);
    /// Makes the replica the primary, as it was so long ago.
    void promote(engine::Duration lag);
    [[nodiscard]] bool is_cut_off(NodeId client) const;
    /// Whose commands come next decides which of two primaries the keyspace shows.
    void give_turn_to(bool cut_off);
    void leave_one_primary();
    void lose_data(std::optional<engine::MonoTime> back_to);
    [[nodiscard]] engine::MonoTime last_sync() const;
    /// The replica has what was written until then.
    [[nodiscard]] engine::MonoTime copied_until() const;
    [[nodiscard]] bool has_replica() const { return options_.replica_lag > engine::Duration{}; }
    void note_time();
    void arm_expiry();
    void expire_keys();
    void loading_for(engine::Duration loading);
    /// Runs a fault now, or after the command that is being executed.
    void strike(std::function<void()> fault);
    void run_struck();

    World& world_;
    const NodeId node_;
    const RedisServerOptions options_;
    std::unique_ptr<Database> database_;
    KeyspaceEvents events_;
    UndoJournal journal_;
    bool journaling_;
    ScriptNames script_names_;
    engine::MonoTime started_;  // the syncs of `everysec` are whole seconds after it

    std::vector<std::unique_ptr<Peer>> peers_;              // in the order of acceptance
    std::unordered_map<const Connection*, Peer*> peer_of_;  // looked up, never iterated
    std::deque<Peer*> ready_;                               // those with commands, in turn
    Peer* serving_ = nullptr;
    std::uint64_t service_ = 0;  // number of the service in progress; a crash makes its end void
    std::deque<std::function<void()>> struck_;
    bool executing_ = false;
    bool serving_ends_ = false;  // a slice is being executed, and the next one follows by itself
    bool down_ = false;
    engine::MonoTime loading_until_{};
    engine::MonoTime promoted_at_{};  // nobody listens until then
    int stalls_ = 0;                  // of the replica
    engine::MonoTime stalled_at_{};   // it has what was written until then

    /// Of two primaries.
    struct Twins {
        std::set<NodeId> cut_off;      // the clients of the old one
        Keyspace::Content waiting;     // of the one whose turn it is not
        ScriptEngine::Known scripts;   // the same
        UndoJournal journal;           // the same; to nowhere where it is the old one's, which nobody goes back to
        bool turn_of_cut_off = false;  // the keyspace shows the old one
    };
    std::optional<Twins> twins_;

    std::optional<World::TimerId> expiry_timer_;
    std::int64_t expiry_timer_for_ = 0;
};

}  // namespace lockstep::fakes::redis
