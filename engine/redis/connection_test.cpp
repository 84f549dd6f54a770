// The rules of the connection to Redis over a transport that a test moves by hand.
#include "engine/redis/connection.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

class HandTransport final : public RedisTransport {
public:
    void connect() override {
        ++attempts;
        open = true;
    }
    [[nodiscard]] bool write(const RedisCommands& commands) override {
        for (const RedisCommand& command : *commands) written.push_back(command.front());
        return writable;
    }
    void close() override { open = false; }
    [[nodiscard]] MonoTime now() const override { return time; }
    void wake_at(MonoTime when) override { alarm = when; }

    MonoTime time{1h};
    MonoTime alarm = MonoTime::max();
    bool open = false;
    bool writable = true;
    int attempts = 0;
    std::vector<std::string> written;
};

class RedisConnectionTest : public ::testing::Test {
protected:
    using Answers = std::map<std::string, RedisCall::Answer>;

    /// A call that puts its answer under its first command's name.
    class KeptCall final : public RedisCall {
    public:
        KeptCall(RedisCommands what, MonoTime until, Answers& answers)
            : RedisCall(std::move(what), until), answers_(answers) {}
        void finish(Answer answer) override { answers_.emplace(commands->front().front(), std::move(answer)); }

    private:
        Answers& answers_;
    };

    void SetUp() override { start({}); }
    void start(RedisConnectionOptions options) {
        options.server = "here";
        connection.emplace(transport, std::move(options));
        connection->open();
    }
    void log_in() {
        connection->listener().on_connected();
        connection->listener().on_reply(RedisValue::Status{"PONG"});
        transport.written.clear();
    }
    void pipeline(std::vector<RedisCommand> commands, Duration patience = 2s) {
        auto shared = std::make_shared<const std::vector<RedisCommand>>(std::move(commands));
        connection->submit(std::make_unique<KeptCall>(std::move(shared), transport.time + patience, answers));
    }
    void call(const std::string& name, Duration patience = 2s) { pipeline({RedisCommand{name}}, patience); }
    void reply(std::string text = "ok") { connection->listener().on_reply(RedisValue(std::move(text))); }
    void error(std::string text) { connection->listener().on_reply(RedisValue::Error{std::move(text)}); }
    void pass(Duration span) {
        const MonoTime end = transport.time + span;
        while (transport.alarm <= end) {
            transport.time = std::max(transport.time, transport.alarm);
            transport.alarm = MonoTime::max();
            connection->listener().on_wake();
        }
        transport.time = end;
    }
    [[nodiscard]] bool unanswered(const std::string& name) const { return !answers.contains(name); }
    [[nodiscard]] OutcomeKind kind(const std::string& name) const { return answers.at(name).kind(); }
    [[nodiscard]] const Failure& failure(const std::string& name) const { return answers.at(name).failure(); }

    HandTransport transport;
    Answers answers;
    std::optional<RedisConnection> connection;
};

TEST_F(RedisConnectionTest, CallsWaitForTheConnectionThatIsBeingMade) {
    call("A");
    EXPECT_TRUE(transport.written.empty());
    connection->listener().on_connected();
    EXPECT_EQ(transport.written, std::vector<std::string>{"PING"});
    connection->listener().on_reply(RedisValue::Status{"PONG"});
    EXPECT_EQ(transport.written.back(), "A");
    reply();
    EXPECT_EQ(answers.at("A").value().front().text(), "ok");
}

TEST_F(RedisConnectionTest, CallsOutliveFailedAttemptsUpToTheirDeadlines) {
    call("A", 1s);
    call("B", 10s);
    connection->listener().on_closed("connection refused");
    pass(1s);
    EXPECT_EQ(kind("A"), OutcomeKind::not_applied);
    EXPECT_EQ(failure("A").cause, FailureCause::timeout);
    EXPECT_EQ(failure("A").detail, "not sent before the deadline: here: connection refused");
    EXPECT_TRUE(unanswered("B"));
    log_in();
    reply();
    EXPECT_EQ(kind("B"), OutcomeKind::applied);
}

TEST_F(RedisConnectionTest, PausesBetweenAttemptsGrowToTheLongest) {
    std::vector<Duration> pauses;
    for (int i = 0; i < 8; ++i) {
        const MonoTime failed = transport.time;
        const int before = transport.attempts;
        connection->listener().on_closed("connection refused");
        while (transport.attempts == before) pass(1ms);
        pauses.push_back(transport.time - failed);
    }
    EXPECT_EQ(pauses, (std::vector<Duration>{20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s}));
}

TEST_F(RedisConnectionTest, AnAttemptWithoutAnAnswerIsGivenUp) {
    connection->listener().on_connected();
    pass(2s);
    EXPECT_FALSE(transport.open);
    EXPECT_EQ(connection->last_error(), "here: no answer to an attempt to connect");
    pass(20ms);
    EXPECT_EQ(transport.attempts, 2);
}

