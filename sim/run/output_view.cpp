#include "sim/run/output_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/model/job_keys.h"
#include "sim/model/output_names.h"
#include "sim/run/output_values.h"

namespace lockstep::sim {

namespace {

using fakes::Event;
using fakes::EventKind;
using fakes::NodeId;
using fakes::When;
using fakes::redis::Keyspace;
using nlohmann::ordered_json;
namespace pb = google::protobuf;

constexpr Duration kLate = std::chrono::seconds{5};
/// Of names and texts of which a run has many.
constexpr std::size_t kValuesKept = 12;

bool is_emptied(const fakes::redis::Value& value) {
    const auto is_empty = []<class Held>(const Held& held) {
        if constexpr (std::is_same_v<Held, std::string>)
            return false;
        else if constexpr (std::is_same_v<Held, fakes::redis::SortedSet>)
            return held.ranking().empty();
        else
            return held.empty();
    };
    return std::visit(is_empty, value);
}

}  // namespace

bool OutputView::is_engine(NodeId node) const {
    if (!node.valid()) return false;
    const NodeRole role = topology_.node(node).role;
    return role == NodeRole::scheduler || role == NodeRole::workflow;
}

std::string OutputView::name_of(NodeId client, std::string_view key, std::string_view member) {
    if (!is_engine(client)) return {};
    std::string name(lifetimes_.family_of(key));
    if (name.empty() || is_payload_family(name)) return {};
    if (member.empty()) return name;
    return name + ' ' + std::string(member);
}

bool OutputView::meets(std::string_view output, std::string_view value) {
    if (output.empty()) return false;
    if (corruption_ == nullptr) {
        auto found = seen_.find(output);
        if (found == seen_.end()) found = seen_.emplace(output, OutputSeen{}).first;
        ++found->second.count;
        auto& values = found->second.values;
        if (values.size() < kValuesKept && std::ranges::find(values, value) == values.end()) values.emplace_back(value);
        return false;
    }
    if (output != corruption_->output) return false;
    ++met_;
    return corruption_->occurrence == 0 || met_ == corruption_->occurrence;
}

std::string OutputView::changed(std::string_view value) const {
    if (corruption_->how == How::same) return std::string(value);
    if (value == "true" || value == "false") return value == "true" ? "false" : "true";
    if (const auto number = as_whole_number(value)) return std::to_string(another(*number));
    std::string text(value);
    if (set_another_day(text)) return text;
    for (const std::string& other : corruption_->others)
        if (other != value) return other;
    return text + "~";
}

bool OutputView::is_left_undone(std::string_view output) {
    if (!meets(output, {}) || corruption_->how == How::same) return false;
    ++corrupted_;
    return true;
}

template <class Do>
void OutputView::later(Do&& apply) {
    later_.push_back({now_ + kLate, keys_.acting(), std::forward<Do>(apply)});
}

template <class Container>
Keyspace::Node& OutputView::at(std::string_view key) {
    auto* known = keys_.find(key);
    if (known != nullptr && !std::holds_alternative<Container>(known->second.value)) {
        keys_.remove(*known);
        known = nullptr;
    }
    return known != nullptr ? *known : keys_.create<Container>(key);
}

void OutputView::drop_field(std::string_view key, std::string_view field) {
    auto* node = keys_.find(key);
    if (node != nullptr && hash_field(keys_, key, field)) keys_.hash_remove(*node, field);
}

// Events ---------------------------------------------------------------------------------------------------------------------

bool OutputView::alter(pb::Message& message, const std::string& kind) {
    std::optional<FieldPlace> to_drop;
    std::string path;
    const int before = corrupted_;
    const auto visit = [&](std::string_view at, const FieldPlace& place) {
        const std::string text = scalar_text(place);
        if (!meets(kind + ' ' + std::string(at), text)) return;
        ++corrupted_;
        if (corruption_->how == How::dropped)
            to_drop.emplace(place);
        else
            set_field(place, changed(text));
    };
    visit_fields(message, path, visit);
    if (to_drop) clear_field(*to_drop);
    return corrupted_ != before;
}

OutputView::Message OutputView::make_message(const Event& event, const std::string& subject) {
    Message message{.payload = std::string(event.payload), .message_id = std::string(event.message_id)};
    message.packet.CopyFrom(*event.packet);
    if (meets(subject, {})) {
        ++corrupted_;
        message.dropped = corruption_->how == How::dropped;
    }
    if (!event.message_id.empty() && meets(subject + " message_id", event.message_id)) {
        ++corrupted_;
        message.message_id = corruption_->how == How::dropped ? "" : changed(event.message_id);
    }
    if (alter(message.packet, subject)) message.payload = message.packet.SerializeAsString();
    return message;
}

const OutputView::Message* OutputView::shown_message(const Event& event) {
    if (event.packet == nullptr || event.payload.empty()) return nullptr;
    const bool is_sending = event.kind == EventKind::publish || event.kind == EventKind::core_publish;
    if (is_sending && event.when == When::before && is_engine(event.node)) {
        Message message = make_message(event, subject_family(event.subject));
        const bool is_same =
            message.payload == event.payload && message.message_id == event.message_id && !message.dropped;
        if (!is_same) messages_.insert_or_assign(std::string(event.payload), std::move(message));
    }
    const auto found = messages_.find(std::string(event.payload));
    return found == messages_.end() ? nullptr : &found->second;
}

bool OutputView::emit(const Event& event) {
    if (wanted_.contains(event.kind)) judge_.on_event(event, now_);
    return true;
}

bool OutputView::shows(MetricChange& change) {
    if (!is_engine(change.node)) return true;
    const std::string name(change.metric.name);
    if (meets(name + " value", fmt::format("{}", change.value))) {
        ++corrupted_;
        if (corruption_->how == How::dropped) return false;
        if (corruption_->how == How::changed) ++change.value;
    }
    if (!change.labels.empty() && meets(name + " labels", change.labels.back())) {
        ++corrupted_;
        label_ = changed(change.labels.back());
        labels_.assign(change.labels.begin(), change.labels.end());
        labels_.back() = label_;
        change.labels = labels_;
    }
    return true;
}

void OutputView::on_event(const Event& event, Time now) {
    now_ = now;
    // What becomes of locks is told as the judge sees them.
    if (event.kind >= EventKind::lock_acquired && event.kind <= EventKind::state) return;
    while (!later_.empty() && later_.front().due <= now) {
        const Later due = std::move(later_.front());
        later_.pop_front();
        keys_.act_for(due.client);
        due.apply();
    }
    Event shown = event;
    if (const Message* message = shown_message(event)) {
        if (message->dropped) return;
        shown.payload = message->payload;
        if (!event.message_id.empty()) shown.message_id = message->message_id;
        shown.packet = &message->packet;
    }
    std::string question;
    const bool asks = event.kind == EventKind::kernel_check || event.kind == EventKind::output_check;
    if (asks && event.when == When::before && is_engine(event.node)) {
        cap::PolicyCheckRequest of_input;
        cap_output::OutputCheckRequest of_output;
        pb::Message& message = event.kind == EventKind::kernel_check ? static_cast<pb::Message&>(of_input) : of_output;
        const std::string name = event.kind == EventKind::kernel_check ? "input policy" : "output policy";
        if (message.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())) &&
            alter(message, name)) {
            question = message.SerializeAsString();
            shown.payload = question;
        }
    }
    if (wanted_.contains(event.kind)) judge_.on_event(shown, now);
}

