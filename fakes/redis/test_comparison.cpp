#include "fakes/redis/test_comparison.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace lockstep::fakes::redis {

namespace {

using engine::RedisCommand;

/// So long before a key expires no command is sent any more; more than a command takes.
constexpr std::int64_t kGuardMs = 3;
constexpr std::int64_t kTookMsMax = 200;

engine::WallTime real_now() {
    return engine::WallTime(
        std::chrono::duration_cast<engine::Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

std::int64_t real_now_ms() { return engine::to_unix_micros(real_now()) / 1000; }

/// The command that decides about the order of a reply: a script that runs its arguments stands for them.
RedisCommand effective(const RedisCommand& command) {
    RedisCommand inner = command_in_script(command);
    return inner.empty() ? command : inner;
}

/// The elements of an unordered reply in a canonical order, `width` at a time.
RedisValue sorted(const RedisValue& reply, std::size_t width) {
    if (reply.array() == nullptr || reply.array()->size() % width != 0) return reply;
    std::vector<RedisValue::Array> groups;
    for (std::size_t i = 0; i < reply.array()->size(); i += width) {
        groups.emplace_back(reply.array()->begin() + static_cast<std::ptrdiff_t>(i),
                            reply.array()->begin() + static_cast<std::ptrdiff_t>(i + width));
    }
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return printable(a.front()) < printable(b.front()); });
    RedisValue::Array all;
    for (auto& group : groups) std::move(group.begin(), group.end(), std::back_inserter(all));
    return all;
}

/// A script hands on what HGETALL gave it, whose order is the server's choice once a value is long: in each array of
/// texts within the reply, fields and values are put in order.
RedisValue with_sorted_fields(const RedisValue& reply) {
    RedisValue::Array all;
    for (const RedisValue& element : *reply.array()) {
        const bool texts =
            element.array() != nullptr &&
            std::ranges::all_of(*element.array(), [](const RedisValue& text) { return text.bulk() != nullptr; });
        all.push_back(texts ? sorted(element, 2) : element);
    }
    return all;
}

RedisValue normalised(const RedisCommand& command, const RedisValue& reply) {
    if (reply.array() == nullptr) return reply;
    if (same_word(command[0], "HGETALL")) return sorted(reply, 2);
    if (same_word(command[0], "SMEMBERS") || same_word(command[0], "KEYS")) return sorted(reply, 1);
    if (same_word(command[0], "SCAN")) return sorted(reply.at(1), 1);
    return reply;
}

/// The number at a place, as far as its digits go.
std::string_view digits_at(std::string_view text, std::size_t place) {
    std::size_t end = place;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    return text.substr(place, end - place);
}

bool same_but_for_the_clock(std::string_view a, std::string_view b, std::int64_t apart_ms) {
    constexpr std::size_t kDigitsOfMillis = 13;
    constexpr std::size_t kDigitsOfMicros = 16;
    constexpr std::size_t kDigitsOfSpan = 3;  // of a time that has passed or is left, in an integer reply
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size();) {
        const std::string_view in_a = digits_at(a, i);
        const std::string_view in_b = digits_at(b, i);
        const bool span = in_a.size() >= kDigitsOfSpan && i > 0 && a[i - 1] == ':';
        const bool time = span || in_a.size() == kDigitsOfMillis || in_a.size() == kDigitsOfMicros;
        if (time && in_a.size() == in_b.size() && in_a != in_b) {
            const std::int64_t unit = in_a.size() == kDigitsOfMicros ? 1000 : 1;
            if (std::abs(*parse_integer(in_a) - *parse_integer(in_b)) > apart_ms * unit) return false;
            i += in_a.size();
            continue;
        }
        const std::size_t length = std::max<std::size_t>(in_a.size(), 1);
        if (a.substr(i, length) != b.substr(i, length)) return false;
        i += length;
    }
    return true;
}

/// A reply that is what TIME says; empty for any other.
std::optional<std::int64_t> micros_of_time(const RedisValue& reply) {
    constexpr std::size_t kDigitsOfSeconds = 10;
    if (reply.array() == nullptr || reply.array()->size() != 2) return std::nullopt;
    const auto seconds = parse_integer(reply.at(0).text());
    const auto micros = parse_integer(reply.at(1).text());
    if (!seconds || !micros || reply.at(0).text().size() != kDigitsOfSeconds) return std::nullopt;
    return *seconds * 1'000'000 + *micros;
}

RedisCommand at_instants(RedisCommand command) {
    constexpr std::string_view kNow = "now+";
    for (std::string& word : command) {
        if (word.starts_with(kNow)) word = std::to_string(real_now_ms() + std::stoll(word.substr(kNow.size())));
    }
    return command;
}

