#include "sim/rules/planted_breaks.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "sim/rules/forged_world.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;
using World = ForgedWorld;

constexpr std::string_view kFailuresOfPolicy = "cordum:cb:safety:failures";

void reach_its_worker(World& world, const std::string& job) {
    world.commit_dispatch(job);
    world.send(job);
    world.arrive(job);
}

void run_to_success(World& world, const std::string& job) {
    world.move(job, "RUNNING");
    world.let_go(job);
    world.finish(job);
}

void from_taking_up_to_success(World& world, const std::string& job) {
    world.take_up(job);
    world.ask_policy(job, "ALLOW");
    reach_its_worker(world, job);
    run_to_success(world, job);
}

void speaks_another_version(World& world, bool broken) {
    if (broken) world.speak_version(2);
    world.serve("a");
}

void says_more_than_documented(World& world, bool broken) {
    world.set_field(World::kReplica, "lockstep:durable:d", broken ? "mood" : "leader", "good");
}

void arrives_twice(World& world, bool broken) {
    world.serve("a");
    if (broken) world.arrive("a");
}

void forgotten(World& world, bool broken) {
    world.submit("a");
    if (!broken) from_taking_up_to_success(world, "a");
}

void policy_not_asked(World& world, bool broken) {
    world.submit("a");
    world.take_up("a");
    if (!broken) world.ask_policy("a", "ALLOW");
    reach_its_worker(world, "a");
    run_to_success(world, "a");
}

void asked_of_another(World& world, bool broken) {
    world.submit("a");
    world.store_request("a");
    world.take_up("a");
    if (broken) world.label("a", "region", "eu");
    world.ask_policy("a", "DENY");
    world.move("a", "DENIED");
    world.bury("a", "safety_denied");
    world.let_go("a");
}

void withheld_in_silence(World& world, bool broken) {
    if (broken) world.leave_out_audits();
    world.serve("a");
    world.judge_output("a", "QUARANTINE");
    world.withhold("a");
    world.rest();
}

void state_not_read(World& world, bool broken) {
    world.submit("a");
    if (broken)
        world.fail_to_read("a");
    else
        world.take_up("a");
    world.ask_policy("a", "ALLOW");
    world.commit_dispatch("a");
    world.send("a");
    world.let_go("a");
    world.move("a", "TIMEOUT");
    world.call_off("a");
    world.bury("a", "timeout");
}

void goes_back(World& world, bool broken) {
    world.run("a");
    world.take_up("a");
    if (broken) world.move("a", "SCHEDULED");
    world.let_go("a");
    world.finish("a");
}

void second_end(World& world, bool broken) {
    world.serve("a");
    if (!broken) return;
    world.take_up("a");
    world.move("a", "FAILED");
    world.let_go("a");
    world.bury("a", "late");
}

void no_letter(World& world, bool broken) {
    world.run("a");
    world.report_failure("a");
    world.take_up("a");
    world.move("a", "FAILED");
    world.let_go("a");
    if (!broken) world.bury("a", "worker_failed");
}

void without_the_lock(World& world, bool broken) {
    world.submit("a");
    world.take_up("a");
    world.ask_policy("a", "ALLOW");
    reach_its_worker(world, "a");
    world.move("a", "RUNNING", broken ? World::kOtherReplica : World::kReplica);
    world.let_go("a");
    world.finish("a");
}

void two_tickers(World& world, bool broken) {
    world.tick(World::kReplica);
    world.wait(1s);
    world.tick(broken ? World::kOtherReplica : World::kReplica);
}

void one_too_many(World& world, bool broken) {
    for (const char* job : {"a", "b"}) {
        world.submit(job);
        world.take_up(job);
        world.ask_policy(job, "ALLOW_WITH_CONSTRAINTS", broken ? 1 : 2);
        reach_its_worker(world, job);
        world.move(job, "RUNNING");
        world.let_go(job);
    }
    for (const char* job : {"a", "b"}) world.finish(job);
}

void pointer_lost(World& world, bool broken) {
    world.serve("a");
    if (broken) world.set_field(World::kReplica, "job:meta:a", "result_ptr", "");
}