// Redis ----------------------------------------------------------------------------------------------------------------------

void OutputView::command(NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) {
    if (!words.empty()) redis_ms_ = now_ms;
    keys_.act_for(client);
    keys_.tell_command(client, words, now_ms);
}

void OutputView::zset_listed(NodeId client, std::string_view key) {
    keys_.act_for(client);
    keys_.tell_listed(key);
}

std::optional<std::string> OutputView::shown(NodeId client, std::string_view key, std::string_view text,
                                             const std::string* before) {
    const std::string family = name_of(client, key, {});
    if (family.empty()) return std::string(text);
    const auto wrong = [&](std::string_view value, const std::string& stale) -> std::optional<std::string> {
        if (corruption_->how == How::stale && stale == value) return std::string(value);
        ++corrupted_;
        if (corruption_->how == How::dropped) return std::nullopt;
        return corruption_->how == How::stale ? stale : changed(value);
    };
    if (has_named_members(family, text)) {
        auto document = engine::wire::read_ordered_json(text);
        if (document.is_discarded()) return std::string(text);
        const auto former = before == nullptr ? ordered_json() : engine::wire::read_ordered_json(*before);
        const int before_this = corrupted_;
        std::string path;
        const auto visit = [&](std::string_view at, ordered_json& scalar) {
            const std::string value = scalar_text(scalar);
            if (!meets(family + ' ' + std::string(at), value)) return;
            const ordered_json* was = member_at(former, at);
            const std::string stale = was == nullptr ? value : scalar_text(*was);
            const auto now = wrong(value, stale);
            if (!now)
                scalar = ordered_json(ordered_json::value_t::discarded);
            else if (scalar.is_string())
                scalar = *now;
            else
                scalar = engine::wire::read_ordered_json(*now);
        };
        visit_members(document, path, visit);
        if (corrupted_ == before_this) return std::string(text);
        prune(document);
        return engine::wire::json_text(document);
    }
    if (holds_requests(family)) {
        cap::JobRequest request;
        if (!request.ParseFromArray(text.data(), static_cast<int>(text.size()))) return std::string(text);
        return alter(request, family) ? request.SerializeAsString() : std::string(text);
    }
    if (meets(family + " value", text)) return wrong(text, before == nullptr ? std::string(text) : *before);
    return std::string(text);
}

