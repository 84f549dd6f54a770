#include "sim/search/request_themes.h"

#include <array>
#include <string>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// A field of a request and a value that the rules allow, as JSON.
struct RequestField {
    const char* pointer;
    const char* value;
};

// Every field that a request may have and no theme is about.
constexpr std::array kFields{
    RequestField{"/priority", "\"JOB_PRIORITY_CRITICAL\""},
    RequestField{"/priority", "\"JOB_PRIORITY_BATCH\""},
    RequestField{"/adapter_id", "\"adapter\""},
    RequestField{"/parent_job_id", "\"job-0\""},
    RequestField{"/step_index", "2147483647"},
    RequestField{"/memory_id", "\"mem:1\""},
    RequestField{"/principal_id", "\"ann\""},
    RequestField{"/context_ptr", "\"s3://elsewhere/input\""},
    RequestField{"/context_ptr", "\"redis://ctx:nowhere\""},
    RequestField{"/context_ptr", "\"ctx:nowhere\""},
    RequestField{"/env/tenant_id", "\" default \""},
    RequestField{"/env/step_id", "\"pay\""},
    RequestField{"/env/team_id", "\"ops\""},
    RequestField{"/env/MODE", "\"do\""},
    RequestField{"/labels/stage", "\"do\""},
    RequestField{"/context_hints/max_input_tokens", "1000"},
    RequestField{"/context_hints/allow_summarization", "true"},
    RequestField{"/context_hints/allow_retrieval", "true"},
    RequestField{"/context_hints/tags", "[\"a\", \"b\"]"},
    RequestField{"/budget/max_input_tokens", "1000000"},
    RequestField{"/budget/max_output_tokens", "1"},
    RequestField{"/budget/max_total_tokens", "1000"},
    RequestField{"/meta/tenant_id", "\"default\""},
    RequestField{"/meta/actor_id", "\"bob\""},
    RequestField{"/meta/actor_type", "\"ACTOR_TYPE_HUMAN\""},
    RequestField{"/meta/capability", "\"write\""},
    RequestField{"/meta/risk_tags", "[\"private\", \"money\"]"},
    RequestField{"/meta/requires", "[\" \", \"\"]"},
    RequestField{"/meta/pack_id", "\"pack\""},
    RequestField{"/meta/labels/colour", "\"green\""},
    RequestField{"/meta/idempotency_key", "\"of-nobody-else\""},
};

// The same of what undoes a job; some names are those that the job has, with other values.
constexpr std::array kCompensationFields{
    RequestField{"/context_ptr", "\"s3://elsewhere/undo\""},
    RequestField{"/priority", "\"JOB_PRIORITY_CRITICAL\""},
    RequestField{"/adapter_id", "\"adapter\""},
    RequestField{"/env/UNDO", "\"1\""},
    RequestField{"/env/MODE", "\"undo\""},
    RequestField{"/env/team_id", "\"undoers\""},
    RequestField{"/memory_id", "\"mem:2\""},
    RequestField{"/context_hints/max_input_tokens", "7"},
    RequestField{"/context_hints/allow_summarization", "true"},
    RequestField{"/context_hints/allow_retrieval", "true"},
    RequestField{"/context_hints/tags", "[\"undo\"]"},
    RequestField{"/budget/max_input_tokens", "10"},
    RequestField{"/budget/max_output_tokens", "10"},
    RequestField{"/budget/max_total_tokens", "20"},
    RequestField{"/budget/deadline_ms", "120000"},
    RequestField{"/tenant_id", "\"another\""},
    RequestField{"/principal_id", "\"carl\""},
    RequestField{"/labels/undoes", "\"it\""},
    RequestField{"/labels/stage", "\"undo\""},
    RequestField{"/meta/tenant_id", "\"another\""},
    RequestField{"/meta/actor_id", "\"carl\""},
    RequestField{"/meta/actor_type", "\"ACTOR_TYPE_SERVICE\""},
    RequestField{"/meta/idempotency_key", "\"undo\""},
    RequestField{"/meta/capability", "\"undo\""},
    RequestField{"/meta/risk_tags", "[\"private\"]"},
    RequestField{"/meta/requires", "[\"\"]"},
    RequestField{"/meta/pack_id", "\"pack\""},
    RequestField{"/meta/labels/undoes", "\"it\""},
    RequestField{"/meta/labels/colour", "\"red\""},
};