const char* type_of(const RedisValue& reply) {
    if (reply.integer() != nullptr) return "integer";
    if (reply.bulk() != nullptr) return "bulk string";
    if (reply.status() != nullptr) return "status";
    if (reply.error() != nullptr) return "error";
    return reply.array() != nullptr ? "array" : "nil";
}

}  // namespace

Comparison::Comparison(int port, Compared& compared, Timestamps timestamps)
    : compared_(compared), timestamps_(timestamps) {
    for (auto& connection : real_) connection = std::make_unique<RealConnection>(port);
    for (auto& session : fake_) session = std::make_unique<Session>(database_.watches(), NodeId{0});
    real_[0]->run({"CONFIG", "SET", "maxmemory", "0"});
    real_[0]->run({"FLUSHALL"});
    real_[0]->run({"SCRIPT", "FLUSH"});
}

void Comparison::take(const Step& step) {
    switch (step.kind) {
        case Step::Kind::memory_full: return set_memory_full(true);
        case Step::Kind::memory_free: return set_memory_full(false);
        case Step::Kind::wait: {
            const auto next = database_.keyspace().next_expiry();
            if (next && *next < real_now_ms() + kTookMsMax) wait_until_expired(*next);
            return;
        }
        case Step::Kind::command: run(step.connection, at_instants(step.command));
    }
}

void Comparison::run(std::size_t connection, RedisCommand command) {
    auto next = database_.keyspace().next_expiry();
    while (next && *next <= real_now_ms() + kGuardMs) {
        wait_until_expired(*next);
        next = database_.keyspace().next_expiry();
    }
    const std::vector<std::string_view> args(command.begin(), command.end());
    if (same_word(args[0], "SCRIPT") && args.size() == 3 && args[2].find("HGETALL") != std::string_view::npos)
        hand_on_hashes_.insert(ScriptEngine::sha1_hex(args[2]));
    const engine::WallTime before = real_now();
    const RedisValue real = real_[connection]->run(command);
    const std::int64_t after_ms = real_now_ms();
    if (next && *next <= after_ms + 1) throw NotCalm{};
    took_ms_ = after_ms - engine::to_unix_micros(before) / 1000;
    took_ms_longest_ = std::max(took_ms_longest_, took_ms_);
    if (took_ms_longest_ > kTookMsMax) throw NotCalm{};

    const RedisValue fake = database_.execute(*fake_[connection], args, before);
    story_ += "  " + std::to_string(connection) + ": " + printable(command) + "\n";
    const bool executes = same_word(command[0], "EXEC");
    const bool same = executes && real.array() != nullptr && fake.array() != nullptr
                          ? agree_in_transaction(connection, fake, real)
                          : agree(command, fake, real);
    if (!same) {
        throw Difference("after\n" + story_ + "  simulated: " + printable(fake) + "\n  real:      " + printable(real));
    }
    count(command, real);
    if (same_word(args[0], "SCAN") && args[1] == "0" && real.array() != nullptr) compare_scans(command, fake, real);
    const bool was_queued = real.status() != nullptr && real.status()->text == "QUEUED";
    if (was_queued) queued_[connection].push_back(std::move(command));
    if (executes || same_word(args[0], "DISCARD")) queued_[connection].clear();
}

void Comparison::compare_scans(RedisCommand command, const RedisValue& fake, const RedisValue& real) {
    // From page to page, and each by its own cursors.
    const auto all = [&command](RedisValue page, const auto& run) {
        std::set<std::string> found;
        while (true) {
            for (const RedisValue& key : *page.at(1).array()) found.emplace(key.text());
            if (page.at(0).text() == "0") return found;
            command[1] = std::string(page.at(0).text());
            page = run(command);
        }
    };
    constexpr std::size_t kLooks = kConnections - 1;
    const auto in_fake = all(fake, [this](const RedisCommand& words) {
        return database_.execute(*fake_[kLooks], std::vector<std::string_view>(words.begin(), words.end()), real_now());
    });
    const auto in_real = all(real, [this](const RedisCommand& words) { return real_[kLooks]->run(words); });
    if (in_fake != in_real) throw Difference("after\n" + story_ + "  the scans found different keys");
}

bool Comparison::agree_in_transaction(std::size_t connection, const RedisValue& fake, const RedisValue& real) {
    const std::vector<RedisCommand>& queued = queued_[connection];
    if (real.array()->size() != queued.size() || fake.array()->size() != queued.size()) return false;
    for (std::size_t i = 0; i < queued.size(); ++i) {
        if (!agree(queued[i], fake.at(i), real.at(i))) return false;
        count(queued[i], real.at(i));
        const std::vector<std::string_view> args(queued[i].begin(), queued[i].end());
        compared_.commands.count(find_command(Args(args))->name, Compared::kInTransactions);
    }
    return true;
}