TEST_F(RedisConnectionTest, AConnectionThatHadLivedIsMadeAnewAtOnceAndAShortLivedOneAfterAPause) {
    log_in();
    connection->listener().on_closed("gone");
    EXPECT_EQ(transport.attempts, 1);
    pass(20ms);
    EXPECT_EQ(transport.attempts, 2);
    log_in();
    pass(1s);
    connection->listener().on_closed("gone");
    EXPECT_EQ(transport.attempts, 3);
}

TEST_F(RedisConnectionTest, LogsInBeforeAnythingElseAndNamesARefusal) {
    start({.log_in = redis_log_in("me", "sesame", 3)});
    call("A", 1s);
    connection->listener().on_connected();
    EXPECT_EQ(transport.written, (std::vector<std::string>{"AUTH", "SELECT", "PING"}));
    error("WRONGPASS no");
    EXPECT_FALSE(transport.open);
    EXPECT_EQ(connection->last_error(), "here: it refused the log-in: WRONGPASS no");
    pass(1s);
    EXPECT_EQ(kind("A"), OutcomeKind::not_applied);
}

TEST_F(RedisConnectionTest, AServerThatIsLoadingIsWaitedFor) {
    call("A");
    connection->listener().on_connected();
    error("LOADING Redis is loading the dataset in memory");
    EXPECT_FALSE(connection->connected());
    EXPECT_EQ(transport.written, std::vector<std::string>{"PING"});
    pass(20ms);
    log_in();
    EXPECT_TRUE(connection->connected());
    EXPECT_TRUE(connection->last_error().empty());
}

TEST_F(RedisConnectionTest, AnOverdueReplyIsItsOwnCallsAndIsSkippedWhenItComes) {
    log_in();
    pipeline({{"A"}, {"A2"}}, 1s);
    call("B", 5s);
    pass(1s);
    EXPECT_EQ(kind("A"), OutcomeKind::unknown);
    EXPECT_EQ(failure("A").cause, FailureCause::timeout);
    EXPECT_TRUE(unanswered("B"));
    pass(900ms);
    reply("late");
    reply("late");
    reply("b");
    EXPECT_EQ(answers.at("B").value().front().text(), "b");
    pass(10s);
    EXPECT_TRUE(connection->connected());
    EXPECT_EQ(transport.attempts, 1);
}

TEST_F(RedisConnectionTest, NothingIsSentWhileAReplyIsOverdueAndNothingArrives) {
    log_in();
    call("A", 1s);
    pass(1s);
    call("B");
    call("C");
    EXPECT_EQ(transport.written, std::vector<std::string>{"A"});
    reply("late");
    EXPECT_EQ(transport.written, (std::vector<std::string>{"A", "B", "C"}));
}

TEST_F(RedisConnectionTest, ASilentConnectionIsGivenUpAndWhatWaitedGoesToTheNext) {
    log_in();
    call("A", 1s);
    call("B", 60s);
    pass(1s);
    call("C", 60s);
    pass(999ms);
    EXPECT_TRUE(connection->connected());
    pass(1ms);
    EXPECT_FALSE(connection->connected());
    EXPECT_EQ(kind("B"), OutcomeKind::unknown);
    EXPECT_EQ(failure("B").cause, FailureCause::disconnected);
    EXPECT_TRUE(unanswered("C"));
    log_in();
    reply();
    EXPECT_EQ(kind("C"), OutcomeKind::applied);
}

TEST_F(RedisConnectionTest, AnythingThatArrivesBreaksTheSilence) {
    log_in();
    pipeline({{"A"}, {"A"}, {"A"}, {"A"}}, 1s);
    pass(1s);
    for (int i = 0; i < 3; ++i) {
        pass(900ms);
        reply();
    }
    EXPECT_TRUE(connection->connected());
    pass(1s);
    EXPECT_FALSE(connection->connected());
}

TEST_F(RedisConnectionTest, AReplyThatNobodyWaitsForPutsTheOrderInDoubt) {
    log_in();
    pass(1s);
    reply();
    EXPECT_FALSE(connection->connected());
    EXPECT_EQ(connection->last_error(), "here: a reply arrived that nobody waits for");
    EXPECT_EQ(transport.attempts, 2);
}

TEST_F(RedisConnectionTest, AServerThatBecameAReplicaIsLeftOnceItsCallIsAnswered) {
    log_in();
    pipeline({{"A"}, {"A2"}});
    call("B");
    error("READONLY You can't write against a read only replica.");
    EXPECT_TRUE(connection->connected());
    error("READONLY You can't write against a read only replica.");
    EXPECT_EQ(kind("A"), OutcomeKind::applied);
    EXPECT_EQ(kind("B"), OutcomeKind::unknown);
    EXPECT_NE(connection->last_error().find("replica"), std::string::npos);
}

