#include "fakes/redis/resp.h"

#include <charconv>

namespace lockstep::fakes::redis {

namespace {

constexpr std::size_t kLineMax = 24;  // of a number

void append_number(std::string& out, char kind, std::int64_t number) {
    char line[kLineMax];
    line[0] = kind;
    char* end = std::to_chars(line + 1, line + sizeof line - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(line, static_cast<std::size_t>(end - line));
}

void append_line(std::string& out, char kind, std::string_view text) {
    out += kind;
    out += text;
    out += "\r\n";
}

void append_bulk(std::string& out, std::string_view text) {
    append_number(out, '$', static_cast<std::int64_t>(text.size()));
    out += text;
    out += "\r\n";
}

template <class Words>
void append_command(std::string& out, const Words& words) {
    std::size_t size = out.size() + kLineMax;
    for (const auto& word : words) size += word.size() + kLineMax;
    // Of what grows command by command no more than it would have by itself.
    if (out.empty()) out.reserve(size);
    append_number(out, '*', static_cast<std::int64_t>(words.size()));
    for (const auto& word : words) append_bulk(out, word);
}

}  // namespace

void append_resp(std::string& out, const engine::RedisValue& reply) {
    if (const auto* text = reply.bulk()) {
        append_bulk(out, *text);
    } else if (const auto* number = reply.integer()) {
        append_number(out, ':', *number);
    } else if (const auto* status = reply.status()) {
        append_line(out, '+', status->text);
    } else if (const auto* error = reply.error()) {
        append_line(out, '-', error->text);
    } else if (const auto* elements = reply.array()) {
        append_number(out, '*', static_cast<std::int64_t>(elements->size()));
        for (const auto& element : *elements) append_resp(out, element);
    } else {
        out += "$-1\r\n";
    }
}

void append_resp(std::string& out, std::span<const std::string_view> command) { append_command(out, command); }

void append_resp(std::string& out, const engine::RedisCommand& command) { append_command(out, command); }

}  // namespace lockstep::fakes::redis
