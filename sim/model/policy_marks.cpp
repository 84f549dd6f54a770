#include "sim/model/policy_marks.h"

#include <fmt/core.h>

#include <functional>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

/// Each that stands on a request or a compensation.
template <class Message, class Visit>
void visit_marks(const Message& message, Visit visit) {
    visit(message.labels(), wire::kPolicyLabels);
    visit(message.meta().labels(), wire::kPolicyLabels);
    visit(message.env(), wire::kPolicyVariables);
}

}  // namespace

class PolicyMarks::Search {
public:
    Search(const PolicyMarks& marks, std::string_view carrier) : marks_(marks), carrier_(carrier) {}

    void carried_by(std::string_view carrier) { carrier_ = carrier; }
    template <class Map, class Names>
    void operator()(const Map& map, const Names& names) {
        for (const char* name : names)
            if (const auto written = map.find(name); written != map.end()) look_at(name, written->second);
    }
    void look_at(const std::string& name, const std::string& value) {
        const auto submitted = marks_.submitted_.find({name, value});
        if (submitted != marks_.submitted_.end() && !marks_.told_.contains(submitted->first))
            found_.push_back({name, value, submitted->second, carrier_});
    }
    [[nodiscard]] std::vector<ForeignMark> take() { return std::move(found_); }

private:
    const PolicyMarks& marks_;
    std::string_view carrier_;
    std::vector<ForeignMark> found_;
};

void PolicyMarks::submitted(const cap::JobRequest& request, EventNumber event) {
    const auto note = [&](const auto& map, const auto& names) {
        if (map.empty()) return;
        for (const char* name : names)
            if (const auto written = map.find(name); written != map.end())
                submitted_.try_emplace({name, written->second}, event);
    };
    visit_marks(request, note);
    visit_marks(request.compensation(), note);
}

void PolicyMarks::told(const cap::PolicyConstraints& constraints) {
    const auto& budgets = constraints.budgets();
    told_.emplace(wire::kEnvConstraints, wire::to_json(constraints));
    if (!constraints.redaction_level().empty()) told_.emplace(wire::kEnvRedactionLevel, constraints.redaction_level());
    for (const auto& [name, limit] :
         {std::pair<const char*, std::int64_t>{wire::kEnvMaxArtifactBytes, budgets.max_artifact_bytes()},
          {wire::kEnvMaxConcurrentJobs, budgets.max_concurrent_jobs()},
          {wire::kEnvMaxRetries, budgets.max_retries()}})
        if (limit > 0) told_.emplace(name, fmt::format("{}", limit));
}

std::vector<ForeignMark> PolicyMarks::foreign_of(const cap::JobRequest& sent) const {
    Search search(*this, "what goes to a worker");
    visit_marks(sent, std::ref(search));
    search.carried_by("the compensation in what goes to a worker");
    visit_marks(sent.compensation(), std::ref(search));
    return search.take();
}

std::vector<ForeignMark> PolicyMarks::foreign_of(const cap::PolicyCheckRequest& question) const {
    Search search(*this, "the question to policy");
    search(question.labels(), wire::kPolicyLabels);
    search(question.meta().labels(), wire::kPolicyLabels);
    search.look_at(wire::kEnvEffectiveConfig, question.effective_config());
    return search.take();
}

std::vector<ForeignMark> PolicyMarks::foreign_of(const cap_output::OutputCheckRequest& question) const {
    Search search(*this, "the question about its output");
    search(question.labels(), wire::kPolicyLabels);
    search(question.original_labels(), wire::kPolicyLabels);
    return search.take();
}

}  // namespace lockstep::sim
