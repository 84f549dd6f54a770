#include "reports/compare/comparison_junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "reports/compare/words.h"
#include "reports/text.h"

namespace lockstep::reports {

namespace {

/// Suites of cases, with the counts that readers expect.
class Suites {
public:
    Suites() {
        pugi::xml_node declaration = document_.append_child(pugi::node_declaration);
        declaration.append_attribute("version") = "1.0";
        declaration.append_attribute("encoding") = "UTF-8";
        root_ = document_.append_child("testsuites");
        root_.append_attribute("name") = "lockstep compare";
    }
    void suite(const std::string& name) {
        suite_ = root_.append_child("testsuite");
        attribute(suite_, "name", name);
        for (const char* count : {"tests", "failures", "errors"}) suite_.append_attribute(count) = 0;
    }
    void passed(const std::string& name) { (void)add(name); }
    void failure(const std::string& name, const char* type, const std::string& text) {
        problem(name, "failure", type, text);
    }
    void error(const std::string& name, const char* type, const std::string& text) {
        problem(name, "error", type, text);
    }
    [[nodiscard]] std::string text() {
        for (const char* count : {"tests", "failures", "errors"}) {
            int sum = 0;
            for (const pugi::xml_node suite : root_.children("testsuite")) sum += suite.attribute(count).as_int();
            root_.append_attribute(count) = sum;
        }
        std::ostringstream out;
        document_.save(out, "  ");
        return out.str();
    }

private:
    static void attribute(pugi::xml_node node, const char* name, const std::string& value) {
        node.append_attribute(name) = printable(value).c_str();
    }
    void count(const char* what) { suite_.attribute(what) = suite_.attribute(what).as_int() + 1; }
    pugi::xml_node add(const std::string& name) {
        pugi::xml_node test = suite_.append_child("testcase");
        test.append_attribute("classname") = suite_.attribute("name").value();
        attribute(test, "name", name);
        count("tests");
        return test;
    }
    void problem(const std::string& name, const char* kind, const char* type, const std::string& text) {
        pugi::xml_node node = add(name).append_child(kind);
        node.append_attribute("type") = type;
        attribute(node, "message", text);
        node.text().set(printable(text).c_str());
        count(kind == std::string_view("failure") ? "failures" : "errors");
    }

    pugi::xml_document document_;
    pugi::xml_node root_;
    pugi::xml_node suite_;
};

void add_limits(Suites& suites, const Comparison& comparison, const Standing& standing) {
    for (const auto& [measure, limit] : comparison.criteria.limits) {
        const std::string name = fmt::format("{} at most {} worse", measure, percent_text(limit));
        const auto broken = standing.broken.find(measure);
        const auto unshown = standing.unshown.find(measure);
        if (std::ranges::find(comparison.measures, measure, &Measure::name) == comparison.measures.end())
            suites.error(name, "limit",
                         fmt::format("there is no measure {}: take the limit out or correct its name", measure));
        else if (broken != standing.broken.end())
            suites.failure(name, "limit", "breaks the limit on " + broken->second);
        else if (unshown != standing.unshown.end())
            suites.failure(name, "unsettled", "not shown to keep the limit on " + unshown->second + ": run more seeds");
        else
            suites.passed(name);
    }
}

}  // namespace

std::string comparison_junit(const Comparison& comparison, const Analysis& analysis) {
    Suites suites;
    if (!comparison.complete) {
        suites.suite("the comparison");
        suites.error("every run was made", "interrupted", "the comparison was interrupted: some runs are missing");
    }
    for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) {
        const Standing& standing = analysis.standings[variant];
        suites.suite(comparison.variants[variant].name);
        const std::string name = "invariants and expectations hold";
        if (standing.runs == 0)
            suites.error(name, "interrupted", "the variant has no runs");
        else if (standing.failed > 0)
            suites.failure(
                name, "run",
                fmt::format("{} of {} failed: {}", standing.failed, counted(standing.runs, "run"), standing.problem));
        else
            suites.passed(name);
        if (variant > 0) add_limits(suites, comparison, standing);
    }
    return suites.text();
}

std::string gate_junit(const GateResult& result) {
    Suites suites;
    if (result.outcome == GateOutcome::unlike) {
        suites.suite("the baseline");
        suites.error("the baseline can be compared", "unlike", result.problem);
        return suites.text();
    }
    const std::string* variant = nullptr;
    for (const GateLine& line : result.lines) {
        if (variant == nullptr || *variant != line.variant) suites.suite(line.variant);
        variant = &line.variant;
        if (line.outcome == GateOutcome::held)
            suites.passed(line.measure);
        else
            suites.failure(line.measure, line.outcome == GateOutcome::worse ? "worse" : "unsettled", line.text);
    }
    return suites.text();
}

}  // namespace lockstep::reports
