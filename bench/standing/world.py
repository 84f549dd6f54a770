"""Redis, NATS, a kernel and one lockstepd of a build, by lockstep-dev, and what the kernel of this machine says of them."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

PATIENCE = 60
EACH_TURN = 0.02


class Failed(Exception):
    """What was waited for did not come."""


class NotTried(Exception):
    """A program is missing."""


def until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {patience} s")
        time.sleep(EACH_TURN)


class Process:
    """What the kernel says of a process."""

    def __init__(self, pid):
        self.pid = pid

    def kibibytes(self, what):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{what}:\s+(\d+) kB", text, re.M)[1])

    def cpu_seconds(self):
        after_name = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def child_of(parent, words):
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            mine = int((process / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if mine and words in (process / "cmdline").read_bytes():
                return int(process.name)
        except OSError:
            pass  # it has just ended
    raise Failed(f"no process of lockstep-dev has {words} on its command line")


class Redis:
    """A connection. Of what Redis answers, texts are bytes, an error is raised."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def send(self, *commands):
        self.socket.sendall(b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words) for words in commands))

    def answer(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Failed(f"Redis answers {rest.decode()}")
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.answer() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest

    def ask(self, *words):
        self.send(words)
        return self.answer()

    def lines(self):
        """Of MONITOR, for ever."""
        for line in self.file:
            yield line.decode("latin1").rstrip("\r\n")

    def cpu_seconds(self):
        told = dict(line.split(":", 1) for line in self.ask(b"INFO", b"cpu").decode().split("\r\n") if ":" in line)
        return float(told["used_cpu_sys"]) + float(told["used_cpu_user"])


class World:
    """Redis, NATS, the kernel and one lockstepd, by lockstep-dev; they end with this."""

    def __init__(self, programs, folder, environment):
        self.programs, self.folder = programs, folder
        words = [programs / "lockstep-dev", "--workers", "1", "--service-time", "1ms"]
        for name, value in environment.items():
            words += ["--env", f"{name}={value}"]
        self.said = folder / "dev.log"
        self.dev = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=self.said.open("w"),
                                    stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(folder)})
        self.others, self.stopped = [], []
        try:
            self.meet()
        except BaseException:
            self.__exit__()
            raise

    def meet(self):
        until(lambda: self.find(r"SUCCEEDED") or self.dev.poll() is not None, "the sample job")
        if self.dev.poll() is not None:
            raise Failed(f"lockstep-dev has ended:\n{self.said.read_text()}")
        self.kernel = int(self.find(r"kernel +pid (\d+)")[1])
        self.lockstepd = Process(int(self.find(r"replica-1 +pid (\d+)")[1]))
        self.worker = child_of(self.dev.pid, b"--id\0default-1\0")
        self.redis_port = int(self.find(r"redis +pid \d+ +127\.0\.0\.1:(\d+)")[1])
        self.nats_port = int(self.find(r"nats +pid \d+ +127\.0\.0\.1:(\d+)")[1])
        self.addresses = {"REDIS_URL": f"redis://127.0.0.1:{self.redis_port}", "NATS_URL": f"nats://127.0.0.1:{self.nats_port}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.dev.poll() is None:  # with it all that it has started has ended
            for pid in self.stopped:
                os.kill(pid, signal.SIGCONT)
            self.dev.send_signal(signal.SIGINT)
        for process in self.others:
            process.kill()
        for process in [*self.others, self.dev]:
            process.wait()

    def stop(self, pid):
        """It does nothing more until the end."""
        os.kill(pid, signal.SIGSTOP)
        self.stopped.append(pid)

    def find(self, pattern):
        return re.search(pattern, self.said.read_text())

    def start(self, name, *words):
        log = (self.folder / f"{name}-{len(self.others)}.log").open("w")
        self.others.append(subprocess.Popen([str(self.programs / name), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **self.addresses}))

    def submit(self, prefix, count):
        done = subprocess.run([str(self.programs / "lockstepctl"), "submit", "--count", str(count), "--rate", "0", "--id", prefix],
                              env={**os.environ, **self.addresses}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"lockstepctl submit exits with {done.returncode}: {done.stdout}")

    def connect(self):
        return Redis(self.redis_port)

    def redis(self, *words):
        return self.connect().ask(*(word.encode() for word in words))
