"""How the programs behave at a terminal, in a pipe and under signals. Nothing here is timed: what has to happen is waited for.

terminal_test.py PROGRAMS ROOT SCRATCH [what unittest takes]. PROGRAMS is the folder of the built programs, ROOT has scenarios/.
"""

import itertools
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import unittest

PROGRAMS, ROOT, SCRATCH = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
LOCKSTEP = PROGRAMS / "lockstep"
SCENARIO = ROOT / "scenarios/happy-path.json"
RUN = ["run", SCENARIO, "-j", "1", "--seeds", "3"]
BAR = "[##########....................] 1/3"


def surroundings(**variables):
    """Of a person, whoever runs this test."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS")}
    return kept | {"TERM": "xterm"} | variables


def at_a_terminal(*args, program=LOCKSTEP, **variables):
    """(exit code, all that a terminal shows) where nobody types anything: who waits for that never ends."""
    master, slave = pty.openpty()
    child = subprocess.Popen([program, *args], stdin=slave, stdout=slave, stderr=slave, env=surroundings(**variables), cwd=SCRATCH)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # nobody has the other end any more
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return child.wait(), shown.decode()


def in_a_pipe(*args, **variables):
    done = subprocess.run([LOCKSTEP, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=surroundings(**variables), cwd=SCRATCH)
    return done.returncode, done.stdout + done.stderr


def coloured(text):
    return "\x1b[32m" in text


class AtATerminal(unittest.TestCase):
    def test_colours_follow_option_then_environment_then_terminal(self):
        for when, never, forced, terminal in itertools.product(("auto", "always", "never"), ("", "1"), ("", "1"), (False, True)):
            wanted = when == "always" or (when == "auto" and not never and (forced != "" or terminal))
            run = at_a_terminal if terminal else in_a_pipe
            code, said = run("run", SCENARIO, "--color", when, NO_COLOR=never, CLICOLOR_FORCE=forced)
            with self.subTest(when=when, NO_COLOR=never, CLICOLOR_FORCE=forced, terminal=terminal):
                self.assertEqual(code, 0, said)
                self.assertEqual(coloured(said), wanted, said)
        self.assertFalse(coloured(at_a_terminal("run", SCENARIO, TERM="dumb")[1]))

    def test_progress_is_drawn_and_taken_off(self):
        code, shown = at_a_terminal(*RUN)
        self.assertEqual(code, 0, shown)
        self.assertIn("\r\x1b[K" + BAR, shown)
        # What was drawn last was taken off.
        self.assertEqual(shown.rindex("\x1b[K") + len("\x1b[K"), max(found.end() for found in re.finditer(r"\x1b\[K", shown)))
        self.assertNotIn("/3", shown[shown.rindex("\x1b[K"):])

    def test_progress_is_for_nobody_with_quiet_in_ci_and_in_a_pipe(self):
        for args, variables in ((["-q"], {}), ([], {"CI": "true"})):
            code, shown = at_a_terminal(*RUN, *args, **variables)
            self.assertEqual(code, 0, shown)
            self.assertNotIn("\x1b[K", shown)
        code, said = in_a_pipe(*RUN)
        self.assertEqual(code, 0, said)
        self.assertNotIn("\x1b", said)
        self.assertNotIn("\r", said)

    def test_nothing_asks_the_person_at_the_terminal(self):
        scenario, out = str(SCENARIO), str(SCRATCH / "failures")
        drawn = ["explore", "--seeds", "1", "--out", out]
        for args in ([], ["run", scenario], ["validate", scenario], ["verify-determinism", scenario], drawn, drawn, [*drawn, "--resume"],
                     ["enumerate", scenario, "--occurrences", "1", "--out", out], ["explain", scenario], ["replay", scenario],
                     ["shrink", scenario], ["compare", scenario, "--vary", "backoff_base=1s,2s", "--seeds", "1"],
                     ["coverage", "--seeds", "1"], ["list"], ["completion", "bash"], ["man"], ["run", "no-such-file"], ["rnu"]):
            code, shown = at_a_terminal(*args)  # ends
            self.assertIn(code, range(6), shown)
        operator = PROGRAMS / "lockstepctl"
        if not operator.exists():
            return
        # Before there is a server to speak to; nothing listens at port 1.
        nowhere = ["--redis", "redis://127.0.0.1:1", "--nats", "nats://127.0.0.1:1"]
        for args in (["dlq", "purge", "--all"], ["dlq", "delete", "j"], ["cancel", "j"], ["approve", "j"], ["pool", "drain", "p"],
                     ["submit"], ["sumbit"]):
            code, shown = at_a_terminal(*args, *nowhere, program=operator)
            self.assertIn(code, (1, 2), shown)


class Signals(unittest.TestCase):
    """A run whose trace goes to a pipe that nobody reads stands still once that is full."""

    def setUp(self):
        trace = SCRATCH / "trace"
        trace.unlink(missing_ok=True)
        os.mkfifo(trace)
        self.trace = os.open(trace, os.O_RDONLY | os.O_NONBLOCK)
        self.child = subprocess.Popen([LOCKSTEP, "run", SCENARIO, "--seed", "5", "--trace", trace], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings())

    def tearDown(self):
        os.close(self.trace)
        if self.child.poll() is None:
            self.child.kill()
        self.child.communicate()

    def wait_until(self, condition):
        while not condition():
            self.assertIsNone(self.child.poll(), "it has ended")
            select.select([], [], [], 0.01)

    def catches(self, number):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        caught = int(re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE).group(1), 16)
        return bool(caught >> (number - 1) & 1)

    def wait_until_the_run_is_under_way(self):
        select.select([self.trace], [], [])
        self.assertIsNone(self.child.poll(), "it has ended")

    def let_it_go_on(self):
        os.set_blocking(self.trace, True)
        while os.read(self.trace, 65536):
            pass

    def test_interrupted_once_it_finishes_and_reports(self):
        self.wait_until_the_run_is_under_way()
        self.child.send_signal(signal.SIGINT)
        self.wait_until(lambda: not self.catches(signal.SIGINT))
        self.let_it_go_on()
        out, _ = self.child.communicate()
        self.assertEqual(self.child.returncode, 130)
        self.assertIn("INTERRUPTED: 0 of 1 runs were made to their end", out)

    def test_interrupted_twice_it_ends_at_once(self):
        self.wait_until_the_run_is_under_way()
        self.child.send_signal(signal.SIGINT)
        self.wait_until(lambda: not self.catches(signal.SIGINT))
        self.child.send_signal(signal.SIGINT)
        self.assertEqual(self.child.wait(), -signal.SIGINT)  # a shell says 130


if __name__ == "__main__":
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