void quarantine_ignored(World& world, bool broken) {
    world.serve("a");
    world.judge_output("a", "QUARANTINE");
    if (broken) return;
    world.withhold("a");
}

void undone_for_nothing(World& world, bool broken) {
    world.serve("a");
    if (broken) world.undo("a", "comp-a");
}

void asks_while_open(World& world, bool broken) {
    world.submit("a");
    if (broken) world.set_text(World::kReplica, kFailuresOfPolicy, "3");
    world.wait(1s);
    from_taking_up_to_success(world, "a");
}

void waits_too_long(World& world, bool broken) {
    world.submit("a");
    world.turn_away("a", World::kReplica, broken ? 5min : 1200ms);
    world.wait(2s);
    from_taking_up_to_success(world, "a");
}

void listed_twice(World& world, bool broken) {
    world.serve("a");
    if (broken) world.list_in_index("a", "RUNNING");
}

void lock_left(World& world, bool broken) {
    world.serve("a");
    world.take_up("a");
    if (!broken) world.let_go("a");
    world.wait(2 * world.tunables().job_lock_ttl);
    world.take_up("b");
    world.let_go("b");
}

void half_a_snapshot(World& world, bool broken) { world.write_snapshot(!broken); }

void not_approved(World& world, bool broken) {
    world.submit("a");
    world.take_up("a");
    world.ask_policy("a", "REQUIRE_APPROVAL");
    world.move("a", "APPROVAL_REQUIRED");
    if (broken) {
        reach_its_worker(world, "a");
    }
    world.let_go("a");
}

void cancelled_by_nobody(World& world, bool broken) {
    world.run("a");
    if (broken)
        world.move("a", "CANCELLED");
    else
        world.finish("a");
}

void left_waiting(World& world, bool broken) {
    world.submit("a");
    world.turn_away("a", World::kReplica, 1200ms);
    world.wait(2s);
    world.turn_away("a", World::kReplica, 0s);
    world.wait(broken ? 20min : 20s);
    world.heartbeat();
    from_taking_up_to_success(world, "a");
}

void sent_to_the_dead(World& world, bool broken) {
    world.wait(broken ? 2 * world.tunables().worker_ttl : world.tunables().worker_ttl / 2);
    world.serve("a");
}

void starts_blind(World& world, bool broken) {
    world.write_snapshot(true);
    world.start(World::kOtherReplica);
    world.submit("a");
    if (broken) world.turn_away("a", World::kOtherReplica, 1200ms);
    world.wait(2s);
    from_taking_up_to_success(world, "a");
}

void silenced_by_another(World& world, bool broken) {
    world.serve("a");
    world.read_result("a", !broken);
}

void result_not_waited_for(World& world, bool broken) {
    world.run("a");
    world.date("a");
    world.wait(1s);
    world.report("a");
    world.wait(world.tunables().running_timeout + 10s);
    if (!broken) return world.finish("a");
    world.time_out("a");
    world.bury("a", "timeout");
}

void slot_left_free(World& world, bool broken) {
    world.run("a");
    world.submit("b");
    world.take_up("b");
    world.ask_policy("b", "ALLOW_WITH_CONSTRAINTS", 1);
    world.find_tenant_full("b");
    world.let_go("b");
    world.finish("a");
    world.wait(broken ? 10s : 10ms);
    from_taking_up_to_success(world, "b");
}

void garbled_and_terminated(World& world, bool broken) {
    world.deliver_message(1001, false);
    world.answer_message(1001, broken ? fakes::EventKind::term : fakes::EventKind::nak);
}

void holds_everything(World& world, bool broken) {
    const std::string megabyte(1'000'000, '.');
    for (std::uint64_t sequence = 1; sequence <= 400; ++sequence) {
        world.deliver_message(sequence, true, megabyte);
        if (!broken) world.answer_message(sequence, fakes::EventKind::ack);
    }
}

void believes_a_stranger(World& world, bool broken) {
    world.run("a");
    if (broken) world.set_field(World::kReplica, "job:meta:a", "worker_id", "stranger");
    world.finish("a");
}

void sent_unseen(World& world, bool broken) {
    world.point_to_input("a", "redis://ctx:a");
    if (broken) world.hide_input("a");
    world.serve("a");
}