void OutputView::string_set(NodeId client, std::string_view key, const std::string*, std::string_view after,
                            std::int64_t, std::int64_t expires_at) {
    keys_.act_for(client);
    const auto* known = keys_.find(key);
    const auto* before = known == nullptr ? nullptr : std::get_if<std::string>(&known->second.value);
    std::optional<std::string> text = shown(client, key, after, before);
    if (!text) {
        if (auto* gone = keys_.find(key)) keys_.remove(*gone);
        return;
    }
    if (expires_at != fakes::redis::kNever && meets(name_of(client, key, "expiry"), "")) {
        ++corrupted_;
        if (corruption_->how == How::dropped) expires_at = fakes::redis::kNever;
        if (corruption_->how == How::changed) expires_at += expires_at - redis_ms_;
    }
    if (meets(name_of(client, key, "whole"), "")) {
        ++corrupted_;
        switch (corruption_->how) {
            case How::late:
                return later([this, key = std::string(key), text = *text, expires_at] {
                    keys_.set_string(key, text, expires_at);
                });
            case How::dropped:
                if (auto* gone = keys_.find(key)) keys_.remove(*gone);
                return;
            case How::stale: return;
            default: break;
        }
    }
    keys_.set_string(key, std::move(*text), expires_at);
}

void OutputView::hash_set(NodeId client, std::string_view key, std::string_view field, const std::string*,
                          std::string_view after) {
    keys_.act_for(client);
    std::string name;
    if (is_engine(client)) {
        name = std::string(lifetimes_.family_of(key));
        if (!name.empty()) name = name + ' ' + (has_named_fields(name) ? std::string(field) : "*");
    }
    std::string value(after);
    const auto present = hash_field(keys_, key, field);
    // What is not there says as much as what is empty; a write of what is there is none.
    const bool says_something = !after.empty() && present != after;
    if (says_something && meets(name, after)) {
        const How how = corruption_->how;
        if (how == How::stale && !present) return keys_.hash_set(at<fakes::redis::Hash>(key), field, value), void();
        ++corrupted_;
        if (how == How::changed || how == How::same) value = changed(after);
        if (how == How::stale) return;
        if (how == How::dropped) return drop_field(key, field);
        if (how == How::late)
            return later([this, key = std::string(key), field = std::string(field), value] {
                keys_.hash_set(at<fakes::redis::Hash>(key), field, value);
            });
    }
    keys_.hash_set(at<fakes::redis::Hash>(key), field, value);
}

void OutputView::hash_removed(NodeId client, std::string_view key, std::string_view field, std::string_view) {
    keys_.act_for(client);
    if (is_engine(client)) {
        std::string name(lifetimes_.family_of(key));
        if (!name.empty()) name = name + ' ' + (has_named_fields(name) ? std::string(field) : "*") + " removed";
        if (is_left_undone(name)) return;
    }
    drop_field(key, field);
}

