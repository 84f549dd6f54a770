#include "fakes/gateway/load_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::fakes {
namespace {

/// The moment of the `n`th job at a rate.
engine::Duration offset(int n, double per_second) {
    if (per_second <= 0) return {};
    return engine::Duration{static_cast<std::int64_t>(1e9 * n / per_second)};
}

tl::expected<cap::JobRequest, LoadError> template_of(const LoadItem& item, std::size_t index) {
    cap::JobRequest request;
    if (!item.job_json.empty()) {
        auto parsed = engine::wire::from_json<cap::JobRequest>(item.job_json);
        if (!parsed) return tl::unexpected(LoadError{index, std::move(parsed.error().detail)});
        request = std::move(*parsed);
    }
    if (request.topic().empty()) request.set_topic(item.topic);
    if (item.payload_bytes > 0) (*request.mutable_env())["SIM_FILLING"] = std::string(item.payload_bytes, '.');
    return request;
}

tl::expected<LoadPlan::Forged, LoadError> forged_of(const LoadItem& item, std::size_t index) {
    if (!item.raw.empty()) return LoadPlan::Forged{item.subject, item.raw};
    auto packet = engine::wire::from_json<cap::BusPacket>(item.packet_json);
    if (!packet) return tl::unexpected(LoadError{index, std::move(packet.error().detail)});
    return LoadPlan::Forged{item.subject.empty() ? subject_of_forged(item.packet_json) : item.subject,
                            engine::wire::serialise(*packet)};
}

}  // namespace

std::string subject_of_forged(std::string_view packet_json) {
    namespace wire = engine::wire;
    const auto packet = wire::from_json<cap::BusPacket>(packet_json);
    if (!packet) return {};
    switch (packet->payload_case()) {
        case cap::BusPacket::kJobRequest: return std::string(wire::kSubjectSubmit);
        case cap::BusPacket::kJobResult: return std::string(wire::kSubjectResult);
        case cap::BusPacket::kHeartbeat: return std::string(wire::kSubjectHeartbeat);
        case cap::BusPacket::kHandshake: return std::string(wire::kSubjectHandshake);
        case cap::BusPacket::kJobCancel: return std::string(wire::kSubjectCancel);
        case cap::BusPacket::kJobProgress: return std::string(wire::kSubjectProgress);
        case cap::BusPacket::kAlert: return std::string(wire::kSubjectAlert);
        case cap::BusPacket::PAYLOAD_NOT_SET: return {};
    }
    return {};
}

LoadPlan::LoadPlan() = default;
LoadPlan::LoadPlan(LoadPlan&&) noexcept = default;
LoadPlan& LoadPlan::operator=(LoadPlan&&) noexcept = default;
LoadPlan::~LoadPlan() = default;

tl::expected<LoadPlan, LoadError> LoadPlan::make(const std::vector<LoadItem>& items, std::string prefix) {
    LoadPlan plan;
    int generated = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const LoadItem& item = items[i];
        if (item.kind == LoadItem::Kind::garbage) {
            for (int n = 0; n < item.count; ++n)
                plan.actions_.push_back({item.at + offset(n, item.per_second), item.kind, {}, 0, item.payload_bytes});
            continue;
        }
        if (item.kind == LoadItem::Kind::forge) {
            auto forged = forged_of(item, i);
            if (!forged) return tl::unexpected(std::move(forged.error()));
            for (int n = 0; n < item.count; ++n)
                plan.actions_.push_back({item.at + offset(n, item.per_second), item.kind, {}, plan.forged_.size(), 0});
            plan.forged_.push_back(std::move(*forged));
            continue;
        }
        if (item.kind == LoadItem::Kind::redis) {
            if (item.command.empty()) return tl::unexpected(LoadError{i, "needs the words of a command"});
            plan.actions_.push_back({item.at, item.kind, {}, plan.commands_.size(), 0});
            plan.commands_.push_back(item.command);
            continue;
        }
        if (item.kind != LoadItem::Kind::submit) {
            if (item.job_ids.size() != 1) return tl::unexpected(LoadError{i, "needs exactly one job id"});
            plan.actions_.push_back({item.at, item.kind, item.job_ids[0], 0, 0});
            continue;
        }
        auto request = template_of(item, i);
        if (!request) return tl::unexpected(std::move(request.error()));
        std::vector<std::string> ids = item.job_ids;
        if (ids.empty() && !request->job_id().empty()) ids.push_back(request->job_id());
        while (ids.empty() ||
               (item.job_ids.empty() && request->job_id().empty() && std::cmp_less(ids.size(), item.count))) {
            ids.push_back(fmt::format("{}job-{}", prefix, generated++));
        }
        for (std::size_t n = 0; n < ids.size(); ++n) {
            const engine::Duration at = item.at + offset(static_cast<int>(n), item.per_second);
            plan.actions_.push_back({at, item.kind, ids[n], plan.templates_.size(), 0});
        }
        plan.templates_.push_back(std::move(*request));
    }
    // By insertion where times agree: std::stable_sort asks for scratch memory by a deprecated call.
    std::vector<std::pair<engine::Duration, std::size_t>> order;
    for (std::size_t i = 0; i < plan.actions_.size(); ++i) order.emplace_back(plan.actions_[i].at, i);
    std::ranges::sort(order);
    std::vector<Action> sorted;
    for (const auto& [at, index] : order) sorted.push_back(std::move(plan.actions_[index]));
    plan.actions_ = std::move(sorted);
    plan.done_.assign(plan.actions_.size(), false);
    plan.changed_ = plan.done_;
    plan.open_ = plan.actions_.size();
    return plan;
}

cap::JobRequest LoadPlan::request(std::size_t index) const {
    cap::JobRequest request = templates_[actions_[index].request];
    request.set_job_id(actions_[index].job);
    return request;
}

void LoadPlan::finish(std::size_t index, bool changed) {
    if (done_[index]) return;
    done_[index] = true;
    changed_[index] = changed;
    --open_;
}

std::vector<std::string> LoadPlan::in_vain() const {
    std::map<std::string, bool> changed;
    for (std::size_t i = 0; i < actions_.size(); ++i) {
        const Action& action = actions_[i];
        const char* what = action.kind == LoadItem::Kind::cancel    ? "the cancellation"
                           : action.kind == LoadItem::Kind::approve ? "the approval"
                           : action.kind == LoadItem::Kind::reject  ? "the rejection"
                                                                    : nullptr;
        if (what != nullptr) changed[fmt::format("{} of {}", what, action.job)] |= changed_[i];
    }
    std::vector<std::string> all;
    for (const auto& [what, has] : changed)
        if (!has) all.push_back(what);
    return all;
}

}  // namespace lockstep::fakes
