// outputs_audited: whoever listens on `sys.audit.output_policy` learns what output policy has done to outputs
// (OUT-06, OUT-10; wire.md 2.2; engine/delivery-semantics.md).
//
// 1. An event names the step `output_policy`. It says DENIED of a job whose output is withheld, and SUCCEEDED of one whose output
//    passes though something was taken out of it, or not all of it was seen: never of one that is withheld.
// 2. When all is quiet, every output that is withheld has been told of, as its dead letter has: whoever tells the one tells the other.
// 3. An output that passes redacted is told of by whoever recorded that, if nothing has disturbed it since: nobody repeats it.
// What Redis has lost of a job whose output is still to be told of, its dead letter included, nobody can tell. That excuses this
// job, and no other (lost_records.h).
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/model/weather.h"
#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class OutputsAudited final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::core_publish, fakes::EventKind::stored};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "outputs_audited"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void at_rest(const RestView& view) override;

private:
    struct Record {
        fakes::NodeId by;
        Time at{};
        EventNumber event = 0;
        bool withholds = false;
        bool redacts = false;
    };
    void on_audit(const fakes::Event& event);
    [[nodiscard]] bool lost(std::string_view job) const { return lost_.any_of(job) || untold_.contains(job); }

    std::map<std::string, Record, std::less<>> records_;  // by job: the last word on its output
    std::map<std::string, EventNumber, std::less<>>
        letters_;                                  // jobs whose withheld output the stream of letters has been told of
    std::set<std::string, std::less<>> withheld_;  // jobs of which an event said so
    std::set<std::string, std::less<>> passed_;    // likewise
    const Weather& weather_ = jobs().weather();
    const Time& now_ = told_at();
    const LostRecords& lost_ = jobs().lost();
    std::set<std::string, std::less<>> untold_;  // jobs whose dead letter is lost
};

}  // namespace lockstep::sim
