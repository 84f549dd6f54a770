#include "sim/oracles/questions_true.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/layered_settings.h"
#include "sim/model/request_facts.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::When;
using Json = nlohmann::json;

constexpr std::string_view kDocuments = "cfg:";
constexpr std::string_view kPointer = "redis://";
constexpr std::size_t kContentsMax = 4;  // of one job

std::string trimmed(std::string_view text) { return std::string(wire::trim(text)); }

std::string_view text_of_variable(const cap::JobRequest& request, const char* name) {
    const auto found = request.env().find(name);
    return found == request.env().end() ? std::string_view() : std::string_view(found->second);
}

bool writes_it_alone(std::string_view label) {
    std::string small(label);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return small.starts_with("approval_") || small == wire::kMessageIdLabel ||
           std::ranges::count(wire::kPolicyLabels, label) > 0;
}

template <class Map>
std::map<std::string, std::string> without_marks(const Map& labels) {
    std::map<std::string, std::string> kept;
    for (const auto& [label, value] : labels)
        if (!writes_it_alone(label)) kept.emplace(label, value);
    return kept;
}

/// Both sides of the comparison as one text: what is asked, and what ought to be asked about a request.
std::string input_question(const cap::PolicyCheckRequest& asked) {
    cap::JobMetadata meta = asked.meta();
    const auto labels = without_marks(meta.labels());
    meta.clear_labels();
    cap::Budget budget = asked.budget();
    budget.clear_deadline_ms();  // a limit of policy's may be tighter (limits_in_force)
    return Json{{"topic", trimmed(asked.topic())},
                {"tenant", asked.tenant()},
                {"priority", static_cast<int>(asked.priority())},
                {"principal", asked.principal_id()},
                {"memory", asked.memory_id()},
                {"labels", without_marks(asked.labels())},
                {"meta labels", labels},
                {"meta", wire::serialise(meta)},
                {"budget", wire::serialise(budget)}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string input_question(const cap::JobRequest& request) {
    cap::PolicyCheckRequest due;
    due.set_topic(request.topic());
    due.set_tenant(tenant_named_by(request));
    due.set_priority(request.priority());
    due.set_principal_id(request.principal_id());
    due.set_memory_id(request.memory_id());
    *due.mutable_labels() = request.labels();
    *due.mutable_meta() = request.meta();
    *due.mutable_budget() = request.budget();
    return input_question(due);
}

std::string output_question(const cap_output::OutputCheckRequest& asked) {
    const std::vector<std::string> capabilities(asked.capabilities().begin(), asked.capabilities().end());
    const std::vector<std::string> tags(asked.risk_tags().begin(), asked.risk_tags().end());
    return Json{{"topic", asked.topic()},
                {"tenant", asked.tenant()},
                {"workflow", asked.workflow_id()},
                {"step", asked.step_id()},
                {"principal", asked.principal_id()},
                {"pack", asked.pack_id()},
                {"capabilities", capabilities},
                {"risk tags", tags},
                {"labels", without_marks(asked.labels())},
                {"original labels", without_marks(asked.original_labels())}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string output_question(const cap::JobRequest& request) {
    cap_output::OutputCheckRequest due;
    due.set_topic(trimmed(request.topic()));
    due.set_tenant(tenant_named_by(request));
    due.set_workflow_id(trimmed(request.workflow_id()));
    const auto label = request.labels().find("step_id");
    const std::string step = label == request.labels().end() ? std::string() : trimmed(label->second);
    due.set_step_id(step.empty() ? trimmed(text_of_variable(request, "step_id")) : step);
    due.set_principal_id(trimmed(request.principal_id()));
    due.set_pack_id(trimmed(request.meta().pack_id()));
    if (!trimmed(request.meta().capability()).empty()) due.add_capabilities(trimmed(request.meta().capability()));
    for (const std::string& tool : request.meta().requires_()) due.add_capabilities(trimmed(tool));
    for (const std::string& tag : request.meta().risk_tags()) due.add_risk_tags(trimmed(tag));
    *due.mutable_labels() = request.labels();
    *due.mutable_original_labels() = request.labels().empty() ? request.meta().labels() : request.labels();
    return output_question(due);
}

template <class Question>
bool parsed(const fakes::Event& event, Question& asked) {
    return asked.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()));
}

/// The documents of the system and of the tenant say what they like.
constexpr std::size_t kBindingLayers = 2;
/// Texts of one document that are remembered.
constexpr std::size_t kVersionsMax = 16;

/// The documents of a job's settings, the system's first.
std::vector<std::string> documents_of(const cap::JobRequest& request) {
    std::vector<std::string> keys{std::string(kSettingsKey), "cfg:org:" + tenant_named_by(request)};
    const auto add = [&keys](std::string_view scope, std::string_view id) {
        if (!id.empty()) keys.push_back(fmt::format("cfg:{}:{}", scope, id));
    };
    add("team", text_of_variable(request, "team_id"));
    add("workflow", request.workflow_id());
    add("step", text_of_variable(request, "step_id"));
    return keys;
}

/// Whether these layers make the settings that policy is told.
bool may_be_shown(const std::vector<Json>& layers, const std::string& told) {
    // Of one job after the other the same is asked.
    static thread_local std::vector<Json> last_layers;
    static thread_local std::optional<std::string> last_told;  // nothing: it was not true
    if (told == last_told && layers == last_layers) return true;
    const auto settings = layered(layers, kBindingLayers);
    const bool fits =
        !settings || same_settings(*settings, told.empty() ? Json::object() : Json::parse(told, nullptr, false));
    last_told = fits ? std::optional(told) : std::nullopt;
    last_layers = layers;
    return fits;
}

}  // namespace

void QuestionsTrue::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case EventKind::lock_acquired:
            if (!is_job_lock(event.key)) break;
            strike_lock({event.node, std::string(event.job)}, event.name);
            locks_[{event.node, std::string(event.job)}].push_back({std::string(event.name), present()});
            break;
        case EventKind::lock_released:
            if (is_job_lock(event.key)) strike_lock({event.peer, std::string(event.job)}, event.name);
            break;
        case EventKind::node_down:
            std::erase_if(locks_, [&event](const auto& entry) { return entry.first.first == event.node; });
            std::erase_if(read_, [&event](const auto& entry) { return entry.first.first == event.node; });
            break;
        case EventKind::kernel_check:
            if (event.when == When::before && is_scheduler(event.node)) on_input_question(event);
            break;
        case EventKind::output_check:
            if (event.when == When::before && is_scheduler(event.node)) on_output_question(event);
            break;
        default: break;
    }
}