void slot_of_another(World& world, bool broken) {
    world.submit("a", "acme");
    world.store_request("a");
    world.submit("b", "initech");
    world.store_request("b");
    world.hold_slot("a", broken ? "initech" : "acme");
    from_taking_up_to_success(world, "a");
    from_taking_up_to_success(world, "b");
}

void lie_passed_on(World& world, bool broken) {
    world.label("a", "safety_bypass_reason", "trust me");
    world.submit("a");
    if (!broken) world.unlabel("a", "safety_bypass_reason");
    from_taking_up_to_success(world, "a");
}

void never_running(World& world, bool broken) {
    world.beat();
    world.submit("a");
    world.take_up("a");
    world.ask_policy("a", "ALLOW");
    reach_its_worker(world, "a");
    if (!broken) world.move("a", "RUNNING");
    world.let_go("a");
    world.wait(20s);
    world.heartbeat();
    world.finish("a");
}

void goes_on_unasked(World& world, bool broken) {
    world.run("a");
    world.date("a");
    world.wait(world.tunables().running_timeout + 10s);
    world.time_out("a");
    if (!broken) world.call_off("a");
    world.bury("a", "timeout");
}

void lock_runs_out(World& world, bool broken) {
    world.submit("a");
    world.take_up("a");
    world.wait(world.tunables().job_lock_ttl);
    if (broken) world.expire_lock("a");
    if (broken) world.take_up("a");
    world.heartbeat();
    world.ask_policy("a", "ALLOW");
    reach_its_worker(world, "a");
    run_to_success(world, "a");
}

void busier_than_another(World& world, bool broken) {
    world.set_text(Topology::kOperator, "cfg:system:default",
                   R"({"revision":2,"data":{"pools":{"topics":{"job.default":["default"]}}}})");
    world.read_settings();
    world.wait(1s);
    world.heartbeat_of("w", 2);
    world.heartbeat_of("v", broken ? 1 : 3);
    world.submit("a");
    world.store_request("a");
    from_taking_up_to_success(world, "a");
}

void passes_hearsay_on(World& world, bool broken) {
    world.write_snapshot(true);
    world.start(World::kOtherReplica);
    if (!broken) world.heartbeat();
    world.write_snapshot(true, World::kOtherReplica);
}

void limit_not_told(World& world, bool broken) {
    world.submit("a");
    world.store_request("a");
    world.take_up("a");
    world.ask_policy("a", "ALLOW_WITH_CONSTRAINTS", 2);
    world.commit_dispatch("a");
    if (broken) world.forget_constraints();
    world.send("a");
    world.arrive("a");
    run_to_success(world, "a");
}

void keeps_what_is_to_be_dropped(World& world, bool broken) {
    if (broken) world.spoil("a");
    world.submit("a");
    world.take_up("a");
    world.keep_request("a");
    world.let_go("a");
    from_taking_up_to_success(world, "a");
}

void withheld_though_open(World& world, bool broken) {
    world.serve("a");
    if (broken)
        world.judge_output_in_vain("a");
    else
        world.judge_output("a", "QUARANTINE");
    world.withhold("a");
}

void kept_for_ever(World& world, bool broken) {
    world.serve("a");
    if (broken) world.persist("job:meta:a");
}

void buried_as_denied(World& world, bool broken) {
    world.run("a");
    world.date("a");
    world.wait(world.tunables().running_timeout + 10s);
    world.time_out("a");
    world.call_off("a");
    world.bury("a", broken ? "safety_denied" : "timeout");
}

constexpr const char* kRunPending = R"({"id":"r","workflow_id":"f","status":"pending"})";
constexpr const char* kRunDone = R"({"id":"r","workflow_id":"f","status":"succeeded"})";

void changed_by_two(World& world, bool broken) {
    world.set_text(Topology::kGateway, "wf:run:r", kRunPending);
    world.take_run("r", "one");
    if (!broken) world.change_run("r", "one", R"({"id":"r","status":"running"})");
    if (broken) world.lose_run_lock("r");
    world.take_run("r", "two", World::kOtherReplica);
    world.change_run("r", "two", kRunDone, World::kOtherReplica);
    if (broken) world.change_run("r", "one", kRunDone);
}

