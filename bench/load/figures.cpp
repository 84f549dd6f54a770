#include "bench/load/figures.h"

#include <algorithm>
#include <cmath>

namespace lockstep::bench {

namespace {

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

void Figures::set(const std::string& path, double value) {
    const auto [place, is_new] = places_.emplace(path, figures_.size());
    if (is_new) figures_.emplace_back(path, value);
    figures_[place->second].second = value;
}

void Figures::add(const std::string& path, const Figures& others) {
    for (const auto& [below, value] : others.all()) set(path + "/" + below, value);
}

double Figures::at(std::string_view path) const {
    const auto place = places_.find(path);
    return place == places_.end() ? 0 : figures_[place->second].second;
}

Figures medians(const std::vector<Figures>& rounds) {
    Figures result;
    for (const Figures& round : rounds)
        for (const auto& [path, ignored] : round.all()) {
            if (result.contains(path)) continue;
            std::vector<double> values;
            values.reserve(rounds.size());
            for (const Figures& one : rounds) values.push_back(one.at(path));
            result.set(path, median(std::move(values)));
        }
    return result;
}

Figures ratios(const Figures& a, const Figures& b) {
    Figures result;
    for (const auto& [path, value] : a.all())
        if (value != 0 && b.contains(path)) result.set(path, b.at(path) / value);
    return result;
}

double quantile(const std::vector<double>& sorted, double q) {
    // Less a little, so that 0.9 * 10, which is not quite 9 in binary, has rank 9.
    const double rank = std::ceil(q * static_cast<double>(sorted.size()) - 1e-9);
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace lockstep::bench
