// What input policy and output policy are asked about a job says what its stored request says, and what the settings say (wire.md 7.1, 7.2
// and 8, step 7; engine/delivery-semantics.md, "Whose word counts").
//
// 1. Topic, tenant, priority, principal, memory, budget, labels and metadata are those of a request that has been stored under the job's
//    id, but for the labels that only policy and approvals write (policy_marks_own, approval_bound). Where that is damaged the submission
//    that is delivered is tried in its place.
// 2. Input policy is shown the settings of the job: the documents of its layers as they stood when the replica acquired the job's lock for
//    this try, of which those that its submitter names can only tighten. Of a document that cannot be read the replica's last good copy
//    counts, which is none from before its last look at the document for sure. After a change nothing is judged.
//    An answer that a replica keeps while the job waits is good for the settings that policy was shown: where they have changed, it is asked
//    again ("Jobs of a tenant with a limit", 2).
// 3. Output policy is told the size of the whole output, however much of it it is shown, and the hash of what it is shown.
//
// 4. A worker is shown the settings that policy was shown in the same handling.
//
// A rollback asks about a job that it is going to submit: it submits what it has asked about.
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/sha256.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/layered_settings.h"
#include "sim/spec/policy_questions.h"

namespace lockstep::sim::rules {

namespace {

using SettingsJson = nlohmann::json;

template <class Question>
void says_what_is_stored(const Question& question, Question (*due)(const cap::JobRequest&), const Job& job,
                         std::string_view who, Verdict& verdict) {
    if (job.request_damaged) return;
    const StoredRequest& stored = job.request;
    const Question said = spec::said_by_request(question);
    const std::string bytes = engine::wire::serialise(said);
    const bool is_stored = std::ranges::any_of(stored.versions, [&](const StoredRequest::Version& version) {
        return bytes == engine::wire::serialise(due(*version.request));
    });
    verdict.require(is_stored, stored.last_stored, "{} is asked about {}, and its request says {}", who,
                    is_stored ? "" : engine::wire::to_json(said),
                    is_stored ? "" : engine::wire::to_json(due(*stored.versions.back().request)));
}

void output_is_asked_about(const OutputAsked& asked, const Model&, Verdict& verdict) {
    const StoredRequest& stored = asked.job->request;
    if (!is_scheduler(asked.node) || stored.versions.empty()) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 7.2");
    const cap_output::OutputCheckRequest& question = *asked.question;
    says_what_is_stored(question, spec::output_question_about, *asked.job, "output policy", verdict);
    if (question.output_content().empty() || !asked.sizes) return;
    const std::int64_t size = question.output_size_bytes();
    verdict.require(size == asked.sizes->now || size == asked.sizes->before, 0,
                    "output policy is told of an output of {} bytes, and it has {}", size, asked.sizes->now);
    verdict.require(question.content_hash() == "sha256:" + engine::wire::sha256_hex(question.output_content()), 0,
                    "output policy is told of the hash {}, and its content has another one", question.content_hash());
}

void undoing_was_asked_about(const CompensationSent& sent, const Model&, Verdict& verdict) {
    if (sent.question == nullptr) return;
    verdict.exercised();
    const cap::PolicyCheckRequest said = spec::said_by_request(*sent.question);
    const cap::PolicyCheckRequest due = spec::input_question_about(*sent.request);
    const bool is_same = engine::wire::serialise(said) == engine::wire::serialise(due);
    verdict.cite("engine/wire/wire.md 10");
    verdict.require(is_same, 0, "policy was asked about {}, and {} is submitted",
                    is_same ? "" : engine::wire::to_json(said), is_same ? "" : engine::wire::to_json(due));
}

/// By which settings policy is asked.
class SettingsShown {
public:
    void on_asked(const PolicyAsked& asked, const Model& model, Verdict& verdict);
    void on_sent(const Sent& sent, const Model& model, Verdict& verdict);
    void on_started(const ReplicaStarted& started) {
        std::erase_if(read_, [&](const auto& entry) { return entry.first.first == started.node; });
        std::erase_if(told_, [&](const auto& entry) { return entry.first.first == started.node; });
    }

private:
    /// What the question of a handling told policy.
    struct Told {
        EventNumber acquired = 0;
        std::string settings;
    };
    static void is_shown_the_same(const Sent& sent, const Told& told, Verdict& verdict);
    void judge(const Observed& fact, const Told& told, EventNumber acquired, const Model& model, Verdict& verdict);
    [[nodiscard]] spec::Layers contents_for(fakes::NodeId replica, const std::string& key, const Model& model) const;
    [[nodiscard]] bool fits(const std::vector<spec::Layers>& choices, spec::Layers& layers, const std::string& told);
    [[nodiscard]] bool may_be_shown(const spec::Layers& layers, const std::string& told);