void runs_on(World& world, bool broken) {
    world.set_text(Topology::kGateway, "wf:run:r", kRunPending);
    world.take_run("r", "one");
    world.change_run(
        "r", "one",
        R"({"id":"r","status":"running","steps":{"a":{"status":"running","attempts":1,"job_id":"r:a@1"}}})");
    world.take_run("r", "two");
    world.change_run(
        "r", "two",
        R"({"id":"r","status":"cancelled","steps":{"a":{"status":"cancelled","attempts":1,"job_id":"r:a@1"}}})");
    if (!broken) world.call_off("r:a@1");
    world.rest();
}

void begun_too_early(World& world, bool broken) {
    world.set_text(Topology::kGateway, "wf:def:f",
                   R"({"id":"f","steps":{"a":{"type":"transform"},"b":{"type":"transform","depends_on":["a"]}}})");
    world.set_text(Topology::kGateway, "wf:run:r", kRunPending);
    world.take_run("r", "one");
    if (broken) {
        world.change_run("r", "one",
                         R"({"id":"r","workflow_id":"f","status":"running","steps":{"b":{"status":"succeeded"}}})");
        world.take_run("r", "two");
    }
    world.change_run("r", broken ? "two" : "one",
                     R"({"id":"r","workflow_id":"f","status":"succeeded","steps":{"a":{"status":"succeeded"},)"
                     R"("b":{"status":"succeeded"}}})");
}

void goes_on_too_early(World& world, bool broken) {
    world.set_text(Topology::kGateway, "wf:def:f", R"({"id":"f","steps":{"a":{"type":"delay","delay_sec":30}}})");
    world.set_text(Topology::kGateway, "wf:run:r", kRunPending);
    world.take_run("r", "one");
    world.change_run("r", "one",
                     R"({"id":"r","workflow_id":"f","status":"running","steps":{"a":{"status":"running","attempts":1,)"
                     R"("next_attempt_at":"1970-01-01T00:01:00Z"}}})");
    world.wait(broken ? 40s : 51s);
    world.take_run("r", "two");
    world.change_run(
        "r", "two",
        R"({"id":"r","workflow_id":"f","status":"succeeded","steps":{"a":{"status":"succeeded","attempts":1}}})");
}

