// Numbers by name. A name is a path, such as closed_loop/cpu_us_per_job/scheduler, which is where the number stands in the JSON
// document and in the table; units stand at the end of a word of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::bench {

class Figures {
public:
    /// Behind those that are there; one that is there keeps its place.
    void set(const std::string& path, double value);
    /// All of `others`, below `path`.
    void add(const std::string& path, const Figures& others);
    /// Zero when there is none: what is counted by name and did not happen has no figure.
    [[nodiscard]] double at(std::string_view path) const;
    [[nodiscard]] bool contains(std::string_view path) const { return places_.contains(path); }
    [[nodiscard]] const std::vector<std::pair<std::string, double>>& all() const { return figures_; }

private:
    std::vector<std::pair<std::string, double>> figures_;
    std::map<std::string, std::size_t, std::less<>> places_;
};

/// Of each figure that any round has; of an even number of rounds the mean of the two in the middle.
[[nodiscard]] Figures medians(const std::vector<Figures>& rounds);
/// b / a, of each figure that both have and that is not zero in a.
[[nodiscard]] Figures ratios(const Figures& a, const Figures& b);

/// The value at rank ceil(q * n) of n values: one that occurred, not one between two. REQUIRES: values, sorted; 0 < q <= 1.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

}  // namespace lockstep::bench
