#include "prod/rehearsal/recording.h"

#include <charconv>

namespace lockstep::prod::rehearsal {

namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Takes what stands before `end` off the front, and `end` with it.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
    const auto at = text.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const auto taken = text.substr(0, at);
    text.remove_prefix(at + end.size());
    return taken;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/// The character after a backslash; consumes what belongs to it.
std::optional<char> unescaped(std::string_view& text) {
    const char c = text.front();
    text.remove_prefix(1);
    switch (c) {
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        case 'a': return '\a';
        case 'b': return '\b';
        case 'x': {
            if (text.size() < 2 || hex_digit(text[0]) < 0 || hex_digit(text[1]) < 0) return std::nullopt;
            const int value = hex_digit(text[0]) * 16 + hex_digit(text[1]);
            text.remove_prefix(2);
            return static_cast<char>(value);
        }
        default: return c;
    }
}

/// A word in quotes, as Redis writes it; `text` stands behind the opening quote.
std::optional<std::string> quoted_word(std::string_view& text) {
    std::string word;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c == '"') return word;
        if (c != '\\') {
            word += c;
            continue;
        }
        if (text.empty()) return std::nullopt;
        const auto plain = unescaped(text);
        if (!plain) return std::nullopt;
        word += *plain;
    }
    return std::nullopt;
}

}  // namespace

std::optional<MonitorLine> parse_monitor_line(std::string_view line) {
    MonitorLine parsed;
    std::int64_t seconds = 0;
    std::int64_t micros = 0;
    const auto whole = take_until(line, ".");
    const auto fraction = take_until(line, " [");
    const auto database = take_until(line, " ");
    const auto client = take_until(line, "]");
    if (!whole || !fraction || !database || !client) return std::nullopt;
    if (!read_number(*whole, seconds) || !read_number(*fraction, micros) || fraction->size() != 6) return std::nullopt;
    parsed.at_us = seconds * 1'000'000 + micros;
    parsed.client = *client;
    while (line.starts_with(" \"")) {
        line.remove_prefix(2);
        auto word = quoted_word(line);
        if (!word) return std::nullopt;
        parsed.words.push_back(std::move(*word));
    }
    if (!line.empty() || parsed.words.empty()) return std::nullopt;
    return parsed;
}

std::optional<DeliveredMessage> parse_ack_subject(std::string_view subject) {
    constexpr std::string_view kPrefix = "$JS.ACK.";
    if (!subject.starts_with(kPrefix)) return std::nullopt;
    subject.remove_prefix(kPrefix.size());
    std::vector<std::string_view> tokens;
    while (const auto token = take_until(subject, ".")) tokens.push_back(*token);
    tokens.push_back(subject);
    // Servers from 2.10 on may put domain and account in front: <domain>.<account>.<stream>.<consumer>.<deliveries>...
    const std::size_t first = tokens.size() >= 9 ? 2 : 0;
    if (tokens.size() < first + 7) return std::nullopt;
    DeliveredMessage delivered{std::string(tokens[first]), std::string(tokens[first + 1]), 0, 0};
    if (!read_number(tokens[first + 2], delivered.deliveries) || !read_number(tokens[first + 3], delivered.sequence))
        return std::nullopt;
    return delivered;
}

std::int64_t time_of_execution(std::string_view line) {
    std::int64_t micros = 0;
    if (!take_until(line, " ")) return 0;
    const auto time = take_until(line, " ");
    return time && read_number(*time, micros) ? micros : 0;
}

}  // namespace lockstep::prod::rehearsal