    std::map<std::pair<fakes::NodeId, std::string>, EventNumber> read_;  // by replica and key: the last time for sure
    std::map<std::pair<fakes::NodeId, fakes::JobNumber>, Told> told_;    // by replica and job: last
    spec::Layers last_layers_;                                           // of one job after the other the same is asked
    std::optional<std::string> last_told_;                               // which may be shown for them
};

void SettingsShown::on_asked(const PolicyAsked& asked, const Model& model, Verdict& verdict) {
    const StoredRequest& stored = asked.job->request;
    if (!is_scheduler(asked.node) || stored.versions.empty()) return;
    verdict.exercised();
    says_what_is_stored(*asked.question, spec::input_question_about, *asked.job, "policy", verdict);
    if (asked.question->labels().contains("saga_compensation")) return;
    // A replica may store the request by the command that acquires the job.
    const bool is_stored_with_it = stored.last_stored == asked.acquired + 1 && stored.stored_by == asked.node;
    const bool is_unchanged = model.config_documents().changed() < asked.acquired &&
                              (stored.last_stored < asked.acquired || is_stored_with_it);
    Told& told = told_[{asked.node, asked.job->number}];
    told = {asked.acquired, asked.question->effective_config()};
    if (is_unchanged && !stored.is_invalid) judge(asked, told, asked.acquired, model, verdict);
}

/// An answer that a replica kept while the job waited is good for the settings that policy was shown for it.
void SettingsShown::on_sent(const Sent& sent, const Model& model, Verdict& verdict) {
    const StoredRequest& stored = sent.job->request;
    const auto known = told_.find({sent.node, sent.job->number});
    const EventNumber acquired = sent.job->lock.taken_by(sent.node).event;
    if (!sent.is_commits || known == told_.end()) return;
    if (known->second.acquired == acquired) is_shown_the_same(sent, known->second, verdict);
    if (known->second.acquired >= acquired) return;
    const bool goes_by_another_word = sent.says_approved || sent.says_bypassed || sent.word.heard > acquired;
    const bool is_unchanged = model.config_documents().changed() < acquired && stored.last_stored < acquired;
    if (goes_by_another_word || !is_unchanged || stored.is_invalid || stored.versions.empty()) return;
    verdict.exercised();
    judge(sent, known->second, acquired, model, verdict);
}

/// Settings are attached once for each handling.
void SettingsShown::is_shown_the_same(const Sent& sent, const Told& told, Verdict& verdict) {
    if (sent.request == nullptr) return;
    const auto& env = sent.request->env();
    const auto shown = env.find(engine::wire::kEnvEffectiveConfig);
    verdict.cite("engine/wire/wire.md 8, step 7");
    verdict.require((shown == env.end() ? std::string_view{} : shown->second) == told.settings, told.acquired,
                    "its worker is shown the settings {}, and policy was shown {}",
                    shown == env.end() ? std::string_view{} : shown->second, told.settings);
}

void SettingsShown::judge(const Observed& fact, const Told& shown, EventNumber acquired, const Model& model,
                          Verdict& verdict) {
    const std::vector<std::string> keys = spec::documents_of(*fact.job->request.versions.back().request);
    std::vector<spec::Layers> choices;  // of each layer, what it may say
    for (const std::string& key : keys) {
        choices.push_back(contents_for(fact.node, key, model));
        if (choices.back().empty()) return;
    }
    for (const std::string& key : keys) {
        const auto versions = model.config_documents().versions_of(key);
        if (versions.empty() || versions.back().is_readable()) read_[{fact.node, key}] = acquired;
    }
    const std::string& told = shown.settings;
    spec::Layers layers;
    if (fits(choices, layers, told)) return;
    for (const spec::Layers& of_layer : choices) layers.push_back(of_layer.back());
    const SettingsJson due = spec::layered(layers, spec::kBindingDocuments).value_or(SettingsJson::object());
    verdict.cite("engine/config/settings.md 4");
    verdict.require(false, acquired, "policy is shown the settings {}, and they were {} when its lock was acquired",
                    told.empty() ? "{}" : told, engine::wire::json_text(due));
}

/// What a replica may go by for a document that has stood as it is since it was read; none: that cannot be said.
spec::Layers SettingsShown::contents_for(fakes::NodeId replica, const std::string& key, const Model& model) const {
    const auto versions = model.config_documents().versions_of(key);
    static const auto kNone = std::make_shared<const SettingsJson>(SettingsJson::object());
    if (versions.empty() || versions.back().text.empty()) return {kNone};
    if (versions.back().content) return {versions.back().content};
    // The last copy that it could read: one since it has read the document for sure.
    const auto read = read_.find({replica, key});
    if (read == read_.end()) return {};
    spec::Layers contents;
    for (const ConfigDocuments::Version& version : versions) {
        if (version.event <= read->second && version.is_readable()) contents.clear();
        if (version.content) contents.push_back(version.content);
    }
    return contents;
}

bool SettingsShown::fits(const std::vector<spec::Layers>& choices, spec::Layers& layers, const std::string& told) {
    if (layers.size() == choices.size()) return may_be_shown(layers, told);
    for (const auto& content : choices[layers.size()]) {
        layers.push_back(content);
        const bool does = fits(choices, layers, told);
        layers.pop_back();
        if (does) return true;
    }
    return false;
}

/// Whether these layers make the settings that policy is told.
bool SettingsShown::may_be_shown(const spec::Layers& layers, const std::string& told) {
    if (told == last_told_ && layers == last_layers_) return true;
    const auto due = spec::layered(layers, spec::kBindingDocuments);
    const bool is_due =
        !due || spec::same_settings(*due, told.empty() ? SettingsJson::object() : engine::wire::read_json(told));
    if (is_due) {
        last_told_ = told;
        last_layers_ = layers;
    }
    return is_due;
}

}  // namespace

void questions_true(Rules& rules, const engine::Tunables& /*tunables*/) {
    const auto settings = std::make_shared<SettingsShown>();
    rules.add([settings](const PolicyAsked& asked, const Model& model, Verdict& verdict) {
        settings->on_asked(asked, model, verdict);
    });
    rules.add([settings](const Sent& sent, const Model& model, Verdict& verdict) {
        settings->on_sent(sent, model, verdict);
    });
    rules.add([settings](const ReplicaStarted& started, const Model&, Verdict&) { settings->on_started(started); });
    rules.add(output_is_asked_about);
    rules.add<PolicyAsked>(undoing_was_asked_about);
}

}  // namespace lockstep::sim::rules
