#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "sim/scenario/message_fields.h"
#include "sim/scenario/read.h"
#include "sim/scenario/values.h"

namespace lockstep::sim {

std::vector<std::string> job_ids(const std::vector<Load>& load) {
    std::vector<std::string> ids;
    int generated = 0;
    for (const Load& line : load) {
        if (line.kind != Load::Kind::submit) continue;
        if (!line.job_id.empty())
            ids.push_back(line.job_id);
        else
            for (int n = 0; n < line.count; ++n) ids.push_back(fmt::format("job-{}", generated++));
    }
    return ids;
}

std::vector<std::string> run_ids(const std::vector<Load>& load) {
    std::vector<std::string> ids;
    int generated = 0;
    for (const Load& line : load) {
        if (line.kind != Load::Kind::workflow || line.order.kind != RunOrder::Kind::start) continue;
        if (!line.order.run.empty())
            ids.push_back(line.order.run);
        else
            for (int n = 0; n < line.count; ++n) ids.push_back(fmt::format("run-{}", generated++));
    }
    return ids;
}

namespace detail {

namespace {

using nlohmann::json;

void read_job(const json& object, const std::string& pointer, Load& load, std::vector<Finding>& findings) {
    const json* job = member(object, "job");
    load.topic = text_of(object, "topic");
    load.job_json = "{}";
    if (job != nullptr) {
        const auto request = engine::wire::from_json<cap::JobRequest>(engine::wire::json_text(*job));
        if (!request) {
            if (!refuse_unknown_fields(*job, *cap::JobRequest::descriptor(), child(pointer, "job"), findings))
                findings.push_back({child(pointer, "job"),
                                    fmt::format("expected a CAP JobRequest: {}", request.error().detail), false});
            return;
        }
        if (!load.topic.empty() && !request->topic().empty() && load.topic != request->topic())
            findings.push_back(
                {child(pointer, "topic"),
                 fmt::format("expected the topic of the job, \"{}\", got \"{}\"", request->topic(), load.topic),
                 false});
        if (load.topic.empty()) load.topic = request->topic();
        load.job_id = request->job_id();
        json rest = *job;
        for (const char* filled_in : {"job_id", "jobId", "topic"}) rest.erase(filled_in);
        load.job_json = engine::wire::json_text(rest);
    }
    if (load.topic.empty()) load.topic = "job.default";
}

RunOrder read_order(const json& object) {
    RunOrder order;
    order.by_reference = text_of(object, "by") == "reference";
    order.org = text_of(object, "org");
    if (member(object, "takes") != nullptr) order.takes = duration_of(object, "takes");
    if (const json* definition = member(object, "put")) {
        order.kind = RunOrder::Kind::put;
        order.workflow = text_of(*definition, "id");
        if (order.org.empty()) order.org = text_of(*definition, "org_id", "default");
        order.definition = engine::wire::json_text(*definition);
    } else if (member(object, "start") != nullptr) {
        order.kind = RunOrder::Kind::start;
        order.workflow = text_of(object, "start");
        order.run = text_of(object, "run");
        order.key = text_of(object, "idempotency_key");
        if (const json* input = member(object, "input")) order.input = engine::wire::json_text(*input);
    } else if (member(object, "approve") != nullptr) {
        order.kind = RunOrder::Kind::approve;
        order.run = text_of(object, "approve");
        order.step = text_of(object, "step");
        order.approved = flag_of(object, "approved", true);
    } else if (member(object, "rewrite") != nullptr) {
        order.kind = RunOrder::Kind::rewrite;
        order.run = text_of(object, "rewrite");
    } else if (member(object, "retry") != nullptr) {
        order.kind = RunOrder::Kind::retry;
        order.run = text_of(object, "retry");
    } else {
        order.kind = RunOrder::Kind::cancel;
        order.run = text_of(object, "cancel");
        order.reason = text_of(object, "reason", "cancelled by an operator");
    }
    return order;
}

/// A comparison written as a number or as text.
Expected expected_of(const json& value) {
    if (value.is_string()) return parse_comparison(value.get_ref<const std::string&>()).value_or(Expected{});
    return {.value = value.get<double>(), .text = engine::wire::json_text(value)};
}

EventExpectation read_event(const json& object) {
    EventExpectation expectation;
    expectation.filter = read_trigger(object);
    expectation.outcome = text_of(object, "outcome");
    expectation.trace = text_of(object, "trace");
    if (member(object, "in_any") != nullptr) expectation.in_any = duration_of(object, "in_any");
    expectation.fields = labels_of(object, "fields");
    if (const json* before = member(object, "before_event")) expectation.before_event = read_trigger(*before);
    expectation.in_state = text_of(object, "in_state");
    const json* count = member(object, "count");
    expectation.count = count == nullptr ? *parse_comparison(">= 1") : expected_of(*count);
    return expectation;
}

DeadLetterExpectation read_dead_letter(const json& object) {
    const json* count = member(object, "count");
    return {.job = text_of(object, "job"),
            .code = text_of(object, "code"),
            .reason = text_of(object, "reason"),
            .count = count == nullptr ? *parse_comparison(">= 1") : expected_of(*count)};
}

RedisExpectation read_redis(const json& object) {
    RedisExpectation expectation;
    expectation.key = text_of(object, "key");
    expectation.field = text_of(object, "field");
    expectation.member = text_of(object, "member");
    if (member(object, "value") != nullptr) expectation.value = text_of(object, "value");
    expectation.absent = flag_of(object, "absent", false);
    if (member(object, "at") != nullptr) expectation.at = duration_of(object, "at");
    return expectation;
}

void read_invariants(const json& value, Expectations& expect) {
    expect.invariants_given = true;
    expect.all_invariants = value.is_string();
    if (value.is_array()) {
        for (const json& one : value)
            if (one.is_string()) expect.invariants.push_back(one.get<std::string>());
    }
    if (!value.is_object()) return;
    expect.violated = texts_of(value, "violated");
    expect.all_but = texts_of(value, "all_but");
    expect.all_invariants = member(value, "all_but") != nullptr;
}

}  // namespace

Load read_load(const json& object, const std::string& pointer, std::vector<Finding>& findings) {
    Load load;
    load.at = duration_of(object, "at");
    if (member(object, "cancel") != nullptr) {
        load.kind = Load::Kind::cancel;
        load.job_id = text_of(object, "cancel");
    } else if (member(object, "approve") != nullptr) {
        load.kind = Load::Kind::approve;
        load.job_id = text_of(object, "approve");
    } else if (member(object, "garbage") != nullptr) {
        load.kind = Load::Kind::garbage;
    } else if (const json* packet = member(object, "forge")) {
        load.kind = Load::Kind::forge;
        load.packet_json = engine::wire::json_text(*packet);
        load.subject = text_of(object, "subject");
        const auto parsed = engine::wire::from_json<cap::BusPacket>(load.packet_json);
        if (!parsed &&
            !refuse_unknown_fields(*packet, *cap::BusPacket::descriptor(), child(pointer, "forge"), findings))
            findings.push_back(
                {child(pointer, "forge"), fmt::format("expected a CAP BusPacket: {}", parsed.error().detail), false});
    } else if (member(object, "raw") != nullptr) {
        load.kind = Load::Kind::forge;
        load.raw = text_of(object, "raw");
        load.subject = text_of(object, "subject");
    } else if (member(object, "redis") != nullptr) {
        load.kind = Load::Kind::redis;
        load.command = texts_of(object, "redis");
    } else if (const json* workflow = member(object, "workflow")) {
        load.kind = Load::Kind::workflow;
        load.order = read_order(*workflow);
    } else {
        read_job(object, pointer, load, findings);
    }
    load.count = int_of(object, "count", 1);
    load.payload_bytes = int_of(object, load.kind == Load::Kind::garbage ? "garbage" : "payload_bytes", 0);
    load.per_second = parse_rate(text_of(object, "rate")).value_or(0);
    return load;
}

Expectations read_expectations(const json& object, const std::string& pointer, std::vector<Finding>& findings) {
    Expectations expect;
    expect.pointer = pointer;
    if (const json* invariants = member(object, "invariants")) read_invariants(*invariants, expect);
    if (const json* states = member(object, "states")) {
        for (const auto& [state, value] : states->items()) expect.states.emplace(state, expected_of(value));
    }
    expect.jobs = labels_of(object, "jobs");
    if (const json* states = member(object, "run_states")) {
        for (const auto& [status, value] : states->items()) expect.run_states.emplace(status, expected_of(value));
    }
    expect.runs = labels_of(object, "runs");
    if (const json* runs = member(object, "steps")) {
        for (const auto& [run, steps] : runs->items()) expect.steps.emplace(run, labels_of(*runs, run));
    }
    if (const json* metrics = member(object, "metrics")) {
        for (const auto& [name, value] : metrics->items()) {
            auto parsed = parse_metric_name(name);
            if (!parsed) {
                findings.push_back({child(child(pointer, "metrics"), name), parsed.error(), false});
                continue;
            }
            const Expected expected = expected_of(value);
            expect.metrics.push_back({parsed->metric, parsed->labels, parsed->statistic, expected, name});
        }
    }
    if (const json* measures = member(object, "measures")) {
        for (const auto& [name, value] : measures->items()) expect.measures.push_back({name, expected_of(value)});
    }
    if (const json* events = member(object, "events")) {
        for (const json& event : *events)
            if (event.is_object()) expect.events.push_back(read_event(event));
    }
    if (const json* letters = member(object, "dead_letters")) {
        for (const json& letter : *letters)
            if (letter.is_object()) expect.dead_letters.push_back(read_dead_letter(letter));
    }
    if (const json* values = member(object, "redis")) {
        for (const json& value : *values)
            if (value.is_object()) expect.redis.push_back(read_redis(value));
    }
    expect.sometimes = texts_of(object, "sometimes");
    return expect;
}

Proof read_proof(const json& object, const std::string& pointer, std::vector<Finding>& findings) {
    Proof proof;
    proof.without = text_of(object, "without");
    proof.violated = texts_of(object, "violated");
    if (const json* expect = member(object, "expect"))
        proof.expect = read_expectations(*expect, child(pointer, "expect"), findings);
    return proof;
}

}  // namespace detail

}  // namespace lockstep::sim