void QuestionsTrue::on_input_question(const fakes::Event& event) {
    const auto stored = requests_.find(event.job);
    cap::PolicyCheckRequest asked;
    if (stored == requests_.end() || !parsed(event, asked)) return;
    if (asked.labels().contains("saga_compensation")) return;
    exercise();
    const std::string said = input_question(asked);
    const auto same = [&said](const auto& known) { return known.first == said; };
    if (std::ranges::none_of(stored->second.known, same)) {
        violated(
            event.node, event.job,
            fmt::format("policy is asked about {}, and its request says {}", said, stored->second.known.back().first),
            stored->second.event);
        return;
    }
    judge_settings(event, asked.effective_config());
}

void QuestionsTrue::judge_settings(const fakes::Event& event, const std::string& told) {
    const auto taken_up = taken_up_by_asker({event.node, std::string(event.job)});
    if (!taken_up || changed_ >= *taken_up) return;
    const Stored& stored = requests_.find(event.job)->second;
    const cap::JobRequest* request = read_request(stored.json);
    if (!request || stored.event >= *taken_up) return;
    const std::vector<std::string> keys = documents_of(*request);
    std::vector<std::vector<Json>> choices;  // of each layer, what it may say
    for (const std::string& key : keys) {
        choices.push_back(contents_for(event.node, key));
        if (choices.back().empty()) return;
    }
    for (const std::string& key : keys) {
        const auto document = documents_.find(key);
        if (document == documents_.end() || settings_in(document->second)) read_[{event.node, key}] = *taken_up;
    }
    std::vector<Json> layers;
    const auto fits = [&](const auto& self) -> bool {
        if (layers.size() == choices.size()) return may_be_shown(layers, told);
        for (const Json& content : choices[layers.size()]) {
            layers.push_back(content);
            const bool fitting = self(self);
            layers.pop_back();
            if (fitting) return true;
        }
        return false;
    };
    if (fits(fits)) return;
    for (const auto& of_layer : choices) layers.push_back(of_layer.back());
    violated(event.node, event.job,
             fmt::format("policy is shown the settings {}, and they were {} when it was taken up",
                         told.empty() ? "{}" : told,
                         layered(layers, kBindingLayers)
                             .value_or(Json::object())
                             .dump(-1, ' ', false, Json::error_handler_t::replace)),
             *taken_up);
}

void QuestionsTrue::strike_lock(const std::pair<fakes::NodeId, std::string>& of, std::string_view token) {
    const auto locks = locks_.find(of);
    if (locks == locks_.end()) return;
    std::erase_if(locks->second, [&](const TakenLock& lock) { return lock.token == token; });
    if (locks->second.empty()) locks_.erase(locks);
}

