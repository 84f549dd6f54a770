import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import check
import sources

KEPT = {
    "about": "x",
    "traffic": {"jobs": [100, 300, 500], "may_grow_with_jobs_percent": 5,
                "counts": {"calls": {"per_job": 6.0, "may_differ_percent": 1, "is": "round trips"},
                           "commands": {"per_job": 90.0, "may_differ_percent": 1, "is": "all"}}},
    "allocations": {"jobs": [10], "counts": {"allocations": {"per_job": 1000.0, "may_differ_percent": 2, "is": "calls"}}},
    "instructions": {"jobs": [10], "counts": {"instructions": {"per_job": 50, "may_differ_percent": 2, "is": "Ir"},
                                                  "judging": {"per_job": 20, "may_differ_percent": 2, "is": "Ir"}}},
    "servers": {"jobs": [10], "counts": {name: {"per_job": 5.0, "may_differ_percent": 5, "is": "x"}
                                         for name in ("evalsha", "commands", "bytes_in", "bytes_out")}},
    "sources": {"counts": {"seconds_tests_wait": {"in_all": 2.0, "may_differ_percent": 5, "is": "sleeps"}}},
}


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.kept = self.root / "kept.json"
        self.kept.write_text(check.written(KEPT))
        self.counts(calls="6 * $2", commands="90 * $2")

    def script(self, name, body):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    def counts(self, **by_name):
        """Counts of the program, as arithmetic of the number of jobs, $2."""
        members = ", ".join(f'\\"{name}\\": $(({value}))' for name, value in by_name.items())
        self.script("bench/counts/count_run", f'echo "{{{members}}}"')

    def check(self, *words):
        """(exit code, what was printed) """
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                code = check.main(["--kept", str(self.kept), "--build", str(self.root), *words])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue()

    def per_job(self, count, group="traffic"):
        return json.loads(self.kept.read_text())[group]["counts"][count]

    def test_what_is_as_it_was_is_kept(self):
        self.assertEqual(self.check("traffic")[0], check.KEPT)

    def test_a_small_difference_is_kept_and_the_file_left_alone(self):
        self.counts(calls="6 * $2", commands="90 * $2 + $2 / 2")
        before = self.kept.read_text()
        self.assertEqual(self.check("--accept", "traffic")[0], check.KEPT)
        self.assertEqual(self.kept.read_text(), before)

    def test_one_round_trip_more_per_job_is_told_with_what_it_was_and_how_to_accept_it(self):
        self.counts(calls="7 * $2", commands="90 * $2")
        code, said = self.check("traffic")
        self.assertEqual(code, check.DIFFERS)
        for word in ("calls per job: was 6, is 7: 16.7 % more", "may differ by 1 %", "round trips", "--accept", "--because", "kept.json"):
            self.assertIn(word, said)

    def test_a_gain_is_told_too_and_accepted_without_a_reason(self):
        self.counts(calls="5 * $2", commands="90 * $2")
        code, said = self.check("traffic")
        self.assertEqual(code, check.DIFFERS)
        self.assertIn("16.7 % less", said)
        self.assertEqual(self.check("traffic", "--accept")[0], check.KEPT)
        self.assertEqual(self.per_job("calls")["per_job"], 5)
        self.assertEqual(self.check("traffic")[0], check.KEPT)

    def test_what_costs_more_is_accepted_with_what_is_had_for_it(self):
        self.counts(calls="7 * $2", commands="90 * $2 + $2 / 2")
        code, said = self.check("traffic", "--accept")
        self.assertEqual(code, check.DIFFERS)
        self.assertIn("--because", said)
        self.assertEqual(self.per_job("calls")["per_job"], 6)
        self.assertEqual(self.check("traffic", "--accept", "--because", "a second look")[0], check.KEPT)
        self.assertEqual(self.per_job("calls"), {"per_job": 7, "may_differ_percent": 1, "is": "round trips", "because": "a second look"})
        self.assertEqual(self.per_job("commands")["per_job"], 90, "differs by less than it may: left as it was, so that nothing creeps")

    def test_what_costs_more_for_later_jobs_is_told(self):
        # 5.4 for each of the first jobs and 6.6 for the last: 6 of all.
        self.counts(calls="$2 <= 300 ? 564 * $2 / 100 : 1692 + 654 * ($2 - 300) / 100", commands="90 * $2")
        code, said = self.check("traffic")
        self.assertEqual(code, check.DIFFERS)
        self.assertIn("calls grows with the number of jobs", said)
        self.assertNotIn("calls per job: was", said)

    def test_a_count_without_a_place_or_a_place_without_a_count_is_told(self):
        self.counts(calls="6 * $2", questions="$2")
        code, said = self.check("traffic")
        self.assertEqual(code, check.DIFFERS)
        self.assertIn("commands is kept and was not counted", said)
        self.assertIn("questions was counted", said)

    def test_a_program_that_fails_or_is_not_there_is_no_verdict(self):
        self.script("bench/counts/count_run", "echo it broke >&2; exit 1")
        code, said = self.check("traffic")
        self.assertEqual(code, check.BROKEN)
        self.assertIn("it broke", said)
        (self.root / "bench/counts/count_run").unlink()
        code, said = self.check("traffic")
        self.assertEqual(code, check.BROKEN)
        self.assertIn("./dev counts builds it", said)

    def test_programs_that_are_not_installed_are_skipped_and_said(self):
        with mock.patch.dict(os.environ, PATH=str(self.root)):
            for group, missing in (("instructions", "valgrind"), ("servers", "redis-server")):
                code, said = self.check(group)
                self.assertEqual(code, check.SKIPPED)
                self.assertIn(f"skipped: {group}: {missing} is not installed", said)

    def test_one_group_that_differs_weighs_more_than_one_that_is_skipped(self):
        self.counts(calls="7 * $2", commands="90 * $2")
        with mock.patch.dict(os.environ, PATH=f"{self.root}"):
            self.assertEqual(self.check("instructions", "traffic")[0], check.DIFFERS)

    def test_instructions_are_what_valgrind_has_collected(self):
        self.script("valgrind", '[ "${@: -2:1}" = work ] && echo "==1== Collected : 505" >&2 || echo "==1== Collected : 305" >&2')
        self.script("strip", ":")
        with mock.patch.dict(os.environ, PATH=f"{self.root}:{os.environ['PATH']}"):
            code, said = self.check("instructions")
            self.assertEqual(code, check.KEPT, said)
            # As when the function is not found.
            self.script("valgrind", 'echo "==1== Collected : 0" >&2')
            code, said = self.check("instructions")
        self.assertEqual(code, check.BROKEN)
        self.assertIn("counted nothing", said)

    def test_of_real_servers_the_counts_of_the_closed_loop_are_taken(self):
        for server in ("redis-server", "nats-server"):
            self.script(server, "")
        loop = {"redis_per_job": {"evalsha": 5, "commands": 5, "bytes_in": 5, "bytes_out": 6, "reads": 1}}
        document = json.dumps({"variants": [{"rounds": [{"closed_loop": loop}]}]})
        self.script("bench/bin/lockstep-load", f"printf '%s' '{document}' >\"$3\"")
        with mock.patch.dict(os.environ, PATH=f"{self.root}:{os.environ['PATH']}"):
            code, said = self.check("servers")
        self.assertEqual(code, check.DIFFERS)
        self.assertEqual(said.count("NOT KEPT"), 1)
        self.assertIn("bytes_out per job: was 5, is 6", said)

    def test_a_count_of_the_sources_is_held_to_all_of_it(self):
        def seconds_tests_wait(root, build):
            self.assertEqual((root, build), (check.HERE.parents[1], self.root))
            return 2.2
        with mock.patch.object(sources, "COUNTS", (seconds_tests_wait,)):
            code, said = self.check("sources")
            self.assertEqual(code, check.DIFFERS)
            self.assertIn("seconds_tests_wait in all: was 2, is 2.2: 10.0 % more, may differ by 5 % (sleeps)", said)
            self.assertEqual(self.check("sources", "--accept", "--because", "an outage")[0], check.KEPT)
        self.assertEqual(json.loads(self.kept.read_text())["sources"]["counts"]["seconds_tests_wait"]["in_all"], 2.2)

    def test_mistakes_name_the_thing_and_the_way_out(self):
        for words, expected in ((["trafic"], "groups: traffic"), (["--because", "x"], "it is for --accept")):
            code, said = self.check(*words)
            self.assertEqual(code, check.WRONG_USE)
            self.assertIn(expected, said)
        self.kept.write_text("{")
        self.assertEqual(self.check("traffic")[0], check.WRONG_USE)

    def test_the_kept_file_is_in_the_form_in_which_it_is_written(self):
        text = (check.HERE / "kept.json").read_text()
        self.assertEqual(check.written(json.loads(text)), text)
        self.assertEqual(set(json.loads(text)), {"about", *check.HOW})


