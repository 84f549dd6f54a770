// A simulated keyspace that is made to do what a real Redis said it did. The simulator's observers hang on it, so that
// rules judge a real run by the very facts by which they judge a simulated one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/database.h"
#include "fakes/redis/keyspace_events.h"
#include "fakes/redis/script_names.h"
#include "fakes/world.h"
#include "prod/rehearsal/recording.h"

namespace lockstep::prod::rehearsal {

using Contents = std::vector<std::pair<std::string, fakes::redis::Keyspace::Entry>>;

class Mirror {
public:
    /// Which node has the connection with this address; invalid when nobody knows.
    using Owner = std::function<fakes::NodeId(std::string_view address)>;

    /// Lock events, states of jobs and calls of scripts go to `trace`, in the name of the node whose command it was.
    Mirror(fakes::Trace& trace, fakes::NodeId server, Owner owner);

    /// It is told of these changes, and outlives the mirror.
    void add_observer(fakes::redis::KeyspaceObserver& observer, const fakes::redis::KeyspaceChanges& changes) {
        database_.keyspace().add_observer(observer, changes);
    }
    void apply(const MonitorLine& line);
    /// What comes next belongs to no command.
    void end_command();
    /// Removes what had expired at that time. A command that began before it is over.
    void expire_due(engine::WallTime now);

    [[nodiscard]] const fakes::redis::Keyspace& keyspace() const { return database_.keyspace(); }
    /// Takes over what a server has after it lost some of it. Observers hear of it as of a restart.
    void replace(Contents contents);
    /// The first few keys in which the two differ, a sentence each. Expiries may differ by a little, and what is about to
    /// expire may be gone at one side.
    [[nodiscard]] std::vector<std::string> differences(const Contents& real, engine::WallTime now) const;

private:
    fakes::redis::Session& session(const std::string& client);
    void tell_call(fakes::When when);

    fakes::Trace& trace_;
    const fakes::NodeId server_;
    Owner owner_;
    fakes::redis::Database database_;
    fakes::redis::KeyspaceEvents events_;
    fakes::redis::ScriptNames scripts_;
    std::map<std::string, std::unique_ptr<fakes::redis::Session>> sessions_;  // by address
    std::optional<MonitorLine> command_;                                      // the last one of a client
    bool runs_ = false;                                                       // it may not be over
    fakes::NodeId caller_;
    std::vector<std::string_view> command_views_;
    std::string_view script_;  // that it calls; empty: none
};

}  // namespace lockstep::prod::rehearsal
