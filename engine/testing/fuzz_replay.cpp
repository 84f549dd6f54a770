// Runs a fuzz target without libFuzzer: every file of a corpus; of each that is JSON every variant with one value replaced by one of a
// list of hostile ones; and then mutations, drawn from a fixed seed. The same arguments do the same on every machine.
//
//   engine_fuzz TARGET CORPUS [RUNS [SEED]]    RUNS mutations, 0 for the corpus alone
//   engine_fuzz TARGET FILE                    that input
//
// An input that ends the program is left behind as fuzz-TARGET.input, where it was started.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "engine/testing/fuzz_target.h"
#include "engine/wire/json_text.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace {

constexpr std::size_t kInputMax = 4096;

std::string current;        // the input that is being run
std::string path_of_crash;  // where it goes should the program end

void keep_input() {
    const int file = open(path_of_crash.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return;
    (void)!write(file, current.data(), current.size());
    close(file);
}

void keep_input_and_die(int number) {
    keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

/// SplitMix64: whatever the platform, the same numbers.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

private:
    std::uint64_t state_;
};

std::string slurp(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::vector<std::string> read_corpus(const std::filesystem::path& path) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::is_regular_file(path)) files.push_back(path);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    std::vector<std::string> inputs;
    for (const auto& file : files) inputs.push_back(slurp(file));
    return inputs;
}

/// Words of the corpus, and what parsers of text and of numbers stumble over.
std::vector<std::string> words_of(const std::vector<std::string>& corpus) {
    std::vector<std::string> words{"\"",
                                   "{",
                                   "}",
                                   "[",
                                   "]",
                                   ":",
                                   ",",
                                   "\\",
                                   "\r\n",
                                   "-1",
                                   "0",
                                   "$",
                                   "*",
                                   "?",
                                   "1e9999",
                                   "null",
                                   "true",
                                   "\xff",
                                   "\xc0\x80",
                                   "18446744073709551616",
                                   "9223372036854775807",
                                   std::string(1, '\0')};
    for (const std::string& input : corpus) {
        std::string word;
        for (const char c : input + " ") {
            if ((std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_' || c == '.') {
                word += c;
                continue;
            }
            if (word.size() > 1 && word.size() < 40) words.push_back(word);
            word.clear();
        }
    }
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    return words;
}

void mutate(std::string& input, const std::vector<std::string>& corpus, const std::vector<std::string>& words,
            Draw& draw) {
    const std::size_t at = draw.below(input.size() + 1);
    const std::size_t length = std::min(input.size() - at, 1 + draw.below(16));
    switch (draw.below(7)) {
        case 0:
            if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1U << draw.below(8)));
            break;
        case 1:
            if (at < input.size()) input[at] = static_cast<char>(draw.below(256));
            break;
        case 2: input.erase(at, length); break;
        case 3: input.insert(at, input.substr(at, length)); break;
        case 4: input.insert(at, words[draw.below(words.size())]); break;
        case 5: {
            const std::string& other = corpus[draw.below(corpus.size())];
            input = input.substr(0, at) + other.substr(draw.below(other.size() + 1));
            break;
        }
        default: {
            // Deep nesting and long runs of one thing.
            const std::string word = words[draw.below(words.size())];
            std::string run;
            for (std::size_t i = draw.below(200); i > 0; --i) run += word;
            input.insert(at, run);
            break;
        }
    }
    if (input.size() > kInputMax) input.resize(kInputMax);
}

/// In place of a value of a document: the ends of the numbers, texts that are no names, no times and no UTF-8, and other kinds of value.
std::vector<std::string> hostile_values() {
    std::vector<std::string> values{"null",
                                    "true",
                                    "0",
                                    "-1",
                                    "0.5",
                                    "-0.0",
                                    "1e308",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "1e9999",
                                    "[]",
                                    "{}",
                                    "[null]",
                                    "[[1]]",
                                    R"({"":0})",
                                    R"([{"a":[]},"a"])"};
    for (const char* text : {"",
                             " ",
                             "\\u0000",
                             "\\n",
                             "\xff",
                             "\xed\xa0\x80",
                             "\\ud800",
                             "-5s",
                             "99999999999h",
                             "87600h87600h",
                             "9223372036854775807",
                             "18446744073709551616",
                             "NaN",
                             "1e999",
                             "0001-01-01T00:00:00Z",
                             "9999-12-31T23:59:59.999999999Z",
                             "${",
                             "../..",
                             "*",
                             "a.>"})
        values.push_back('"' + std::string(text) + '"');
    values.push_back('"' + std::string(70'000, 'x') + '"');
    values.push_back(std::string(2'000, '[') + std::string(2'000, ']'));
    return values;
}

/// Every value of the document, itself and those inside others.
void add_places(const nlohmann::json& value, const nlohmann::json::json_pointer& at,
                std::vector<nlohmann::json::json_pointer>& places) {
    places.push_back(at);
    if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i) add_places(value[i], at / i, places);
    if (value.is_object())
        for (const auto& [key, member] : value.items()) add_places(member, at / key, places);
}

/// The document with each hostile value in each place; nothing for what is no JSON.
std::vector<std::string> spoilt(const std::string& input) {
    static constexpr const char* kMark = "\"the place of a hostile value\"";
    const auto document = lockstep::engine::wire::read_json(input);
    if (!document.is_structured()) return {};
    std::vector<nlohmann::json::json_pointer> places;
    add_places(document, nlohmann::json::json_pointer(), places);
    std::vector<std::string> variants;
    for (const auto& place : places) {
        auto variant = document;
        variant[place] = lockstep::engine::wire::sound_json(kMark);
        const std::string text = lockstep::engine::wire::json_text(variant);
        const std::size_t at = text.find(kMark);
        for (const std::string& value : hostile_values())
            variants.push_back(text.substr(0, at) + value + text.substr(at + std::string_view(kMark).size()));
    }
    return variants;
}

int usage() {
    std::fprintf(stderr, "usage: TARGET CORPUS [RUNS [SEED]]; targets:");
    for (const auto& target : lockstep::fuzz::targets())
        std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
    std::fprintf(stderr, "\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return usage();
    const std::string_view name = argv[1];
    const auto all = lockstep::fuzz::targets();
    const auto target = std::ranges::find(all, name, &lockstep::fuzz::Target::name);
    if (target == all.end()) return usage();
    const auto corpus = read_corpus(argv[2]);
    if (corpus.empty()) {
        std::fprintf(stderr, "there is no input in %s\n", argv[2]);
        return 2;
    }
    path_of_crash = "fuzz-" + std::string(name) + ".input";
    for (const int number : {SIGABRT, SIGSEGV, SIGALRM}) signal(number, keep_input_and_die);
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(keep_input);
    const auto run = [&target](std::string input) {
        constexpr unsigned kHangSeconds = 30;
        current = std::move(input);
        alarm(kHangSeconds);
        target->run(current);
    };
    std::size_t variants = 0;
    for (const std::string& input : corpus) {
        run(input);
        for (std::string& variant : spoilt(input)) {
            run(std::move(variant));
            ++variants;
        }
    }
    const long runs = argc > 3 ? std::atol(argv[3]) : 0;
    Draw draw(argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
    const auto words = words_of(corpus);
    for (long i = 0; i < runs; ++i) {
        std::string input = corpus[draw.below(corpus.size())];
        for (std::size_t edits = 1 + draw.below(6); edits > 0; --edits) mutate(input, corpus, words, draw);
        run(std::move(input));
    }
    std::printf("%s: %zu inputs of the corpus, %zu with a hostile value and %ld mutations\n", argv[1], corpus.size(),
                variants, runs);
    return 0;
}
