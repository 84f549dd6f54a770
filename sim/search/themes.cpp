#include "sim/search/themes.h"

#include <array>

#include "sim/search/absence_themes.h"
#include "sim/search/choice_themes.h"
#include "sim/search/circuit_themes.h"
#include "sim/search/claim_themes.h"
#include "sim/search/distrust_themes.h"
#include "sim/search/human_themes.h"
#include "sim/search/leader_themes.h"
#include "sim/search/limit_themes.h"
#include "sim/search/line_themes.h"
#include "sim/search/message_themes.h"
#include "sim/search/mode_themes.h"
#include "sim/search/output_themes.h"
#include "sim/search/page_themes.h"
#include "sim/search/quiet_themes.h"
#include "sim/search/request_themes.h"
#include "sim/search/result_themes.h"
#include "sim/search/rollback_themes.h"
#include "sim/search/routing_themes.h"
#include "sim/search/server_themes.h"
#include "sim/search/settings_themes.h"
#include "sim/search/step_themes.h"
#include "sim/search/stream_themes.h"
#include "sim/search/tenant_themes.h"
#include "sim/search/worker_themes.h"
#include "sim/search/workflow_themes.h"

namespace lockstep::sim {

namespace {

constexpr bool kAlone = true;
constexpr std::array kThemes{
    Theme{"slow-servers", false, slow_servers},
    Theme{"short-records", kAlone, short_records},
    Theme{"garbled-packets", false, garbled_packets},
    Theme{"garbled-deliveries", false, garbled_deliveries},
    Theme{"spent-deliveries", kAlone, spent_deliveries},
    Theme{"large-jobs", kAlone, large_jobs},
    Theme{"starved", false, starved},
    Theme{"rollbacks", false, rollbacks},
    Theme{"hiccups", false, hiccups},
    Theme{"tenants", false, tenants},
    Theme{"approvals", false, approvals},
    Theme{"mutated-submissions", false, mutated_submissions},
    Theme{"flapping-workers", false, flapping_workers},
    Theme{"stranded", false, stranded},
    Theme{"lost-answers", false, lost_answers},
    Theme{"comings-and-goings", false, comings_and_goings},
    Theme{"redelivery", false, redelivery},
    Theme{"settings-change", kAlone, settings_change},
    Theme{"unheard-reports", false, unheard_reports},
    Theme{"withheld-outputs", false, withheld_outputs},
    Theme{"forged-word", false, forged_word},
    Theme{"unseen-inputs", false, unseen_inputs},
    Theme{"odd-requests", false, odd_requests},
    Theme{"deadlines", false, deadlines},
    Theme{"own-limits", false, own_limits},
    Theme{"placements", false, placements},
    Theme{"fallbacks", kAlone, fallbacks},
    Theme{"full-stream", false, full_stream},
    Theme{"small-pages", false, small_pages},
    Theme{"one-job-twice", false, one_job_twice},
    Theme{"patience", kAlone, patience},
    Theme{"wrong-places", false, wrong_places},
    Theme{"tightening-layers", false, tightening_layers},
    Theme{"unreadable-settings", false, unreadable_settings},
    Theme{"changing-limits", false, changing_limits},
    Theme{"troubled-outputs", false, troubled_outputs},
    Theme{"ailing-policy", false, ailing_policy},
    Theme{"redactions", false, redactions},
    Theme{"failing-calls", false, failing_calls},
    Theme{"squatted-keys", false, squatted_keys},
    Theme{"graded-loads", false, graded_loads},
    Theme{"moving-workers", false, moving_workers},
    Theme{"lost-choices", kAlone, lost_choices},
    Theme{"odd-pools", false, odd_pools},
    Theme{"tenants-in-variables", false, tenants_in_variables},
    Theme{"forged-marks", false, forged_marks},
    Theme{"cancellations", false, cancellations},
    Theme{"gates-without-policy", false, gates_without_policy},
    Theme{"rewritten-settings", false, rewritten_settings},
    Theme{"contradicted-modes", false, contradicted_modes},
    Theme{"refused-dispatches", false, refused_dispatches},
    Theme{"many-unheard", false, many_unheard},
    Theme{"steady-garbage", false, steady_garbage},
    Theme{"narrow-window", kAlone, narrow_window},
    Theme{"lonely-circuits", false, lonely_circuits},
    Theme{"crowded-rollbacks", false, crowded_rollbacks},
    Theme{"late-outputs", false, late_outputs},
    Theme{"several-limits", false, several_limits},
    Theme{"probed-policy", false, probed_policy},
    Theme{"written-settings", false, written_settings},
    Theme{"old-news", false, old_news},
    Theme{"half-approved", false, half_approved},
    Theme{"called-again", false, called_again},
    Theme{"scans-in-peace", kAlone, scans_in_peace},
    Theme{"limits-in-peace", kAlone, limits_in_peace},
    Theme{"rollbacks-in-peace", kAlone, rollbacks_in_peace},
    Theme{"strangers-cancel", kAlone, strangers_cancel},
    Theme{"long-ways-out", kAlone, long_ways_out},
    Theme{"afterlives", kAlone, afterlives},
    Theme{"tenant-lines", kAlone, tenant_lines},
    Theme{"silent-ends", kAlone, silent_ends},
    Theme{"lost-calls", kAlone, lost_calls},
    Theme{"lost-ticks", kAlone, lost_ticks},
    Theme{"long-silence", kAlone, long_silence},
    Theme{"failing-guards", false, failing_guards},
    Theme{"lost-takings", kAlone, lost_takings},
    Theme{"unread-stream", false, unread_stream},
    Theme{"waiting-deadlines", kAlone, waiting_deadlines},
    Theme{"unplaceable-jobs", kAlone, unplaceable_jobs},
    Theme{"settled-reports", kAlone, settled_reports},
    Theme{"narrower-limits", kAlone, narrower_limits},
    Theme{"workflows", false, workflows},
    Theme{"other-gateways", false, other_gateways},
    Theme{"kept-delays", kAlone, kept_delays},
    Theme{"frozen-engines", kAlone, frozen_engines},
    Theme{"crowded-runs", false, crowded_runs},
    Theme{"half-done-steps", kAlone, half_done_steps},
    Theme{"forgetful-leaders", kAlone, forgetful_leaders},
    Theme{"unheld-dispatches", kAlone, unheld_dispatches},
    Theme{"clogged-connections", kAlone, clogged_connections},
};
constexpr std::array kRunThemes{
    Theme{"workflows", false, workflows},           Theme{"crowded-runs", false, crowded_runs},
    Theme{"other-gateways", false, other_gateways}, Theme{"failing-steps", false, failing_steps},
    Theme{"failing-steps", false, failing_steps},   Theme{"sleeping-runs", false, sleeping_runs},
};

}  // namespace

std::span<const Theme> themes() { return kThemes; }

std::span<const Theme> run_themes() { return kRunThemes; }

}  // namespace lockstep::sim