class Sources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def seconds(self):
        return round(sources.seconds_tests_wait(self.root, None), 6)

    def test_literals_and_constants_of_the_file_are_counted_in_every_unit(self):
        self.write("engine/a_test.cpp", "sleep_for(1'500ms); std::this_thread::sleep_for(std::chrono::seconds(2));")
        self.write("engine/testing/b.h", "constexpr auto kPause = 200us;\nconstexpr seconds kLong{3};\nsleep_for(kPause); sleep_for(kLong);")
        self.write("prod/test_c.py", f"PAUSE = 0.25\n{'time'}.sleep(PAUSE)\n{'time'}.sleep(1)")
        self.assertEqual(self.seconds(), 7.7502)

    def test_what_is_no_test_or_passes_without_a_clock_is_not_counted(self):
        self.write("prod/worker.cpp", "sleep_for(1s);")
        self.write("sim/latest.cpp", "sleep_for(1s);")
        self.write("sim/a_test.cpp", "co_await clock.sleep(3s); world.run_for(1min);")
        self.assertEqual(self.seconds(), 0)

    def test_a_sleep_whose_length_is_not_in_sight_is_named(self):
        self.write("prod/a_test.cpp", "\nsleep_for(elsewhere());")
        with self.assertRaisesRegex(sources.NotInSight, "^prod/a_test.cpp:2: "):
            self.seconds()


if __name__ == "__main__":
    unittest.main()
