#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/wire/json_text.h"
#include "reports/compare/comparison_json.h"
#include "reports/compare/measure_direction.h"

namespace lockstep::reports {

namespace {

/// Says where in the document something is wrong, and what.
struct Misfit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A place in the document: a value and the JSON pointer to it.
class Place {
public:
    Place(const nlohmann::json& value, std::string pointer) : value_(value), pointer_(std::move(pointer)) {}

    [[nodiscard]] Place field(const char* name) const {
        if (!value_.is_object()) fail("expected an object");
        const auto found = value_.find(name);
        if (found == value_.end()) fail(fmt::format("\"{}\" is missing", name));
        return {*found, pointer_ + "/" + name};
    }
    [[nodiscard]] bool has(const char* name) const { return value_.is_object() && value_.contains(name); }
    template <class Visit>
    void each(Visit visit) const {
        if (!value_.is_array()) fail("expected a list");
        for (std::size_t i = 0; i < value_.size(); ++i) visit(Place(value_[i], fmt::format("{}/{}", pointer_, i)));
    }
    template <class Visit>
    void each_member(Visit visit) const {
        if (!value_.is_object()) fail("expected an object");
        for (const auto& [name, value] : value_.items()) visit(name, Place(value, pointer_ + "/" + name));
    }
    [[nodiscard]] std::string text() const {
        if (!value_.is_string()) fail("expected a text");
        return value_.get<std::string>();
    }
    [[nodiscard]] bool boolean() const {
        if (!value_.is_boolean()) fail("expected true or false");
        return value_.get<bool>();
    }
    [[nodiscard]] std::uint64_t count() const {
        if (!value_.is_number_unsigned()) fail("expected a whole number, 0 or more");
        return value_.get<std::uint64_t>();
    }
    [[nodiscard]] std::size_t index_below(std::size_t size, const char* what) const {
        const std::uint64_t index = count();
        if (index >= size) fail(fmt::format("there is no {} {}", what, index));
        return static_cast<std::size_t>(index);
    }
    /// null = none.
    [[nodiscard]] double number() const {
        if (value_.is_null()) return std::numeric_limits<double>::quiet_NaN();
        if (!value_.is_number()) fail("expected a number or null");
        return value_.get<double>();
    }
    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> out;
        each([&](const Place& item) { out.push_back(item.text()); });
        return out;
    }
    [[nodiscard]] std::vector<double> numbers() const {
        std::vector<double> out;
        each([&](const Place& item) { out.push_back(item.number()); });
        return out;
    }
    [[noreturn]] void fail(const std::string& problem) const {
        throw Misfit(fmt::format("{}: {}", pointer_.empty() ? "/" : pointer_, problem));
    }

private:
    const nlohmann::json& value_;
    std::string pointer_;
};

std::uint64_t digest_at(const Place& place) {
    const std::string text = place.text();
    std::uint64_t digest = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
    if (text.size() != 16 || error != std::errc() || end != text.data() + text.size())
        place.fail("expected 16 hexadecimal digits");
    return digest;
}

Measure measure_at(const Place& place) {
    const auto better = direction_named(place.field("better").text());
    if (!better) place.field("better").fail("expected \"lower\", \"higher\" or \"neither\"");
    // Documents of version 1.1 and before have no guards.
    const bool guard = place.has("guard") && place.field("guard").boolean();
    return {place.field("name").text(), place.field("unit").text(), *better, place.field("about").text(), guard};
}

ComparedVariant variant_at(const Place& place) {
    ComparedVariant out{place.field("name").text(), {}};
    place.field("settings").each_member([&](const std::string& name, const Place& value) {
        out.settings[name] = value.text();
    });
    return out;
}

ComparedRun run_at(const Place& place, const Comparison& comparison) {
    ComparedRun out{place.field("variant").index_below(comparison.variants.size(), "variant"),
                    place.field("scenario").index_below(comparison.scenarios.size(), "scenario"),
                    place.field("seed").count(),
                    digest_at(place.field("digest")),
                    place.field("passed").boolean(),
                    place.field("problem").text(),
                    place.field("values").numbers()};
    if (out.values.size() > comparison.measures.size())
        place.field("values").fail(fmt::format("more values than the {} measures", comparison.measures.size()));
    return out;
}

Distribution distribution_at(const Place& place, std::size_t variants) {
    Distribution out{place.field("variant").index_below(variants, "variant"),
                     place.field("measure").text(),
                     place.field("unit").text(),
                     place.field("samples").count(),
                     {}};
    place.field("points").each([&](const Place& point) {
        const std::vector<double> pair = point.numbers();
        if (pair.size() != 2) point.fail("expected a value and a share");
        out.points.emplace_back(pair[0], pair[1]);
    });
    return out;
}

Course course_at(const Place& place, std::size_t variants) {
    return {place.field("variant").index_below(variants, "variant"), place.field("step_ms").number(),
            place.field("backlog").numbers(), place.field("retries").numbers()};
}

Criteria criteria_at(const Place& place) {
    Criteria out{place.field("objectives").texts(), {}, place.field("threshold").number()};
    place.field("limits").each_member(
        [&](const std::string& name, const Place& limit) { out.limits[name] = limit.number(); });
    return out;
}

template <class T, class Read>
void fill(std::vector<T>& out, const Place& list, Read read) {
    list.each([&](const Place& item) { out.push_back(read(item)); });
}

Comparison comparison_at(const Place& root) {
    if (const std::uint64_t format = root.field("format").count(); format != kComparisonFormat)
        root.field("format").fail(
            fmt::format("format {} is not known, this program reads {}", format, kComparisonFormat));
    Comparison out;
    out.title = root.field("title").text();
    out.question = root.field("question").text();
    out.file = root.field("file").text();
    out.version = root.field("version").text();
    out.commit = root.field("commit").text();
    out.dirty = root.field("dirty").boolean();
    out.command = root.field("command").text();
    out.complete = root.field("complete").boolean();
    out.not_shared = root.field("not_shared").texts();
    fill(out.variants, root.field("variants"), variant_at);
    fill(out.scenarios, root.field("scenarios"), [](const Place& place) {
        return ComparedScenario{place.field("file").text(), place.field("name").text(), place.field("hash").text()};
    });
    fill(out.seeds, root.field("seeds"), [](const Place& place) { return place.count(); });
    fill(out.measures, root.field("measures"), measure_at);
    out.criteria = criteria_at(root.field("criteria"));
    fill(out.axes, root.field("axes"),
         [](const Place& place) { return std::pair(place.field("setting").text(), place.field("values").texts()); });
    fill(out.runs, root.field("runs"), [&](const Place& place) { return run_at(place, out); });
    fill(out.distributions, root.field("distributions"),
         [&](const Place& place) { return distribution_at(place, out.variants.size()); });
    fill(out.courses, root.field("courses"), [&](const Place& place) { return course_at(place, out.variants.size()); });
    fill(out.faults, root.field("faults"), [](const Place& place) {
        return FaultBand{place.field("kind").text(), place.field("from_ms").number(), place.field("to_ms").number()};
    });
    return out;
}

}  // namespace

tl::expected<Comparison, std::string> read_comparison(std::string_view text, std::string_view name) {
    constexpr std::string_view kWayOut = "expected what `lockstep compare --json` writes";
    try {
        const auto document = engine::wire::sound_json(text);
        return comparison_at(Place(document, ""));
    } catch (const nlohmann::json::exception& problem) {
        return tl::unexpected(fmt::format("{}: not a JSON document ({}); {}", name, problem.what(), kWayOut));
    } catch (const Misfit& problem) {
        return tl::unexpected(fmt::format("{}{}; {}", name, problem.what(), kWayOut));
    }
}

}  // namespace lockstep::reports
