#include "sim/mutants/active.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mutants.h"
#include "sim/mutants/script.h"

namespace lockstep::mutants {

namespace {

int read_active() {
    // Not from main: by then scripts have been made.
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    if (words.size() < 3 || words[1] != "--mutant") return 0;
    const auto* found = std::ranges::find(kKnown, words[2], &Known::name);
    return found == kKnown.end() ? 0 : found->number;
}

}  // namespace

int active() {
    static const int kNumber = read_active();
    return kNumber;
}

std::string_view script(std::initializer_list<Piece> pieces) {
    auto* made = new std::string;  // the constant that views it is never destroyed either
    for (const Piece& piece : pieces)
        *made += piece.mutant != 0 && piece.mutant == active() ? piece.mutated : piece.original;
    return *made;
}

}  // namespace lockstep::mutants
