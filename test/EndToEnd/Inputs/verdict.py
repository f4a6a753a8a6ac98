"""What scripts that make many checks say: a line for each that fails, and a last one that their tests expect."""

import subprocess
from pathlib import Path

failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL", text)


def finish():
    print("FAILED" if failures else "all agree")


def compile(source, output, target, text=None):
    """Compiles the file `source`, which is written first where `text` says what is in it."""
    if text is not None:
        Path(source).write_text(text)
    subprocess.run(["hk-compile", source, f"--target={target}", "-o", output], check=True)
