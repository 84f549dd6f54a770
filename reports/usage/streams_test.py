#!/usr/bin/env python3
"""Every program when a standard stream is closed or full: streams_test.py BIN SCENARIO SCRATCH [PROGRAM...]

What was to be printed and is lost ends in exit code 2 with a message, never in success; a program never dies of it; and no file of its
own gets what was to be printed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree

BIN, SCENARIO, SCRATCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
PROGRAMS = [BIN / name for name in ("lockstep", "lockstepd", "lockstepctl", "lockstep-worker", "lockstep-kernel", "lockstep-front",
                                    "lockstep-dev", "lockstep-ordeal", "lockstep-rehearsal")]
PROGRAMS += [pathlib.Path(argument) for argument in sys.argv[4:]]
LOST = re.compile(r"^[a-z -]+: standard output cannot be written", re.MULTILINE)


def run(redirection, *words):
    """Exit code and what stood on standard error, with the streams of the shell's redirection."""
    done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", *map(str, words)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=False)
    return done.returncode, done.stderr.decode(errors="replace")


class Streams(unittest.TestCase):
    def test_lost_output_is_exit_code_2_with_a_message(self):
        for program in PROGRAMS:
            for words in (["--version"], ["--help"]):
                for redirection in (">&-", ">/dev/full"):
                    with self.subTest(program=program.name, words=words, redirection=redirection):
                        code, said = run(redirection, program, *words)
                        self.assertEqual(code, 2, said)
                        self.assertRegex(said, LOST)

    def test_so_it_is_with_more_than_a_buffer_holds(self):
        for words in ([BIN / "lockstepctl", "man"], [BIN / "lockstepd", "config", "reference"], [BIN / "lockstepctl", "dlq", "reasons"],
                      [BIN / "lockstepctl", "completion", "zsh"], [BIN / "lockstep", "list"], [BIN / "lockstep", "run", SCENARIO],
                      [BIN / "lockstep", "run", SCENARIO, "--json"]):
            for redirection in (">&-", ">/dev/full"):
                with self.subTest(words=words, redirection=redirection):
                    code, said = run(redirection, *words)
                    self.assertEqual(code, 2, said)
                    self.assertRegex(said, LOST)

    def test_what_prints_nothing_lacks_nothing(self):
        for program in PROGRAMS:
            with self.subTest(program=program.name):
                self.assertEqual(run(">/dev/null 2>&-", program, "--version")[0], 0)
                self.assertEqual(run("<&-", program, "--version")[0], 0)

    def test_a_message_that_is_lost_kills_nobody(self):
        for program in PROGRAMS:
            for redirection in ("2>&-", "2>/dev/full", "<&- >&- 2>&-"):
                with self.subTest(program=program.name, redirection=redirection):
                    self.assertIn(run(redirection, program, "--no-such-option")[0], (1, 2))

    def test_no_file_gets_what_was_to_be_printed(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                report, trace = SCRATCH / "report.xml", SCRATCH / "trace"
                for file in (report, trace):
                    file.unlink(missing_ok=True)
                code, _ = run(closed, BIN / "lockstep", "run", SCENARIO, "--junit", report, "--trace", trace)
                self.assertEqual(code, 2 if ">&- " in closed + " " and closed != "2>&-" else 0)
                xml.etree.ElementTree.parse(report)
                for line in trace.read_text(encoding="utf-8").splitlines():
                    self.assertTrue(line.startswith("{"), line)

    def test_standard_input_that_cannot_be_read_is_no_empty_payload(self):
        code, said = run("<&-", BIN / "lockstepctl", "submit", "--payload-file", "-")
        self.assertEqual(code, 2)
        self.assertIn("standard input cannot be read", said)


if __name__ == "__main__":
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    unittest.main(argv=sys.argv[:1])
