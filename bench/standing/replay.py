"""A job's traffic with Redis, taken down from MONITOR and played again for many jobs, with less and less around the commands."""

import re
import socket
import threading

from world import PATIENCE, Failed, World, until

JOB, ROUNDS, TOGETHER = "replayed", 3, 64
LINE = re.compile(r"[\d.]+ \[\d+ (\S+)\] (.*)$")
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


def taken_down(world):
    """The lines of MONITOR while one job goes by: who says it, and the words."""
    lines = []
    monitor = world.connect()
    monitor.send([b"MONITOR"])
    monitor.answer()

    def read():
        for line in monitor.lines():
            source, words = LINE.match(line.lstrip("+")).groups()
            lines.append((source, [word.encode().decode("unicode_escape").encode("latin1") for word in WORD.findall(words)]))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    world.submit(JOB, 1)
    until(lambda: world.connect().ask(b"GET", b"job:state:" + JOB.encode()) == b"SUCCEEDED", "the job's end", PATIENCE)
    monitor.socket.shutdown(socket.SHUT_RDWR)  # what is told to it costs Redis, too
    reader.join()
    return lines


class Call:
    """One of a scheduler's, with the commands of its script."""

    def __init__(self, words):
        self.words, self.inner = words, []

    def bare_script(self):
        """Calls what the script has called, and does nothing else."""
        lines, at = [], 1
        for words in self.inner:
            names = [f"ARGV[{at + i}]" for i in range(len(words) - 1)]
            at += len(names)
            lines.append(f"redis.call({', '.join([repr(words[0].decode()), *names])})")
        return "\n".join(lines).encode()


def calls_of(lines):
    """What was submitted, command by command, and then the scripts that handled it."""
    submitted, calls, current = [], [], None
    for source, words in lines:
        if source != "lua":
            if words[0] != b"EVALSHA":
                continue
            first_key = words[3] if len(words) > 3 else b""
            # The submission's script has the job's hash as its only key; what is not about the job is somebody's tick.
            current = submitted if first_key == b"job:meta:" + JOB.encode() else None
            if current is None and any(JOB.encode() in word for word in words):
                calls.append(Call(words))
                current = calls[-1].inner
        elif current is not None:
            current.append(words)
    return submitted, calls


def of_job(words, number):
    """The same of another job and message."""
    own = b"%s-n%d" % (JOB.encode(), number)
    return [re.sub(rb"(cordum:bus:(?:processed|inflight):[A-Z_]+:)(\d+)", rb"\g<1>%d-\2" % number, word.replace(JOB.encode(), own)) for word in words]


def commands(programs, folder, count, _seconds):
    with World(programs, folder, {}) as world:
        submitted, calls = calls_of(taken_down(world))
        if len(calls) < 3:
            raise Failed(f"of the sample job only {len(calls)} scripts were seen")
        redis = world.connect()
        bare = [redis.ask(b"SCRIPT", b"LOAD", call.bare_script()) for call in calls]

        def as_they_are(call, _, number):
            return [of_job(call.words, number)]

        def bare_scripts(call, sha, number):
            return [of_job([b"EVALSHA", sha, b"0", *(word for words in call.inner for word in words[1:])], number)]

        def without_scripts(call, _, number):
            return [[b"MULTI"], *(of_job(words, number) for words in call.inner), [b"EXEC"]]

        figures, begun = {"scripts": len(calls), "commands": sum(len(call.inner) for call in calls)}, 0
        for name, form in (("us_by_scripts", as_they_are), ("us_by_bare_scripts", bare_scripts), ("us_without_scripts", without_scripts)) * ROUNDS:
            numbers = range(begun, begun + count)
            begun += count
            for number in numbers:
                redis.send(*(of_job(words, number) for words in submitted))
                for _ in submitted:
                    redis.answer()
            before = redis.cpu_seconds()
            for first in range(0, count, TOGETHER):
                for call, sha in zip(calls, bare):
                    together = [words for number in numbers[first:first + TOGETHER] for words in form(call, sha, number)]
                    redis.send(*together)
                    for _ in together:
                        redis.answer()
            figures.setdefault(name, []).append((redis.cpu_seconds() - before) / count * 1e6)
        return {name: sorted(value)[len(value) // 2] if isinstance(value, list) else value for name, value in figures.items()}