void add_field(const RequestField& field, Document& message) {
    const Document::json_pointer at(field.pointer);
    // Of two tenants the request would be invalid.
    if (at.back() == "tenant_id" && message.contains("tenant_id")) return;
    if (!message.contains(at)) message[at] = engine::wire::sound_ordered_json(field.value);
}

// Each just outside of what the rules allow, or just within.
constexpr std::array kBorderline{
    RequestField{"/step_index", "-1"},
    RequestField{"/step_index", "0"},
    RequestField{"/priority", "99"},
    RequestField{"/budget/deadline_ms", "-1"},
    RequestField{"/budget/max_total_tokens", "-1"},
    RequestField{"/budget/max_input_tokens", "10000000001"},
    RequestField{"/topic", "\"\""},
    RequestField{"/topic", "\" job.default \""},
    RequestField{"/job_id", "\" \""},
};

/// As many labels, tags or requirements as are allowed, or one more.
void crowd(Dice& dice, Document& job) {
    const int count = 1000 + dice.between(0, 1);
    const bool labels = dice.chance(0.5);
    for (int i = 0; i < count; ++i) {
        if (labels)
            job["labels"][fmt::format("label-{}", i)] = "x";
        else
            job["meta"]["risk_tags"].push_back(fmt::format("tag-{}", i));
    }
}

/// A stranger's request. What is refused leaves nothing that anybody could wait for.
void add_borderline(Dice& dice, Document& scenario, int number) {
    Document job = {{"job_id", fmt::format("border-{}", number)}, {"topic", "job.default"}, {"tenant_id", "t"}};
    if (dice.chance(0.2)) {
        crowd(dice, job);
    } else {
        const RequestField& field = dice.one_of(kBorderline);
        job[Document::json_pointer(field.pointer)] = engine::wire::sound_ordered_json(field.value);
    }
    add_load(scenario, {{"at", dice.seconds(2, 40)}, {"forge", {{"job_request", std::move(job)}}}});
}

/// The same id again, with another content: while the first is under way, or after its end.
void add_namesakes(Dice& dice, Document& scenario, int number) {
    Document job = {{"job_id", fmt::format("twin-{}", number)}, {"topic", "job.default"}, {"tenant_id", "t"}};
    add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", job}});
    job["env"]["ANOTHER"] = "content";
    if (dice.chance(0.4)) job["labels"]["needs"] = dice.word({"nothing", "a human", "few"});
    if (dice.chance(0.3)) job["tenant_id"] = "u";
    if (dice.chance(0.3)) job["budget"]["deadline_ms"] = "5000";
    const std::string at = dice.seconds(2, 60);
    if (dice.chance(0.5))
        add_load(scenario, {{"at", at}, {"job", std::move(job)}});
    else
        add_load(scenario, {{"at", at}, {"forge", {{"job_request", std::move(job)}}}});
}

}  // namespace

void embellish(Dice& dice, Document& job) {
    for (int i = dice.between(1, 3); i > 0; --i) add_field(dice.one_of(kFields), job);
    if (job.contains("compensation")) embellish_compensation(dice, job["compensation"]);
}

void embellish_compensation(Dice& dice, Document& compensation) {
    for (int i = dice.between(2, 6); i > 0; --i) add_field(dice.one_of(kCompensationFields), compensation);
}