bool Comparison::agree(const RedisCommand& given, const RedisValue& fake, const RedisValue& real) const {
    const RedisCommand command = effective(given);
    if (same_word(command[0], "TIME") && fake.array() != nullptr) return real.array() != nullptr;
    if (same_word(command[0], "INFO") && fake.bulk() != nullptr) return real.bulk() != nullptr;
    const bool numbers = fake.integer() != nullptr && real.integer() != nullptr;
    if (numbers && same_word(command[0], "DBSIZE")) return *fake.integer() <= *real.integer();
    const bool seconds = same_word(command[0], "TTL");
    if (numbers && *fake.integer() > 0 && (seconds || same_word(command[0], "PTTL"))) {
        // Seconds are rounded to the nearest, which may tip over.
        const std::int64_t unit = seconds ? 1000 : 1;
        const std::int64_t early = (took_ms_ + 1 + unit - 1) / unit;
        const std::int64_t late = (took_ms_longest_ + 1 + unit - 1) / unit;
        return *real.integer() >= *fake.integer() - early && *real.integer() <= *fake.integer() + late;
    }
    // What a page of SCAN holds is the server's choice; only a scan that needs one page can be compared here.
    const bool scans = same_word(command[0], "SCAN") && fake.array() != nullptr && real.array() != nullptr;
    if (scans && (fake.at(0).text() != "0" || real.at(0).text() != "0")) return true;
    const bool hands_on = same_word(command[0], "EVALSHA") && hand_on_hashes_.contains(command[1]) &&
                          fake.array() != nullptr && real.array() != nullptr;
    const auto text_of = [&](const RedisValue& reply) {
        return printable(hands_on ? with_sorted_fields(reply) : normalised(command, reply));
    };
    const std::string fake_text = text_of(fake);
    const std::string real_text = text_of(real);
    if (timestamps_ == Timestamps::none) return fake_text == real_text;
    if (const auto in_fake = micros_of_time(fake)) {
        const auto in_real = micros_of_time(real);
        return in_real && std::abs(*in_fake - *in_real) <= (took_ms_longest_ + 1) * 1000;
    }
    return same_but_for_the_clock(fake_text, real_text, took_ms_longest_ + 1);
}

void Comparison::count(const RedisCommand& command, const RedisValue& reply) {
    const auto named = [](const RedisCommand& words) {
        const std::vector<std::string_view> args(words.begin(), words.end());
        const Command* known = find_command(Args(args));
        return known != nullptr ? known->name : std::string_view("(unknown)");
    };
    compared_.types.count(type_of(reply), 0);
    compared_.commands.count(named(command), reply.error() != nullptr ? Compared::kErrors : Compared::kReplies);
    if (const auto* error = reply.error()) {
        const auto kind = kind_of_error(error->text);
        compared_.errors.count(kind ? error_texts()[static_cast<std::size_t>(*kind)].name : "(a script's own)", 0);
        if (kind == ErrorKind::no_script) return;
    }
    const RedisCommand inner = command_in_script(command);
    if (!inner.empty()) compared_.commands.count(named(inner), Compared::kInScripts);
}

void Comparison::wait_until_expired(std::int64_t expiry_ms) {
    // The real server's expiry may lie later by what a command took; a key is gone in the millisecond after.
    const std::int64_t until = expiry_ms + took_ms_longest_ + 2;
    while (real_now_ms() <= until) std::this_thread::sleep_for(std::chrono::microseconds(200));
    const std::size_t before = database_.keyspace().size();
    database_.expire_due(real_now());
    compared_.expired += before - database_.keyspace().size();
}

void Comparison::set_memory_full(bool full) {
    story_ += full ? "  memory full\n" : "  memory free\n";
    real_[kConnections - 1]->run({"CONFIG", "SET", "maxmemory", full ? "1" : "0"});
    database_.set_out_of_memory(full);
}

void Comparison::compare_keyspaces() {
    ++compared_.keyspaces;
    constexpr std::size_t kLooks = kConnections - 1;
    run(kLooks, {"KEYS", "*"});
    std::vector<std::string> names;
    for (const std::string_view key : database_.keyspace().keys()) names.emplace_back(key);
    for (const std::string& key : names) {
        const auto* held = database_.keyspace().find(key);
        if (held == nullptr) continue;  // expired meanwhile
        const std::string_view type = type_name(held->second.value);
        run(kLooks, {"TYPE", key});
        run(kLooks, {"PTTL", key});
        if (type == "string") run(kLooks, {"GET", key});
        if (type == "hash") run(kLooks, {"HGETALL", key});
        if (type == "list") run(kLooks, {"LRANGE", key, "0", "-1"});
        if (type == "set") run(kLooks, {"SMEMBERS", key});
        if (type == "zset") run(kLooks, {"ZRANGE", key, "0", "-1", "WITHSCORES"});
    }
}

}  // namespace lockstep::fakes::redis
