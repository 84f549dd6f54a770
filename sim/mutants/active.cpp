#include "sim/mutants/active.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "mutants.h"
#include "sim/mutants/script.h"

namespace lockstep::mutants {

namespace {

/// What stands behind this option, if the command line begins with it; not from main: by then scripts have been made.
std::string first_option(std::string_view option) {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words.size() < 3 || words[1] != option ? std::string() : words[2];
}

std::vector<std::string> names() {
    std::vector<std::string> split;
    std::stringstream list(first_option("--mutant"));
    for (std::string name; std::getline(list, name, ',');) split.push_back(name);
    return split;
}

std::vector<int> read_active() {
    std::vector<int> on;
    for (const std::string& name : names()) {
        const auto* found = std::ranges::find(kKnown, name, &Known::name);
        if (found != kKnown.end()) on.push_back(found->number);
    }
    return on;
}

/// Filled before main only.
std::set<int>& registered() {
    static std::set<int> numbers;
    return numbers;
}

struct Reached {
    std::mutex mutex;
    std::set<int> numbers;
};

Reached& reached() {
    static Reached kept;
    return kept;
}

}  // namespace

const std::vector<int>& active() {
    static const std::vector<int> kOn = read_active();
    return kOn;
}

Registration::Registration(std::initializer_list<int> numbers) { registered().insert(numbers); }

std::string refusal() {
    const std::vector<std::string> wanted = names();
    if (wanted.empty()) return "--mutant needs a name; sim/mutants/apply.py --list --all prints them";
    for (const std::string& name : wanted) {
        const auto* found = std::ranges::find(kKnown, name, &Known::name);
        if (found == kKnown.end())
            return "there is no mutant '" + name + "'; sim/mutants/apply.py --list --all prints the names";
        if (!registered().contains(found->number))
            return "the mutant " + name +
                   " is in no source or script of this program; build it anew: cmake --build --preset mutants";
    }
    return "";
}

bool noting() {
    static const bool kNoting = !first_option("--reached").empty();
    return kNoting;
}

void note_reached(int number) {
    const std::lock_guard lock(reached().mutex);
    reached().numbers.insert(number);
}

bool write_reached() {
    std::ofstream file(first_option("--reached"));
    for (const Known& known : kKnown)
        if (reached().numbers.contains(known.number)) file << known.name << '\n';
    return static_cast<bool>(file.flush());
}

std::string_view script(std::initializer_list<Piece> pieces) {
    auto* made = new std::string;  // the constant that views it is never destroyed either
    for (const Piece& piece : pieces) {
        if (piece.mutant != 0) registered().insert(piece.mutant);
        *made += std::ranges::find(active(), piece.mutant) != active().end() ? piece.mutated : piece.original;
    }
    return *made;
}

}  // namespace lockstep::mutants