void odd_requests(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    for (int i = dice.between(1, 6); i > 0; --i) add_borderline(dice, scenario, i);
    for (int i = dice.between(0, 3); i > 0; --i) add_namesakes(dice, scenario, i);
    if (dice.chance(0.5)) {
        for (int i = dice.between(2, 3); i > 0; --i) {
            const Document job = {{"job_id", fmt::format("once-{}", i)}, {"meta", {{"idempotency_key", "once"}}}};
            add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", job}});
        }
    }
    for (int i = dice.between(1, 4); i > 0; --i) {
        Document job = {{"job_id", fmt::format("rich-{}", i)}, {"topic", "job.default"}};
        embellish(dice, job);
        add_load(scenario, {{"at", dice.seconds(2, 40)}, {"job", std::move(job)}});
    }
    // What a gateway stored without a look at it is taken up from there all the same.
    if (dice.chance(0.3)) {
        Document job = {{"job_id", "stored-as-it-came"}, {"step_index", -1}};
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", std::move(job)}});
    }
}

void deadlines(Dice& dice, Document& scenario) {
    const int work = dice.one_of(std::array{200, 1000, 5000, 20'000});
    config(scenario)["reconciler_interval"] = dice.word({"1s", "5s", "10s"});
    scenario["cluster"]["kernel"]["policy"]["rules"].push_back(
        {{"id", "short"},
         {"match", {{"labels", {{"needs", "haste"}}}}},
         {"decision", "allow_with_constraints"},
         {"constraints", {{"budgets", {{"max_runtime_ms", work + dice.between(-150, 3000)}}}}}});
    for (int i = dice.between(2, 10); i > 0; --i) {
        Document job = {{"job_id", fmt::format("due-{}", i)}, {"env", {{"SIM_SERVICE_MS", std::to_string(work)}}}};
        if (dice.chance(0.7))
            job["budget"]["deadline_ms"] = std::to_string(std::max(1, work + dice.between(-300, 8000)));
        if (dice.chance(0.5)) job["labels"]["needs"] = "haste";
        if (dice.chance(0.2)) job["labels"]["needs"] = "a human";
        const std::string id = job["job_id"];
        const bool asks = job["labels"].is_object() && job["labels"]["needs"] == "a human";
        if (!job["labels"].is_object()) job.erase("labels");
        const int at = dice.between(2, 20);
        add_load(scenario, {{"at", fmt::format("{}s", at)}, {"job", std::move(job)}});
        if (asks) add_load(scenario, {{"at", fmt::format("{}s", at + dice.between(1, 30))}, {"approve", id}});
        if (dice.chance(0.2))
            add_load(scenario,
                     {{"at", fmt::format("{}ms", (1000 * at) + work + dice.between(-100, 500))}, {"cancel", id}});
    }
    if (dice.chance(0.4)) scenario["cluster"]["workers"][0]["listens_to_cancel"] = true;
    // The job ends by its deadline while it is on its way to its worker.
    if (dice.chance(0.4))
        add_fault(scenario, {{"on",
                              {{"event", "publish"},
                               {"subject", "worker.*.jobs"},
                               {"when", "before"},
                               {"nth", dice.on_every_scale(8)}}},
                             {"do", "pause"},
                             {"target", "actor"},
                             {"for", fmt::format("{}ms", work + dice.between(1000, 12'000))}});
    if (dice.chance(0.4))
        add_fault(scenario, {{"on", {{"event", "state"}, {"to", "RUNNING"}, {"job", "due-1"}}},
                             {"do", "pause"},
                             {"target", "schedulers"},
                             {"for", fmt::format("{}ms", work + dice.between(0, 5000))}});
}

void own_limits(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    open_travel_agency(cluster);
    config(scenario)["reconciler_interval"] = dice.word({"1s", "5s", "10s"});
    Document& timeouts = cluster["timeouts"];
    if (dice.chance(0.7)) timeouts["topics"]["job.default"]["timeout"] = dice.seconds(1, 25);
    if (dice.chance(0.4)) timeouts["topics"]["job.default"]["dispatch_timeout"] = dice.seconds(1, 20);
    if (dice.chance(0.3)) timeouts["topics"]["job.book"]["timeout_seconds"] = dice.between(1, 10);
    if (dice.chance(0.3)) timeouts["topics"]["job.book"]["dispatch_timeout_seconds"] = dice.between(1, 10);
    if (dice.chance(0.4)) timeouts["topics"]["job.default"]["max_retries"] = dice.between(1, 3);
    const bool exact = dice.chance(0.5);
    if (dice.chance(0.5)) {
        if (exact)
            timeouts["workflows"]["travel"]["child_timeout"] = dice.seconds(1, 10);
        else
            timeouts["workflows"]["travel"]["child_timeout_seconds"] = dice.between(1, 10);
    }
    if (dice.chance(0.6)) {
        if (exact)
            timeouts["workflows"]["travel"]["total_timeout"] = dice.seconds(2, 40);
        else
            timeouts["workflows"]["travel"]["total_timeout_seconds"] = dice.between(2, 40);
    }
    if (dice.chance(0.4)) timeouts["workflows"]["travel"]["max_retries"] = dice.between(1, 2);
    if (dice.chance(0.4)) {
        if (exact)
            timeouts["reconciler"] = {{"dispatch_timeout", dice.word({"0s", "20s", "1m"})},
                                      {"running_timeout", dice.word({"0s", "30s", "2m"})},
                                      {"scan_interval", dice.word({"0s", "3s", "20s"})}};
        else
            timeouts["reconciler"] = {{"dispatch_timeout_seconds", dice.between(0, 60)},
                                      {"running_timeout_seconds", dice.between(0, 120)},
                                      {"scan_interval_seconds", dice.between(0, 20)}};
    }
    if (timeouts.is_null()) cluster.erase("timeouts");
    for (int i = dice.between(2, 8); i > 0; --i) {
        Document job = {
            {"topic", dice.word({"job.default", "job.default", "job.book"})},
            {"env", {{"SIM_SERVICE_MS", std::to_string(dice.one_of(std::array{500, 3000, 9000, 20'000}))}}}};
        if (dice.chance(0.5)) job["workflow_id"] = "travel";
        if (dice.chance(0.3)) job["labels"]["run_id"] = "trip-1";
        if (dice.chance(0.3)) job["compensation"] = {{"topic", "job.undo"}};
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", std::move(job)}});
    }
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(2, 15)},
                             {"do", dice.word({"nats.drop_core", "nats.publish_errors"})},
                             {"subject", "worker.*.jobs"},
                             {"rate", 0.5},
                             {"for", "20s"}});
}

void called_again(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    for (int i = dice.between(3, 7); i > 0; --i) {
        const std::string id = fmt::format("again-{}", i);
        Document job = {{"job_id", id}, {"topic", "job.default"}, {"tenant_id", "default"}};
        job["env"]["SIM_OUTCOME"] =
            dice.word({"FAILED_RETRYABLE", "FAILED_RETRYABLE", "FAILED", "FAILED_FATAL", "SUCCEEDED"});
        const int at = dice.between(3, 12);
        if (dice.chance(0.4)) job["labels"]["needs"] = "nothing";
        // Its dead letter is lost before it is called again.
        const bool lost = dice.chance(0.5);
        if (lost)
            add_fault(scenario,
                      {{"at", fmt::format("{}s", at + 6)}, {"do", "redis.evict"}, {"keys", "dlq:entry:" + id}});
        add_load(scenario, {{"at", fmt::format("{}s", at)}, {"job", job}});
        for (int more = dice.between(1, 3); more > 0; --more)
            add_load(scenario, {{"at", fmt::format("{}s", at + dice.between(lost ? 7 : 1, 40))},
                                {"forge", {{"job_request", job}}}});
    }
}

}  // namespace lockstep::sim