void OutputView::list_inserted(NodeId client, std::string_view key, std::size_t index, std::string_view value) {
    keys_.act_for(client);
    const auto text = shown(client, key, value, nullptr);
    if (!text) return;
    auto& list = at<fakes::redis::List>(key);
    const std::size_t size = std::get<fakes::redis::List>(list.second.value).size();
    keys_.list_insert(list, index == 0 ? 0 : std::min(index, size), *text);
}

void OutputView::list_removed(NodeId client, std::string_view key, std::size_t index, std::string_view) {
    keys_.act_for(client);
    auto* list = keys_.find(key);
    if (list == nullptr) return;
    const std::size_t size = std::get<fakes::redis::List>(list->second.value).size();
    keys_.list_remove(*list, std::min(index, size - 1));
}

void OutputView::set_added(NodeId client, std::string_view key, std::string_view member) {
    keys_.act_for(client);
    std::string value(member);
    if (meets(name_of(client, key, "member"), member)) {
        ++corrupted_;
        if (corruption_->how != How::changed && corruption_->how != How::same) return;
        value = changed(member);
    }
    keys_.set_add(at<fakes::redis::Set>(key), value);
}

void OutputView::set_removed(NodeId client, std::string_view key, std::string_view member) {
    keys_.act_for(client);
    if (is_left_undone(name_of(client, key, "member removed"))) return;
    auto* set = keys_.find(key);
    if (set != nullptr && std::get<fakes::redis::Set>(set->second.value).contains(member))
        keys_.set_remove(*set, member);
}

void OutputView::zset_set(NodeId client, std::string_view key, std::string_view member, const double*, double after) {
    keys_.act_for(client);
    std::string value(member);
    if (meets(name_of(client, key, "member"), member)) {
        ++corrupted_;
        if (corruption_->how == How::late)
            return later([this, key = std::string(key), value, after] {
                keys_.zset_set(at<fakes::redis::SortedSet>(key), value, after);
            });
        if (corruption_->how != How::changed && corruption_->how != How::same) return;
        value = changed(member);
    }
    if (meets(name_of(client, key, "score"), fmt::format("{}", after))) {
        ++corrupted_;
        if (corruption_->how == How::changed)
            after = std::round(after) == after && std::abs(after) < 9e15
                        ? static_cast<double>(another(static_cast<std::int64_t>(after)))
                        : after * 1.5;
    }
    keys_.zset_set(at<fakes::redis::SortedSet>(key), value, after);
}

void OutputView::zset_removed(NodeId client, std::string_view key, std::string_view member, double) {
    keys_.act_for(client);
    if (is_left_undone(name_of(client, key, "member removed"))) return;
    auto* zset = keys_.find(key);
    if (zset != nullptr && std::get<fakes::redis::SortedSet>(zset->second.value).score(member) != nullptr)
        keys_.zset_remove(*zset, member);
}

void OutputView::expiry_set(NodeId client, std::string_view key, std::int64_t, std::int64_t after) {
    keys_.act_for(client);
    if (after != fakes::redis::kNever && meets(name_of(client, key, "expiry"), "")) {
        ++corrupted_;
        if (corruption_->how == How::dropped) return;
        if (corruption_->how == How::changed) after += after - redis_ms_;
    }
    if (auto* node = keys_.find(key)) keys_.set_expiry(*node, after);
}

void OutputView::key_removed(NodeId client, std::string_view key, fakes::redis::Removal why,
                             const fakes::redis::Value& last, std::int64_t) {
    keys_.act_for(client);
    // A key goes with its last element, and there it has gone, unless that is still shown.
    if (why == fakes::redis::Removal::deleted && is_emptied(last)) return;
    if (why == fakes::redis::Removal::deleted && is_left_undone(name_of(client, key, "removed"))) return;
    if (auto* node = keys_.find(key)) keys_.remove(*node, why);
}

void OutputView::restored(const Keyspace& now) {
    keys_.restore([&] {
        auto content = now.copy();
        keys_.exchange(content);
    });
}

}  // namespace lockstep::sim
