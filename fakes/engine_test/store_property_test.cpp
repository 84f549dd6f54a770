// The scripts of one job's life against a model: handlers that take the lock, write, lose the lock to its expiry and to each
// other, release and come too late, in any order. Each command is judged by its answer, and by all that the server holds.
#include <fmt/core.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using StoreProperty = StoreTest;

constexpr int kHandlers = 3;

struct Command {
    enum class Kind : std::uint8_t { take_up, write, dispatch, finish, release, renew, expire, cancel };
    Kind kind{};
    int handler = 0;
    int state = 0;
};

void showValue(const Command& command, std::ostream& os) {
    constexpr std::array kNames{"take_up", "write", "dispatch", "finish", "release", "renew", "expire", "cancel"};
    os << kNames.at(static_cast<std::size_t>(command.kind)) << " by h" << command.handler << " "
       << to_string(static_cast<JobState>(command.state));
}

rc::Gen<Command> any_command() {
    using Kind = Command::Kind;
    return rc::gen::build<Command>(rc::gen::set(&Command::kind, rc::gen::weightedElement<Kind>({{5, Kind::take_up},
                                                                                                {6, Kind::write},
                                                                                                {4, Kind::dispatch},
                                                                                                {2, Kind::finish},
                                                                                                {2, Kind::release},
                                                                                                {2, Kind::renew},
                                                                                                {3, Kind::expire},
                                                                                                {1, Kind::cancel}})),
                                   rc::gen::set(&Command::handler, rc::gen::inRange(0, kHandlers)),
                                   rc::gen::set(&Command::state, rc::gen::inRange(0, engine::kJobStateCount)));
}

/// The job as the documents describe it.
struct Model {
    std::optional<JobState> state;
    std::vector<std::string> history;
    std::uint64_t dispatches = 0;
    std::int64_t attempts = 0;
    std::string holder;   // the token in the lock; empty = free
    std::string in_hand;  // the token of who has taken it last, and has not come back; empty: everybody has
    int lost = 0;         // how many before that have not, in a row

    /// Nothing is written unless every step of the walk is allowed.
    [[nodiscard]] bool allows(const std::vector<JobState>& walk) const {
        auto at = state;
        for (const JobState next : walk) {
            if (!transition_allowed(at, next)) return false;
            at = next;
        }
        return true;
    }
    void go(const std::vector<JobState>& walk) {
        for (const JobState next : walk) {
            state = next;
            history.emplace_back(to_string(next));
        }
    }
};

/// One case: the handlers' leases, the model, and the server.
class History {
public:
    struct Access {
        std::function<std::unique_ptr<JobLease>(std::string token)> lease_for;
        std::function<bool(JobLease&)> take_up;  // false: busy
        std::function<Committed(JobLease&, Commit)> commit;
        std::function<bool(JobLease&)> renew;  // whether it is the holder's
        std::function<bool()> cancel;          // whether it changed anything
        std::function<RedisValue(RedisCommand)> run;
        std::function<std::map<std::string, std::string>()> content;
        std::function<std::vector<std::string>()> listed;
        std::function<std::vector<std::string>()> history;
    };
    explicit History(Access access) : on_(std::move(access)) {}

    void step(const Command& command) {
        std::unique_ptr<JobLease>& lease = leases_.at(static_cast<std::size_t>(command.handler));
        const auto state = static_cast<JobState>(command.state);
        switch (command.kind) {
            case Command::Kind::take_up: take_up(lease); break;
            case Command::Kind::write: write(lease, {.walk = {state}, .add_attempts = 1}); break;
            case Command::Kind::dispatch:
                write(lease, {.walk = {JobState::scheduled, JobState::dispatched}, .begin_dispatch = true});
                break;
            case Command::Kind::finish: write(lease, {.walk = {state}, .release_lock = true}); break;
            case Command::Kind::release: write(lease, {.release_lock = true}); break;
            case Command::Kind::renew: renew(lease); break;
            case Command::Kind::expire:
                on_.run({"DEL", kLock});
                model_.holder.clear();
                break;
            case Command::Kind::cancel: cancel(); break;
        }
        agree();
    }

private:
    static constexpr const char* kLock = "cordum:scheduler:job:j1";

    void take_up(std::unique_ptr<JobLease>& lease) {
        // A handler that holds an older lease has been forgotten by its process: it comes back as another one.
        lease = on_.lease_for("t" + std::to_string(++tokens_));
        const auto before = on_.content();
        const bool taken = on_.take_up(*lease);
        RC_ASSERT(taken == model_.holder.empty());
        if (!taken) {
            RC_ASSERT(on_.content() == before);
            return;
        }
        model_.holder = lease->token().text();
        if (!model_.state) model_.go({JobState::pending});
        if (is_terminal(*model_.state)) return;
        model_.lost = model_.in_hand.empty() ? 0 : model_.lost + 1;
        model_.in_hand = model_.holder;
    }

