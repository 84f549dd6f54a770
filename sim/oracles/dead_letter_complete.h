// dead_letter_complete: every job that a scheduler ended DENIED, TIMEOUT, OUTPUT_QUARANTINED, or FAILED without leave to retry,
// has a dead letter with a reason code, and so has every message that was terminated, or that the server has stopped
// delivering though nobody had done with it, but one of which no replica has ever been given the deliveries with which it is to give
// it up: they went to connections at whose other end nobody was. The first cause stays. When all is quiet, every letter that Redis has not lost has
// been told on the bus.
// The index lists the letters that there are, and of those that there are not only such as ran out: it has no time to live
// itself.
//
// Letters of messages whose bytes are no packet have an index and a limit of their own, and are told of together: as many as
// were written, no more but after a disturbance, and once a minute at most. What the bus alone has been told, because there was no store, counts as a letter.
//
// The letter is there before its message is terminated; only where a replica that is to end has the last delivery in its hands,
// the bus alone may have been told. And a message that is delivered when five deliveries are left, or of few less than half of
// them, is given up: nobody acknowledges it, and while nothing is disturbed nobody hands it back.
//
// What a gateway ends is the gateway's business: it writes its own letters. Where a scheduler comes across a submission of a job that is
// DENIED or FAILED without a letter, by somebody else or because the letter is lost, it writes one; not of a failure that may be retried.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/config/tunables.h"
#include "sim/model/weather.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class DeadLetterComplete final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::read_back, fakes::EventKind::deliver, fakes::EventKind::ack,
                          fakes::EventKind::nak,       fakes::EventKind::term,    fakes::EventKind::max_deliveries,
                          fakes::EventKind::stored,    fakes::EventKind::fault};
    /// The tunables outlive the oracle.
    DeadLetterComplete(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "dead_letter_complete"; }

    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void at_rest(const RestView& view) override;
    /// A message is out for the last time.
    [[nodiscard]] bool waits() const override { return !last_out_.empty() || is_sum_to_come(); }

private:
    /// One message of one consumer.
    struct Message {
        std::string stream;
        std::uint64_t sequence = 0;
        std::string durable;
        friend auto operator<=>(const Message&, const Message&) = default;
    };
    static Message message_of(const fakes::Event& event) {
        return {std::string(event.stream), event.sequence, std::string(event.name)};
    }
    void on_verdict(const fakes::Event& event);
    void note_delivery(const fakes::Event& event);
    void on_delivery(const fakes::Event& event, Time now);
    /// Some replica has been given it with so few deliveries left.
    [[nodiscard]] bool was_to_be_given_up(const Message& message) const;
    void judge_verdict(const fakes::Event& event);
    void judge_termination(const fakes::Event& event);
    void note_told(const fakes::Event& event, Time now);
    void judge_messages();
    void judge_told();

    /// A job that a gateway, or somebody at the store, has ended badly.
    struct EndedByOthers {
        std::string state;
        std::set<fakes::NodeId> found_by;  // replicas that its submission was delivered to since
        EventNumber found = 0;             // one of them has dealt with that; 0: none has
    };
    /// A message of which few deliveries are left, or soon will be.
    struct Spent {
        fakes::NodeId node;
        std::int64_t number = 0;
        Time since{};
        EventNumber event = 0;
        bool in_hand = false;
        bool unclear = false;  // it was in several hands at once, or arrived as something else
    };

    struct Letter {
        std::string code;
        bool by_scheduler = false;
        EventNumber event = 0;
        bool lost = false;  // nobody who looks for letters that are still to be told finds it
    };

    [[nodiscard]] bool needs_letter(std::string_view job, std::string_view state) const;
    void judge_index(const fakes::redis::Keyspace& keys);
    [[nodiscard]] bool is_sum_to_come() const;

    const engine::Tunables& tunables_;
    std::map<std::string, std::string, std::less<>> ended_;     // job -> the bad end that a scheduler gave it
    std::map<std::string, EventNumber, std::less<>> ended_at_;  // likewise
    std::map<std::string, EndedByOthers, std::less<>> ended_by_others_;
    std::set<std::string, std::less<>> handed_out_;             // jobs whose submission a scheduler was given
    std::set<std::string, std::less<>> handed_out_before_cut_;  // before NATS last lost its power
    std::map<std::string, std::string, std::less<>> tenants_;   // by job
    std::set<std::string, std::less<>> may_be_retried_;         // jobs whose record says so
    std::set<std::string, std::less<>> retryable_;              // jobs with a failure that may be retried
    std::map<std::string, Letter, std::less<>> letters_;        // by id; also those that have expired since
    std::map<std::string, Letter, std::less<>> gone_;           // by id; those that were there until they were not
    std::set<std::string, std::less<>> ran_out_;                // ids of letters that expired, or were lost
    bool index_lost_ = false;
    std::map<std::string, Time, std::less<>> sums_told_;          // by id, the latest
    std::set<std::string, std::less<>> told_;                     // ids that the stream has taken
    std::map<std::string, EventNumber, std::less<>> terminated_;  // ids that letters of terminated messages must have
    std::map<std::string, EventNumber, std::less<>> given_up_;    // likewise, of those that the server delivers no more
    std::set<Message> last_out_;                                  // delivered for the last time, and nothing said since
    std::set<Message> done_with_;                                 // acknowledged, which the server has not heard yet
    std::set<std::string, std::less<>> undecodable_;              // ids of letters that are told of together
    std::uint64_t undecodable_told_ = 0;
    Time last_undecodable_{};  // when the last one was buried
    std::uint64_t may_repeat_ = 0;  // of what was told, because something disturbed the one before
    std::map<Message, Spent> spent_;
    bool lost_letters_ = false;
    const Weather& weather_ = model().weather();
};

}  // namespace lockstep::sim