constexpr std::array kBreaks{
    PlantedBreak{"no_duplicate_dispatch", "a dispatch arrives at its worker a second time", arrives_twice},
    PlantedBreak{"no_lost_job", "an acknowledged submission is never taken up", forgotten},
    PlantedBreak{"policy_before_dispatch", "a job is sent without asking policy", policy_not_asked},
    PlantedBreak{"fail_closed", "a job whose state could not be read is sent", state_not_read},
    PlantedBreak{"legal_transitions", "a running job becomes SCHEDULED again", goes_back},
    PlantedBreak{"one_terminal_result", "a job that has succeeded becomes FAILED", second_end},
    PlantedBreak{"dead_letter_complete", "a job fails without a dead letter", no_letter},
    PlantedBreak{"lock_exclusion", "a replica moves a job along whose lock another holds", without_the_lock},
    PlantedBreak{"single_ticker", "two replicas read a page of jobs in one window", two_tickers},
    PlantedBreak{"tenant_limit", "a second job of a tenant runs where policy allows one", one_too_many},
    PlantedBreak{"result_kept", "the result pointer of a finished job is gone", pointer_lost},
    PlantedBreak{"quarantine_final", "an output that policy quarantined stays SUCCEEDED", quarantine_ignored},
    PlantedBreak{"saga_exact", "a job is undone though nothing of its run has failed", undone_for_nothing},
    PlantedBreak{"delay_timer_kept", "a step goes on ten seconds before its delay is over", goes_on_too_early},
    PlantedBreak{"run_exclusion", "a replica that has lost a run's lock writes what it has read before",
                 changed_by_two},
    PlantedBreak{"run_progress", "a step begins before the one that it depends on", begun_too_early},
    PlantedBreak{"run_cancel_told", "a run is cancelled, and the job of its step is left to run on", runs_on},
    PlantedBreak{"circuit_rules", "policy is asked while the circuit is open", asks_while_open},
    PlantedBreak{"retry_bounds", "a job without a worker is handed back for five minutes", waits_too_long},
    PlantedBreak{"indexes_agree", "a finished job is still listed as running", listed_twice},
    PlantedBreak{"nothing_leaks", "a job's lock is never given back", lock_left},
    PlantedBreak{"snapshot_whole", "half a worker snapshot is written", half_a_snapshot},
    PlantedBreak{"approval_bound", "a job that waits for a human is sent", not_approved},
    PlantedBreak{"job_history", "a job becomes CANCELLED though nobody has cancelled it", cancelled_by_nobody},
    PlantedBreak{"no_starvation", "nobody tries a waiting job for twenty minutes", left_waiting},
    PlantedBreak{"live_worker_only", "a job is sent to a worker that has been silent for too long", sent_to_the_dead},
    PlantedBreak{"no_cold_start", "a replica that has just started knows no workers", starts_blind},
    PlantedBreak{"result_heard", "a service takes off a result that only the schedulers have heard",
                 silenced_by_another},
    PlantedBreak{"stored_result_wins", "a job times out whose result has stood in the stream all the time",
                 result_not_waited_for},
    PlantedBreak{"slot_used", "a job waits for a slot of its tenant for ten seconds while one is free", slot_left_free},
    PlantedBreak{"sound_message_kept", "a message that arrived garbled is terminated", garbled_and_terminated},
    PlantedBreak{"bounded_memory", "a replica answers nothing of 400 MB that it was delivered", holds_everything},
    PlantedBreak{"result_from_its_worker", "a result of a worker ends a job that was sent to another",
                 believes_a_stranger},
    PlantedBreak{"content_seen", "a job is sent though policy was not shown its input", sent_unseen},
    PlantedBreak{"tenant_walls", "a job of one tenant holds a slot of another", slot_of_another},
    PlantedBreak{"policy_marks_own", "a submitter's word on why policy was not asked reaches a worker", lie_passed_on},
    PlantedBreak{"timeout_explained", "a worker has a job for twenty seconds, and the job is not RUNNING",
                 never_running},
    PlantedBreak{"cancel_told", "a job times out, and its worker is not told to leave off", goes_on_unasked},
    PlantedBreak{"calm_weather", "a job's lock runs out under a replica that nothing disturbs", lock_runs_out},
    PlantedBreak{"routing_rules", "a job goes to a worker that is busier than another one", busier_than_another},
    PlantedBreak{"hearsay", "a replica that has heard nobody passes a snapshot on", passes_hearsay_on},
    PlantedBreak{"limits_in_force", "a worker is not told of the limit that policy sets", limit_not_told},
    PlantedBreak{"valid_requests", "a request with a negative step is kept and run", keeps_what_is_to_be_dropped},
    PlantedBreak{"outputs_audited", "an output is withheld, and whoever listens for that is not told",
                 withheld_in_silence},
    PlantedBreak{"questions_true", "policy is asked about a label that the stored request does not have",
                 asked_of_another},
    PlantedBreak{"fail_modes", "an output that nobody objects to is withheld with the mode open", withheld_though_open},
    PlantedBreak{"lifetimes_kept", "the record of a finished job is left without an expiry", kept_for_ever},
    PlantedBreak{"records_true", "the dead letter of a job that timed out says that policy denied it",
                 buried_as_denied},
    PlantedBreak{"messages_true", "what a replica publishes is of version 2", speaks_another_version},
    PlantedBreak{"unclaimed_output", "a note about a durable has a field that no document knows",
                 says_more_than_documented},
};

}  // namespace

std::span<const PlantedBreak> planted_breaks() { return kBreaks; }

std::set<std::string> noticed(const PlantedBreak& planted, bool broken) {
    ForgedWorld world;
    planted.tell(world, broken);
    world.rest();
    return world.violated();
}

std::string_view planted_and_noticed(std::string_view invariant) {
    const auto* planted = std::ranges::find(kBreaks, invariant, &PlantedBreak::invariant);
    if (planted == kBreaks.end() || !noticed(*planted, true).contains(std::string(invariant))) return {};
    return planted->what;
}

}  // namespace lockstep::sim