/// A replica that was frozen has several handlers at one job: one whose lock has run out may ask later than the next one takes the
/// lock, be that for a result. So the next question is taken for that of the oldest.
std::optional<EventNumber> QuestionsTrue::taken_up_by_asker(const std::pair<fakes::NodeId, std::string>& asker) {
    const auto locks = locks_.find(asker);
    if (locks == locks_.end()) return std::nullopt;
    const EventNumber taken_up = locks->second.front().event;
    if (locks->second.size() > 1) locks->second.erase(locks->second.begin());
    return taken_up;
}

/// What a replica may go by for a document that has stood as it is since it was read; none: nobody can say.
std::vector<Json> QuestionsTrue::contents_for(fakes::NodeId replica, const std::string& key) const {
    const auto document = documents_.find(key);
    if (document == documents_.end()) return {Json::object()};
    if (const auto& content = settings_in(document->second)) return {*content};
    // The last copy that it could read: one since it has read the document for sure.
    const auto read = read_.find({replica, key});
    const auto versions = versions_.find(key);
    if (read == read_.end() || versions == versions_.end()) return {};
    std::vector<Json> contents;
    for (const Version& version : versions->second) {
        const auto& content = settings_in(version.text);
        if (version.since <= read->second && (content || version.text.empty())) contents.clear();
        if (content) contents.push_back(*content);
    }
    return contents;
}

void QuestionsTrue::on_output_question(const fakes::Event& event) {
    const auto stored = requests_.find(event.job);
    cap_output::OutputCheckRequest asked;
    if (stored == requests_.end() || !parsed(event, asked)) return;
    exercise();
    const std::string said = output_question(asked);
    const auto same = [&said](const auto& known) { return known.second == said; };
    if (std::ranges::none_of(stored->second.known, same))
        violated(event.node, event.job,
                 fmt::format("output policy is asked about {}, and its request says {}", said,
                             stored->second.known.back().second),
                 stored->second.event);
    std::string_view pointer = asked.result_ptr();
    if (asked.output_content().empty() || !pointer.starts_with(kPointer)) return;
    const auto output = outputs_.find(pointer.substr(kPointer.size()));
    if (output == outputs_.end()) return;
    const std::int64_t size = asked.output_size_bytes();
    if (size != output->second.now && size != output->second.before)
        violated(
            event.node, event.job,
            fmt::format("output policy is told of an output of {} bytes, and it has {}", size, output->second.now));
}

void QuestionsTrue::note_request(std::string_view job, std::string_view json) {
    const cap::JobRequest* request = read_request(json);
    if (!request) return;
    Stored& stored = requests_[std::string(job)];
    stored.json = json;
    stored.event = present();
    std::pair content(input_question(*request), output_question(*request));
    std::erase(stored.known, content);
    if (stored.known.size() == kContentsMax) stored.known.erase(stored.known.begin());
    stored.known.push_back(std::move(content));
}

void QuestionsTrue::note_document(std::string_view key, std::string_view text) {
    auto& versions = versions_[std::string(key)];
    if (versions.size() == kVersionsMax) versions.erase(versions.begin());
    versions.push_back({upcoming(), std::string(text)});
    documents_.insert_or_assign(std::string(key), std::string(text));
    changed_ = present();
}

void QuestionsTrue::string_set(fakes::NodeId, std::string_view key, const std::string* before, std::string_view after,
                               std::int64_t, std::int64_t) {
    if (key.starts_with(kRequestPrefix)) note_request(key.substr(kRequestPrefix.size()), after);
    if (key.starts_with(kDocuments)) note_document(key, after);
    if (!key.starts_with("res:")) return;
    const auto size = static_cast<std::int64_t>(after.size());
    outputs_[std::string(key)] = {size, before == nullptr ? size : static_cast<std::int64_t>(before->size())};
}

void QuestionsTrue::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                                std::int64_t) {
    const auto document = documents_.find(key);
    if (document == documents_.end()) return;
    versions_[document->first].push_back({upcoming(), {}});  // one that says nothing, and of which nobody keeps a copy
    documents_.erase(document);
    changed_ = present();
}

void QuestionsTrue::restored(const fakes::redis::Keyspace& now) {
    documents_.clear();
    versions_.clear();
    read_.clear();
    outputs_.clear();
    changed_ = present();
    for (const std::string_view key : now.keys()) {
        const auto* text = std::get_if<std::string>(&now.find(key)->value);
        if (text == nullptr) continue;
        if (key.starts_with(kRequestPrefix)) note_request(key.substr(kRequestPrefix.size()), *text);
        if (key.starts_with(kDocuments)) note_document(key, *text);
    }
}

}  // namespace lockstep::sim
