#include "sim/mutants/active.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mutants.h"

namespace lockstep::mutants {

namespace {

int read_active() {
    // Not from main: by then scripts have been made.
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    if (words.size() < 3 || words[1] != "--mutant") return 0;
    const auto* found = std::ranges::find(kNames, words[2]);
    return found == kNames.end() ? 0 : static_cast<int>(found - kNames.begin()) + 1;
}

}  // namespace

int active() {
    static const int kNumber = read_active();
    return kNumber;
}

std::string_view script(std::string_view text) {
    constexpr std::string_view kPlace = "$MUTANT(";
    auto* made = new std::string;  // the constant that views it is never destroyed either
    while (true) {
        const std::size_t place = text.find(kPlace);
        made->append(text.substr(0, place));
        if (place == std::string_view::npos) return *made;
        text.remove_prefix(place + kPlace.size());
        int number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        text.remove_prefix(text.find(')') + 1);
        made->append(number == active() ? "true" : "false");
    }
}

}  // namespace lockstep::mutants
