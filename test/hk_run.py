"""What `hk-run --calls` prints."""

import re


def calls(output):
    """For every call its function, its text and whether it passed; without a function what
    comes before the first one, which fails: hk-run says there why it made none."""
    for text in re.split(r"^(?=call )", output, flags=re.MULTILINE):
        if text:
            function = re.search(r"--function=(\w+)", text) if text.startswith("call ") else None
            yield function and function[1], text, text.startswith("call ") and text.endswith("exit status 0\n")
