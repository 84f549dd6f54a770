// tenant_walls: no message of one tenant changes jobs, runs, limits or settings of another (D-06, D-07, D-14).
//
// 1. A job is its stored request's tenant's, by the tenant rule. Schedulers count it, list it and ask policy about it as that
//    one's; what they keep of it never becomes another's. Where a gateway that knows the id as another one's writes that tenant
//    into the record of a job that is being handled, the job counts as that one's until it is taken up again.
// 2. A request whose fields name two tenants is neither asked about nor sent.
// 3. A compensation is a job of the tenant of the job that it undoes, in all of its fields. That no failure undoes what another
//    tenant did is saga_exact's.
// 4. What the documents of the system and of the tenant deny stays denied, and what they do not allow is not allowed, whatever
//    documents a submitter has chosen: policy is told so with each question. Counted are the documents that there were from the
//    take-up of the job on; where one cannot be read, any that could be read before. A rollback asks about what it is going to
//    submit, without the job's lock and without settings: it is asked about once more, as any job.
//
// Whose a job is of which Redis has evicted some is not known, and it is not judged.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class TenantWalls final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::lock_acquired, fakes::EventKind::lock_released,
                          fakes::EventKind::kernel_check, fakes::EventKind::publish};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "tenant_walls"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void set_added(fakes::NodeId client, std::string_view key, std::string_view member) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Job {
        std::string tenant;
        std::string conflict;  // why its request names two tenants; empty: it does not
        EventNumber stored = 0;
        std::string former;  // whose it was before somebody stored another request in its place
        Time replaced{};
    };
    /// A document of the configuration service, from when on.
    struct Version {
        std::string text;
        bool readable = true;
        Time from{};
    };
    using History = std::vector<Version>;  // oldest first

    void note_request(fakes::NodeId client, std::string_view job, std::string_view json);
    void note_document(std::string_view key, std::string_view text);
    void belongs(fakes::NodeId client, std::string_view job, std::string_view tenant, std::string_view where);
    void counts(fakes::NodeId client, std::string_view job, std::string_view tenant, std::string_view where);
    void on_question(const fakes::Event& event);
    [[nodiscard]] bool had_it_before(fakes::NodeId node, std::string_view job, Time then) const;
    void on_compensation(const fakes::Event& event);
    void judge_settings(const fakes::Event& event, const std::string& tenant, const std::string& effective);
    [[nodiscard]] std::vector<std::string> texts_since(const std::string& key, Time since) const;

    [[nodiscard]] const Job* find(std::string_view job) const;

    std::map<std::string, Job, std::less<>> jobs_;  // by id, those whose request is stored
    std::set<std::string, std::less<>> tenants_;
    std::map<std::string, History, std::less<>> documents_;           // by key
    std::map<std::pair<fakes::NodeId, std::string>, Time> taken_up_;  // by node and job, the latest
    std::map<std::string, fakes::NodeId, std::less<>> given_;         // the job's lock, and it was not given back
    std::map<std::string, std::string, std::less<>>
        renamed_;              // the tenant that a stranger wrote since the job was taken up
    bool restricted_ = false;  // a document denies something, or did
    const Time& now_ = told_at();
};

}  // namespace lockstep::sim
