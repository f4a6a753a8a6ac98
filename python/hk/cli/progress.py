"""Progress on stderr: one line that is written over on a terminal, plain lines elsewhere."""

import sys
import time


class Progress:
    """Call it with the name of each step; `done` says how long the last one took."""

    def __init__(self) -> None:
        self._start, self._text = time.perf_counter(), ""

    def __call__(self, text: str) -> None:
        self.done()
        self._start, self._text = time.perf_counter(), text
        if sys.stderr.isatty():
            print(f"{text} ...", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        """Ends the step."""
        if self._text:
            start = "\r\x1b[K" if sys.stderr.isatty() else ""
            seconds = time.perf_counter() - self._start
            print(f"{start}{self._text:56} {seconds:6.1f} s", file=sys.stderr, flush=True)
        self._text = ""
