#include "prod/ordeal/store_reader.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "engine/wire/json_text.h"
#include "prod/ordeal/messages.h"

namespace lockstep::prod::ordeal {

namespace {

constexpr std::array<std::string_view, 7> kResting{
    "succeeded", "failed", "cancelled", "timeout", "denied", "output_quarantined", "approval_required"};

constexpr std::chrono::seconds kLoadPatience{60};

timeval as_timeval(std::chrono::milliseconds span) {
    return {static_cast<time_t>(span.count() / 1000), static_cast<suseconds_t>(span.count() % 1000 * 1000)};
}

std::string text_of(const redisReply* reply) {
    return reply != nullptr && reply->type == REDIS_REPLY_STRING ? std::string(reply->str, reply->len) : std::string();
}

/// "1700000000000000|DISPATCHED"
std::optional<StateChange> parse_change(std::string_view text) {
    std::int64_t micros = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
    if (error != std::errc{} || end == text.data() + text.size() || *end != '|') return std::nullopt;
    return StateChange{std::string(end + 1, text.data() + text.size()), Moment(Span(micros))};
}

std::string fault_of_request(const std::string& request_json, const std::string& job, std::size_t size) {
    const auto request = engine::wire::read_json(request_json);
    if (!request.is_object()) return "the stored request is no JSON";
    const auto content = nlohmann::json::json_pointer(std::string("/env/") + kContentVariable);
    if (!request.contains(content) || !request[content].is_string()) return "the stored request has no content";
    return fault_of_content(request[content].get_ref<const std::string&>(), job, size);
}

}  // namespace

void StoreReader::FreeReply::operator()(redisReply* reply) const { freeReplyObject(reply); }

StoreReader::StoreReader(PrimaryPort port, std::chrono::milliseconds patience)
    : port_(std::move(port)), patience_(patience) {}

StoreReader::~StoreReader() {
    if (context_ != nullptr) redisFree(context_);
}

bool StoreReader::connected() {
    if (context_ != nullptr && context_->err == 0) return true;
    if (context_ != nullptr) redisFree(context_);
    context_ = redisConnectWithTimeout("127.0.0.1", port_(), as_timeval(patience_));
    if (context_ == nullptr || context_->err != 0) return false;
    redisSetTimeout(context_, as_timeval(patience_));
    return true;
}

StoreReader::Reply StoreReader::ask(const std::vector<std::string>& words) {
    if (!connected()) return nullptr;
    std::vector<const char*> pointers;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
        pointers.push_back(word.data());
        sizes.push_back(word.size());
    }
    return Reply(static_cast<redisReply*>(
        redisCommandArgv(context_, static_cast<int>(words.size()), pointers.data(), sizes.data())));
}

StoreReader::Reply StoreReader::must(const std::vector<std::string>& words) {
    const auto give_up = std::chrono::steady_clock::now() + kLoadPatience;
    while (true) {
        Reply reply = ask(words);
        if (reply != nullptr && reply->type != REDIS_REPLY_ERROR) return reply;
        const std::string why = reply != nullptr ? std::string(reply->str, reply->len) : "no reply";
        // One that has just been started again reads its file first, and says so or hangs up.
        if (std::chrono::steady_clock::now() > give_up)
            throw std::runtime_error(fmt::format("Redis does not answer {} {}: {}", words[0], words[1], why));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

std::optional<long> StoreReader::resting_jobs() {
    long count = 0;
    for (const std::string_view state : kResting) {
        const Reply reply = ask({"ZCARD", fmt::format("job:index:{}", state)});
        if (reply == nullptr || reply->type != REDIS_REPLY_INTEGER) return std::nullopt;
        count += static_cast<long>(reply->integer);
    }
    return count;
}

std::optional<std::uint64_t> StoreReader::unfinished_jobs(const std::string& tenant) {
    const Reply reply = ask({"SCARD", "job:tenant:active:" + tenant});
    if (reply == nullptr || reply->type != REDIS_REPLY_INTEGER) return std::nullopt;
    return static_cast<std::uint64_t>(reply->integer);
}

std::vector<std::string> StoreReader::keys(const std::string& glob, std::size_t most) {
    std::vector<std::string> found;
    std::string cursor = "0";
    do {
        const Reply page = must({"SCAN", cursor, "MATCH", glob, "COUNT", "2000"});
        cursor = text_of(page->element[0]);
        const redisReply* list = page->element[1];
        for (std::size_t i = 0; i < list->elements && found.size() < most; ++i)
            found.push_back(text_of(list->element[i]));
    } while (cursor != "0" && found.size() < most);
    return found;
}

int StoreReader::count(const std::string& glob) { return static_cast<int>(keys(glob, 1'000'000).size()); }

std::string StoreReader::state_of(const std::string& job) {
    return text_of(must({"HGET", "job:meta:" + job, "state"}).get());
}

std::vector<LeftMark> StoreReader::marks_in_flight(Span life, std::size_t most) {
    constexpr long long kGone = -2;
    constexpr long long kEndless = -1;
    std::vector<LeftMark> marks;
    for (std::string& key : keys("cordum:bus:inflight:*", most)) {
        const auto left = must({"PTTL", key})->integer;
        if (left == kGone) continue;
        const auto set = now() - life + std::chrono::milliseconds(left);
        marks.push_back({std::move(key), left == kEndless ? std::nullopt : std::optional<Moment>(set)});
    }
    return marks;
}

JobEnd StoreReader::end_of(const std::string& job, std::size_t content_size) {
    JobEnd end;
    const Reply fields = must({"HMGET", "job:meta:" + job, "state", "failure_reason", "worker_id"});
    end.state = text_of(fields->element[0]);
    end.reason = text_of(fields->element[1]);
    end.worker = text_of(fields->element[2]);
    const Reply history = must({"LRANGE", "job:events:" + job, "0", "-1"});
    for (std::size_t i = 0; i < history->elements; ++i) {
        if (auto change = parse_change(text_of(history->element[i]))) end.history.push_back(std::move(*change));
    }
    const Reply letter = must({"GET", "dlq:entry:" + job});
    end.dead_letter = letter->type != REDIS_REPLY_NIL;
    const auto document = engine::wire::read_json(text_of(letter.get()));
    if (document.is_object()) end.letter_code = document.value("reason_code", "");
    // A job that was never taken up has no request, and no end either.
    const Reply request = must({"GET", "job:req:" + job});
    if (request->type != REDIS_REPLY_NIL)
        end.content_fault = fault_of_request(text_of(request.get()), job, content_size);
    return end;
}

}  // namespace lockstep::prod::ordeal
