// The factories of all rules: each fills in what judges the invariant of its name. What an invariant says stands above its factory's
// definition.
#pragma once

#include "sim/judge/rules.h"

namespace lockstep::sim::rules {

void approval_bound(Rules& rules, const engine::Tunables& tunables);
void bounded_memory(Rules& rules, const engine::Tunables& tunables);
void calm_weather(Rules& rules, const engine::Tunables& tunables);
void cancel_told(Rules& rules, const engine::Tunables& tunables);
void circuit_rules(Rules& rules, const engine::Tunables& tunables);
void content_seen(Rules& rules, const engine::Tunables& tunables);
void dead_letter_complete(Rules& rules, const engine::Tunables& tunables);
void delay_timer_kept(Rules& rules, const engine::Tunables& tunables);
void fail_closed(Rules& rules, const engine::Tunables& tunables);
void fail_modes(Rules& rules, const engine::Tunables& tunables);
void hearsay(Rules& rules, const engine::Tunables& tunables);
void indexes_agree(Rules& rules, const engine::Tunables& tunables);
void job_history(Rules& rules, const engine::Tunables& tunables);
void legal_transitions(Rules& rules, const engine::Tunables& tunables);
void lifetimes_kept(Rules& rules, const engine::Tunables& tunables);
void limits_in_force(Rules& rules, const engine::Tunables& tunables);
void live_worker_only(Rules& rules, const engine::Tunables& tunables);
void lock_exclusion(Rules& rules, const engine::Tunables& tunables);
void messages_true(Rules& rules, const engine::Tunables& tunables);
void metrics_true(Rules& rules, const engine::Tunables& tunables);
void no_cold_start(Rules& rules, const engine::Tunables& tunables);
void no_duplicate_dispatch(Rules& rules, const engine::Tunables& tunables);
void no_lost_job(Rules& rules, const engine::Tunables& tunables);
void no_starvation(Rules& rules, const engine::Tunables& tunables);
void nothing_leaks(Rules& rules, const engine::Tunables& tunables);
void one_terminal_result(Rules& rules, const engine::Tunables& tunables);
void outputs_audited(Rules& rules, const engine::Tunables& tunables);
void policy_before_dispatch(Rules& rules, const engine::Tunables& tunables);
void policy_marks_own(Rules& rules, const engine::Tunables& tunables);
void quarantine_final(Rules& rules, const engine::Tunables& tunables);
void questions_true(Rules& rules, const engine::Tunables& tunables);
void records_true(Rules& rules, const engine::Tunables& tunables);
void result_from_its_worker(Rules& rules, const engine::Tunables& tunables);
void result_heard(Rules& rules, const engine::Tunables& tunables);
void result_kept(Rules& rules, const engine::Tunables& tunables);
void retry_bounds(Rules& rules, const engine::Tunables& tunables);
void routing_rules(Rules& rules, const engine::Tunables& tunables);
void run_cancel_told(Rules& rules, const engine::Tunables& tunables);
void run_exclusion(Rules& rules, const engine::Tunables& tunables);
void run_progress(Rules& rules, const engine::Tunables& tunables);
void runs_true(Rules& rules, const engine::Tunables& tunables);
void saga_exact(Rules& rules, const engine::Tunables& tunables);
void single_ticker(Rules& rules, const engine::Tunables& tunables);
void slot_used(Rules& rules, const engine::Tunables& tunables);
void snapshot_whole(Rules& rules, const engine::Tunables& tunables);
void sound_message_kept(Rules& rules, const engine::Tunables& tunables);
void stored_result_wins(Rules& rules, const engine::Tunables& tunables);
void tenant_limit(Rules& rules, const engine::Tunables& tunables);
void tenant_walls(Rules& rules, const engine::Tunables& tunables);
void timeout_explained(Rules& rules, const engine::Tunables& tunables);
void unclaimed_output(Rules& rules, const engine::Tunables& tunables);
void valid_requests(Rules& rules, const engine::Tunables& tunables);

/// A part of slot_used.
void queues_of_tenants(Rules& rules, const engine::Tunables& tunables);

}  // namespace lockstep::sim::rules
