#include "fakes/engine_test/store_fixture.h"

#include <algorithm>

#include "engine/store/keys.h"

namespace lockstep::fakes::engine_test {

namespace {

std::string printed(const RedisValue& value) {
    if (const auto* elements = value.array()) {
        std::string text;
        for (const RedisValue& element : *elements) text += printed(element) + "\n";
        return text;
    }
    if (const auto* number = value.integer()) return std::to_string(*number);
    return std::string(value.text());
}

}  // namespace

cap::JobRequest StoreTest::request_for(const std::string& job, const std::string& tenant) {
    cap::JobRequest request;
    request.set_job_id(job);
    request.set_topic("job.default");
    request.set_tenant_id(tenant);
    return request;
}

JobFacts StoreTest::take_up(JobLease& lease, const cap::JobRequest& request, const std::string& trace) {
    const auto taken = loop.wait(store->take_up(lease, request, trace));
    if (!taken.applied()) throw std::runtime_error("take_up: " + taken.failure().detail);
    if (!taken.value()) throw std::runtime_error("take_up: busy");
    return *taken.value();
}

StoreTest::Lease StoreTest::taken_up(const std::string& job, const std::string& token) {
    auto lease = lease_for(job, token);
    take_up(*lease, request_for(job));
    return lease;
}

bool StoreTest::busy(JobLease& lease, const cap::JobRequest& request) {
    const auto taken = loop.wait(store->take_up(lease, request, {}));
    return taken.applied() && !taken.value();
}

Committed StoreTest::commit(JobLease& lease, Commit what) {
    const auto committed = loop.wait(store->commit(lease, std::move(what)));
    if (!committed.applied()) throw std::runtime_error("commit: " + committed.failure().detail);
    return committed.value();
}

Committed StoreTest::walk(JobLease& lease, std::vector<JobState> states) {
    Commit step;
    step.walk = std::move(states);
    return commit(lease, std::move(step));
}

void StoreTest::force_state(const std::string& job, std::string_view state) {
    for (int i = 0; i < engine::kJobStateCount; ++i)
        run({"ZREM", engine::keys::state_index(static_cast<JobState>(i)), job});
    if (state.empty()) {
        run({"HDEL", "job:meta:" + job, "state"});
        run({"DEL", "job:state:" + job});
        return;
    }
    run({"HSET", "job:meta:" + job, "state", std::string(state)});
    run({"SET", "job:state:" + job, std::string(state)});
    run({"ZADD", engine::keys::state_index(*engine::parse_job_state(state)), field(job, "updated_at"), job});
}

void StoreTest::make_older(const std::string& job, JobState state, Duration by) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(by).count();
    run({"HINCRBY", "job:meta:" + job, "updated_at", std::to_string(-micros)});
    run({"ZINCRBY", engine::keys::state_index(state), std::to_string(-micros), job});
}

StoreTest::Texts StoreTest::texts(const RedisCommand& command) {
    Texts list;
    const RedisValue reply = run(command);
    if (const auto* elements = reply.array()) {
        for (const RedisValue& element : *elements) list.push_back(printed(element));
    }
    return list;
}

std::map<std::string, std::string> StoreTest::hash(const std::string& key) {
    const Texts list = texts({"HGETALL", key});
    std::map<std::string, std::string> fields;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) fields.emplace(list[i], list[i + 1]);
    return fields;
}

StoreTest::Texts StoreTest::history(const std::string& job) {
    Texts states;
    for (const std::string& event : texts({"LRANGE", "job:events:" + job, "0", "-1"}))
        states.push_back(event.substr(event.find('|') + 1));
    return states;
}

StoreTest::Texts StoreTest::listed(const std::string& job) {
    Texts states;
    for (int i = 0; i < engine::kJobStateCount; ++i) {
        const auto state = static_cast<JobState>(i);
        if (!run({"ZSCORE", engine::keys::state_index(state), job}).is_nil()) states.emplace_back(to_string(state));
    }
    return states;
}

std::int64_t StoreTest::server_micros() {
    const Texts time = texts({"TIME"});
    return std::stoll(time.at(0)) * 1'000'000 + std::stoll(time.at(1));
}

std::map<std::string, std::string> StoreTest::content() {
    std::map<std::string, std::string> all;
    for (const std::string& key : texts({"KEYS", "*"})) {
        const std::string type = text({"TYPE", key});
        if (type == "string") all[key] = text({"GET", key});
        if (type == "list") all[key] = printed(run({"LRANGE", key, "0", "-1"}));
        if (type == "zset") all[key] = printed(run({"ZRANGE", key, "0", "-1", "WITHSCORES"}));
        if (type == "set") {
            auto members = texts({"SMEMBERS", key});
            std::ranges::sort(members);
            for (const auto& member : members) all[key] += member + "\n";
        }
        if (type == "hash") {
            for (const auto& [name, value] : hash(key)) all[key] += name + "=" + value + "\n";
        }
    }
    return all;
}

}  // namespace lockstep::fakes::engine_test