    // LOCK: two holders never both commit; a loser's commit changes nothing.
    void write(std::unique_ptr<JobLease>& lease, Commit what) {
        if (!lease) return;
        auto before = on_.content();
        const bool holds = lease->token().text() == model_.holder;
        const bool allowed = model_.allows(what.walk);
        const Committed committed = on_.commit(*lease, what);
        RC_ASSERT((committed.kind == Committed::Kind::lost) == !holds);
        RC_ASSERT((committed.kind == Committed::Kind::ok) == (holds && allowed));
        if (holds && what.release_lock) {
            model_.holder.clear();
            model_.in_hand.clear();
        }
        if (committed.kind != Committed::Kind::ok) {
            // A holder who is refused has come to its end all the same: its lock is given back.
            if (holds && what.release_lock) before.erase(kLock);
            RC_ASSERT(without_mark(on_.content()) == without_mark(std::move(before)));
            return;
        }
        model_.go(what.walk);
        model_.attempts += what.add_attempts;
        if (what.begin_dispatch) ++model_.dispatches;
        RC_ASSERT(committed.state == model_.state);
        RC_ASSERT(committed.attempts == model_.attempts);
        if (what.begin_dispatch) RC_ASSERT(committed.dispatch.value() == model_.dispatches);
    }

    /// It gives way with the lock; `agree` looks at it.
    static std::map<std::string, std::string> without_mark(std::map<std::string, std::string> content) {
        std::string& hash = content["job:meta:j1"];
        const std::size_t at = hash.find("ls_in_hand=");
        if (at != std::string::npos) hash.erase(at, hash.find('\n', at) + 1 - at);
        return content;
    }

    /// Only the holder's own token keeps the lock alive.
    void renew(const std::unique_ptr<JobLease>& lease) {
        if (lease) RC_ASSERT(on_.renew(*lease) == (lease->token().text() == model_.holder));
    }

    void cancel() {
        const bool cancelled = on_.cancel();
        const bool may = model_.state && !is_terminal(*model_.state);
        RC_ASSERT(cancelled == may);
        if (may) model_.go({JobState::cancelled});
    }

    void agree() {
        using Texts = std::vector<std::string>;
        RC_ASSERT(on_.run({"GET", kLock}).text() == model_.holder);
        RC_ASSERT(on_.history() == model_.history);
        const std::string state = model_.state ? std::string(to_string(*model_.state)) : "";
        RC_ASSERT(on_.run({"HGET", "job:meta:j1", "state"}).text() == state);
        RC_ASSERT(on_.run({"GET", "job:state:j1"}).text() == state);
        // Who has taken it and has not come back, whoever holds the lock by now.
        const std::string mark =
            model_.in_hand.empty() ? "" : fmt::format("{} {} 0 beside", model_.in_hand, std::min(model_.lost, 99));
        RC_ASSERT(on_.run({"HGET", "job:meta:j1", "ls_in_hand"}).text() == mark);
        RC_ASSERT(on_.listed() == (model_.state ? Texts{state} : Texts{}));
        const bool active = model_.state && !is_terminal(*model_.state);
        RC_ASSERT(*on_.run({"SISMEMBER", "job:tenant:active:acme", "j1"}).integer() == (active ? 1 : 0));
    }

    Access on_;
    Model model_;
    std::array<std::unique_ptr<JobLease>, kHandlers> leases_;
    int tokens_ = 0;
};

// STATE-02 to STATE-06, STATE-11 to STATE-13, H-15
TEST_F(StoreProperty, EveryHistoryOfOneJobIsThatOfTheModel) {
    EXPECT_TRUE(rc::check("histories of one job", [this] {
        run({"FLUSHALL"});
        History history({
            .lease_for = [this](std::string token) { return lease_for("j1", token); },
            .take_up = [this](JobLease& lease) { return !busy(lease, request_for("j1")); },
            .commit = [this](JobLease& lease, Commit what) { return commit(lease, std::move(what)); },
            .renew =
                [this](JobLease& lease) {
                    const auto reply = loop.wait(server->port().script(scripts.renew_lock, {lease.key()},
                                                                       {lease.token().text(), "60000"}, clock.in(2s)));
                    RC_ASSERT(reply.applied());
                    return reply.value().integer_or(0) == 1;
                },
            .cancel =
                [this] {
                    const auto answer = loop.wait(store->cancel(engine::JobId("j1")));
                    RC_ASSERT(answer.applied());
                    return answer.value().now == JobState::cancelled && answer.value().before != JobState::cancelled;
                },
            .run = [this](const RedisCommand& command) { return run(command); },
            .content = [this] { return content(); },
            .listed = [this] { return listed("j1"); },
            .history = [this] { return this->history("j1"); },
        });
        const auto commands = *rc::gen::container<std::vector<Command>>(any_command());
        for (const Command& command : commands) history.step(command);
    }));
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
