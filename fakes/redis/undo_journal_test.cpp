// Goal: going back undoes exactly what came after the chosen instant, whatever it was. Method: random histories with the
// content written down at every instant; going back to one must give what was written down.
#include "fakes/redis/undo_journal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fakes/redis/direct.h"
#include "fakes/redis/test_commands.h"

namespace lockstep::fakes::redis {
namespace {

constexpr engine::WallTime kNow{std::chrono::seconds(1'767'225'600)};

std::string content(const Keyspace& keys) {
    std::string text;
    const auto add = [&text](std::string_view word) { text += std::string(word) + "\x1f"; };
    for (const std::string_view key : keys.keys()) {
        const Keyspace::Entry& entry = *keys.find(key);
        add(key);
        add(type_name(entry.value));
        add(std::to_string(entry.expires_at));
        if (const auto* value = std::get_if<std::string>(&entry.value)) add(*value);
        if (const auto* hash = std::get_if<Hash>(&entry.value)) {
            for (const auto& [field, value] : *hash) add(field), add(value);
        }
        if (const auto* list = std::get_if<List>(&entry.value)) {
            for (const auto& value : *list) add(value);
        }
        if (const auto* set = std::get_if<Set>(&entry.value)) {
            for (const auto& member : *set) add(member);
        }
        if (const auto* zset = std::get_if<SortedSet>(&entry.value)) {
            for (const auto& [score, member] : zset->ranking()) add(member), add(format_score(score));
        }
        text += '\n';
    }
    return text;
}

engine::MonoTime instant(std::size_t step) { return engine::MonoTime(std::chrono::milliseconds(step)); }

RC_GTEST_PROP(UndoJournal, GoesBackToWhatTheKeysHeldAtAnyInstant, ()) {
    const auto history = *any_history();
    RC_PRE(!history.empty());
    Database database;
    UndoJournal journal;
    database.keyspace().add_observer(journal);
    Session session(database.watches(), NodeId{0});
    std::vector<std::string> contents{content(database.keyspace())};
    for (std::size_t step = 0; step < history.size(); ++step) {
        journal.advance(instant(step + 1), instant(0));
        const auto& command = history[step].command;
        database.execute(session, std::vector<std::string_view>(command.begin(), command.end()), kNow);
        contents.push_back(content(database.keyspace()));
    }
    for (std::size_t back = history.size(); back > 0;) {
        back -= 1 + *rc::gen::inRange<std::size_t>(0, back);
        database.keyspace().restore([&] { journal.roll_back(database.keyspace(), instant(back)); });
        RC_ASSERT(content(database.keyspace()) == contents[back]);
    }
}

TEST(UndoJournal, ForgetsWhatLiesBeforeTheHorizon) {
    DirectRedis redis;
    UndoJournal journal;
    redis.database().keyspace().add_observer(journal);
    journal.advance(instant(1), instant(0));
    redis.run({"SET", "old", "x"});
    journal.advance(instant(5), instant(3));
    redis.run({"SET", "new", "x"});
    EXPECT_EQ(journal.size(), 1U);
    redis.database().keyspace().restore([&] { journal.roll_back(redis.database().keyspace(), instant(3)); });
    EXPECT_EQ(redis.run({"EXISTS", "old"}).integer_or(0), 1);
    EXPECT_EQ(redis.run({"EXISTS", "new"}).integer_or(1), 0);
}

}  // namespace
}  // namespace lockstep::fakes::redis