TEST_F(RedisConnectionTest, WhatWaitsIsBoundedInCallsAndInBytes) {
    start({.calls_max = 3, .bytes_max = 1000});
    call("A");
    call("B");
    call("C");
    call("D");
    ASSERT_EQ(kind("D"), OutcomeKind::not_applied);
    EXPECT_EQ(failure("D").detail, "3 calls with 3 bytes wait for here already: not connected yet");
    log_in();
    for (int i = 0; i < 3; ++i) reply();
    pipeline({{"E", std::string(2000, 'x')}});  // alone, and let through
    call("F");
    EXPECT_TRUE(unanswered("E"));
    EXPECT_EQ(kind("F"), OutcomeKind::not_applied);
    reply();
    call("G");
    EXPECT_TRUE(unanswered("G"));
}

TEST_F(RedisConnectionTest, WhatCannotBeWrittenIsNotApplied) {
    log_in();
    transport.writable = false;
    call("A");
    EXPECT_EQ(kind("A"), OutcomeKind::not_applied);
}

TEST_F(RedisConnectionTest, ClosingAnswersEverything) {
    log_in();
    call("A", 1s);
    pass(1s);  // overdue, and so answered already
    call("B");
    connection->close("the end");
    EXPECT_EQ(kind("B"), OutcomeKind::not_applied);
    call("C");
    EXPECT_EQ(failure("C").detail, "here: the end");
    pass(1h);
    EXPECT_EQ(transport.attempts, 1);
}

class RedisReplicasTest : public RedisConnectionTest {
protected:
    void SetUp() override {
        start(with_replicas(1, 500ms));
        log_in();
    }
    void confirm(std::int64_t replicas) { connection->listener().on_reply(RedisValue(replicas)); }
    std::vector<std::string> written() { return std::exchange(transport.written, {}); }
    using Words = std::vector<std::string>;
};

TEST_F(RedisReplicasTest, AWriteIsAnsweredOnceAReplicaHasIt) {
    call("SET");
    EXPECT_EQ(written(), (Words{"SET", "WAIT"}));
    reply("done");
    EXPECT_TRUE(unanswered("SET"));
    confirm(1);
    EXPECT_EQ(answers.at("SET").value().front().text(), "done");
}

TEST_F(RedisReplicasTest, AWriteThatTooFewReplicasHaveIsUnknown) {
    call("SET");
    reply();
    confirm(0);
    EXPECT_EQ(kind("SET"), OutcomeKind::unknown);
    EXPECT_EQ(failure("SET").detail, "done by the primary, and 0 of the 1 replicas that are required have it");
}

TEST_F(RedisReplicasTest, AnAnswerThatIsNoNumberConfirmsNothing) {
    call("SET");
    reply();
    error("ERR unknown command 'WAIT'");
    EXPECT_EQ(kind("SET"), OutcomeKind::unknown);
}

TEST_F(RedisReplicasTest, ReadsAndWhatWasRefusedNeedNoReplica) {
    call("GET");
    EXPECT_EQ(written(), Words{"GET"});
    reply();
    EXPECT_EQ(kind("GET"), OutcomeKind::applied);
    call("SET");
    error("OOM");
    EXPECT_EQ(kind("SET"), OutcomeKind::applied);
    confirm(0);
    pipeline({{"HSET"}, {"GET"}});
    error("WRONGTYPE");
    reply();
    EXPECT_TRUE(unanswered("HSET")) << "half of it was done";
}

TEST_F(RedisReplicasTest, OneQuestionAtATimeIsForAllThatWasSentBeforeIt) {
    call("A");
    call("B");
    call("C");
    EXPECT_EQ(written(), (Words{"A", "WAIT", "B", "C"}));
    reply();
    confirm(1);
    EXPECT_EQ(written(), Words{"WAIT"});
    EXPECT_EQ(kind("A"), OutcomeKind::applied);
    reply();
    reply();
    EXPECT_TRUE(unanswered("B"));
    confirm(1);
    EXPECT_EQ(kind("B"), OutcomeKind::applied);
    EXPECT_EQ(kind("C"), OutcomeKind::applied);
    EXPECT_TRUE(written().empty());
}

TEST_F(RedisReplicasTest, WhatIsUnconfirmedWhenTheConnectionOrItsTimeEndsIsUnknown) {
    call("A", 300ms);
    call("B", 2s);
    reply();
    pass(300ms);
    EXPECT_EQ(kind("A"), OutcomeKind::unknown);
    EXPECT_EQ(failure("A").detail, "the replicas have not confirmed it before the deadline");
    confirm(1);
    reply();
    EXPECT_TRUE(unanswered("B"));
    connection->listener().on_closed("reset");
    EXPECT_EQ(kind("B"), OutcomeKind::unknown);
    pass(20ms);
    log_in();
    call("C");
    EXPECT_EQ(written(), (Words{"C", "WAIT"}));
    reply();
    connection->close("the end");
    EXPECT_EQ(kind("C"), OutcomeKind::unknown);
}

}  // namespace
}  // namespace lockstep::engine
