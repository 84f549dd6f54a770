// Which cell a tenant's jobs go to. Decisions only.
//
// 1. A tenant that the file names goes to the cell that it names. Every other one goes to the shared cell of the highest weight, where
//    the weight is the first 16 hexadecimal digits of the SHA-256 of `<cell>/<tenant>` (rendezvous hashing).
// 2. So the order of cells means nothing, every process comes to the same answer, and one more cell takes from each of the others what
//    is now its own: 1 of n tenants in all. One that goes gives its own to the others. No other tenant moves.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::prod {

class CellMap {
public:
    /// `shared` are the cells for tenants that are not named. REQUIRES: one at least.
    CellMap(std::vector<std::string> shared, std::map<std::string, std::string, std::less<>> named);

    /// The result lives as long as the map.
    [[nodiscard]] const std::string& cell_of(std::string_view tenant) const;

    /// All that the answers depend on: equal texts mean equal answers.
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::string> shared_;  // in the order of their names
    std::map<std::string, std::string, std::less<>> named_;
};

}  // namespace lockstep::prod
