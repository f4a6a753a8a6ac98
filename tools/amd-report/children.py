"""Child processes that may hang, crash or be killed.

A GPU that faults takes the process down or leaves it waiting for ever, so whatever touches
the device runs in a child of its own, in a session of its own, and is killed with all its
children when it says nothing for too long.
"""

import os
import selectors
import signal
import subprocess
import time

REAP_SECONDS = 5


class Child:
    """One command, without a shell. `lines` yields what it prints; afterwards `ended` says
    how it ended: "exit status N", "killed by SIGNAL", "hung: ..." or "out of time"."""

    def __init__(self, command, environment, silence, deadline, folder=None):
        """silence: seconds without a line that count as a hang; deadline: time.monotonic();
        folder: where it runs, if not here."""
        self.silence, self.deadline = silence, deadline
        self.ended, self.status = None, None
        self.process = subprocess.Popen(
            [str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, cwd=folder)

    def lines(self):
        """Complete lines, as they come; a last one without an end, too."""
        pipe, rest = self.process.stdout, b""
        os.set_blocking(pipe.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                wait = min(self.silence, self.deadline - now)
                if wait <= 0 or not selector.select(wait):
                    late = time.monotonic() >= self.deadline
                    self.stop("out of time" if late else f"hung: nothing for {self.silence:g} s")
                    break
                part = pipe.read()
                if not part:
                    break
                *whole, rest = (rest + part).split(b"\n")
                for line in whole:
                    yield line.decode(errors="replace")
        if rest:
            yield rest.decode(errors="replace")
        self.reap()

    def stop(self, why):
        """Kills the child and all that it started."""
        if self.ended is None:
            self.ended = why
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.reap()

    def finish(self):
        """Waits for a child that has done its work; one that hangs at its end is killed."""
        try:
            self.process.wait(REAP_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop("hung at its end")
        self.reap()

    def reap(self):
        """A process that waits inside a driver cannot be killed; it is left behind then."""
        try:
            self.status = self.process.wait(REAP_SECONDS)
        except subprocess.TimeoutExpired:
            self.ended = (self.ended or "hung") + ", and cannot be killed"
            return
        finally:
            self.process.stdout.close()
        if self.ended is None:
            self.ended = f"exit status {self.status}" if self.status >= 0 else \
                f"killed by {signal.Signals(-self.status).name}"


def output(command, environment, silence, deadline):
    """What a command prints, and how it ended; None and why if it cannot be started."""
    try:
        child = Child(command, environment, silence, deadline)
    except OSError as error:
        return None, error.strerror
    text = "\n".join(child.lines())
    return text, child.ended
