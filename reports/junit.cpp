#include "reports/junit.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "reports/text.h"

namespace lockstep::reports {

namespace {

void set(pugi::xml_node node, const char* name, const std::string& value) {
    node.append_attribute(name) = printable(value).c_str();
}

std::string seconds(std::int64_t millis) { return fmt::format("{}.{:03}", millis / 1000, millis % 1000); }

struct Totals {
    int tests = 0;
    int failures = 0;
    int errors = 0;
    std::int64_t wall_ms = 0;

    void add(const Totals& other) {
        tests += other.tests;
        failures += other.failures;
        errors += other.errors;
        wall_ms += other.wall_ms;
    }
    void write(pugi::xml_node node) const {
        node.append_attribute("tests") = tests;
        node.append_attribute("failures") = failures;
        node.append_attribute("errors") = errors;
        set(node, "time", seconds(wall_ms));
    }
};

void add_problem(pugi::xml_node test, const char* kind, const std::string& type, const std::string& message,
                 const std::string& text) {
    pugi::xml_node node = test.append_child(kind);
    set(node, "type", type);
    set(node, "message", message);
    node.text().set(printable(text).c_str());
}

std::string replay_line(const RunRecord& record) {
    return record.replay.empty() ? "" : "\nreplay: " + record.replay + "\n";
}

void add_violation(pugi::xml_node test, const RunRecord& record, const Violation& violation) {
    std::string text = fmt::format("{} at {} s of virtual time: {}\n", violation.invariant, seconds(violation.at_ms),
                                   violation.detail);
    if (!violation.node.empty()) text += fmt::format("node: {}\n", violation.node);
    if (!violation.job.empty()) text += fmt::format("job: {}\n", violation.job);
    if (!violation.paragraph.empty()) text += fmt::format("documented: {}\n", violation.paragraph);
    for (const std::string& line : violation.story) text += line + "\n";
    add_problem(test, "failure", violation.invariant, violation.detail, text + replay_line(record));
}

Totals add_case(pugi::xml_node suite, const RunRecord& record, const std::string& build) {
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "classname", record.name);
    set(test, "name", fmt::format("seed {}", record.seed));
    set(test, "file", record.file);
    set(test, "time", seconds(record.wall_ms));
    pugi::xml_node properties = test.append_child("properties");
    const auto property = [&](const char* name, const std::string& value) {
        pugi::xml_node node = properties.append_child("property");
        set(node, "name", name);
        set(node, "value", value);
    };
    property("seed", fmt::format("{}", record.seed));
    property("digest", digest_text(record.digest));
    property("virtual_ms", fmt::format("{}", record.virtual_ms));
    property("events", fmt::format("{}", record.events));
    if (!build.empty()) property("build", build);

    Totals totals{1, 0, 0, record.wall_ms};
    if (!record.error.empty()) {
        totals.errors = 1;
        add_problem(test, "error", record.crashed ? "crash" : "harness", record.error,
                    record.error + replay_line(record));
    } else if (!record.passed) {
        // A counterexample that stayed whole has neither violations nor failed expectations of its own.
        totals.failures = 1;
        for (const Violation& violation : record.violations) add_violation(test, record, violation);
        for (const ExpectationOutcome& outcome : record.expectations) {
            if (outcome.held) continue;
            const std::string message = missed_text(outcome);
            add_problem(test, "failure", "expectation", message, message + replay_line(record));
        }
        if (!test.child("failure")) add_problem(test, "failure", "run", "the run did not pass", replay_line(record));
    }
    return totals;
}

Totals add_vacuous(pugi::xml_node root, const RunReport& report, bool allowed) {
    pugi::xml_node suite = root.append_child("testsuite");
    set(suite, "name", "what the runs left unproved");
    Totals totals;
    for (const std::string& sentence : report.vacuous) {
        pugi::xml_node test = suite.append_child("testcase");
        set(test, "classname", "unproved");
        set(test, "name", sentence);
        totals.add({1, allowed ? 0 : 1, 0, 0});
        if (!allowed) add_problem(test, "failure", "vacuous", sentence, sentence);
    }
    totals.write(suite);
    return totals;
}

Totals add_incomplete(pugi::xml_node root, const RunReport& report) {
    pugi::xml_node suite = root.append_child("testsuite");
    set(suite, "name", "whether all of it was done");
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "classname", "lockstep");
    set(test, "name", "every run was made");
    add_problem(test, "error", "incomplete", report.incomplete, report.incomplete);
    const Totals totals{1, 0, 1, 0};
    totals.write(suite);
    return totals;
}

std::string text_of(const pugi::xml_node& node) {
    std::ostringstream out;
    node.print(out, "  ");
    return out.str();
}

}  // namespace

std::string junit_opening() { return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockstep\">\n"; }

std::string junit_suite(const RunRecord& record) {
    pugi::xml_document document;
    pugi::xml_node suite = document.append_child("testsuite");
    set(suite, "name", record.name);
    set(suite, "file", record.file);
    add_case(suite, record, {}).write(suite);
    return text_of(suite);
}

std::string junit_xml(const RunReport& report, bool vacuous_allowed) {
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    declaration.append_attribute("version") = "1.0";
    declaration.append_attribute("encoding") = "UTF-8";
    pugi::xml_node root = document.append_child("testsuites");
    set(root, "name", "lockstep");

    Totals all;
    for (std::size_t i = 0; i < report.results.size();) {
        const std::string& file = report.results[i].file;
        pugi::xml_node suite = root.append_child("testsuite");
        set(suite, "name", report.results[i].name);
        set(suite, "file", file);
        Totals totals;
        for (; i < report.results.size() && report.results[i].file == file; ++i)
            totals.add(add_case(suite, report.results[i], report.build));
        totals.write(suite);
        all.add(totals);
    }
    if (!report.incomplete.empty()) all.add(add_incomplete(root, report));
    if (!report.vacuous.empty()) all.add(add_vacuous(root, report, vacuous_allowed));
    all.write(root);

    std::ostringstream out;
    document.save(out, "  ");
    return out.str();
}

}  // namespace lockstep::reports
