"""What leaves the machine names neither it nor its user.

The report is made of chosen facts; only messages of programs are free text, and they pass
through `scrub`. `leaks` looks at the finished file once more.
"""

import getpass
import os
import re
import socket


def _names():
    """Texts that identify, and what stands for them; the longest first."""
    found = {os.path.expanduser("~"): "<home>"}
    host = socket.gethostname()
    found[host] = found[host.split(".")[0]] = "<host>"
    try:
        found[getpass.getuser()] = "<user>"
    except (KeyError, OSError):
        pass  # a user without a name
    for variable in ("USER", "LOGNAME", "SUDO_USER"):
        if os.environ.get(variable):
            found[os.environ[variable]] = "<user>"
    return sorted(((name, mark) for name, mark in found.items() if len(name) > 2), key=lambda pair: -len(pair[0]))


def _pattern(name):
    """The name as a word of its own: a host called "gpu" does not hide every GPU in a text,
    but every "gpu" by itself."""
    return r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])"


# A path, which may hold anything but what ends one in a message; its last part stays.
PATH = re.compile(r"(?<![\w.<>])(?:~|\.{1,2})?/(?:[^\s'\":;,()<>]+/)*([^\s'\":;,()<>/]*)")


def scrub(text):
    """`text` without folders, the names of the host and of the user, and PCI addresses."""
    text = PATH.sub(lambda match: match[1] or "<path>", text)
    for name, mark in _names():
        text = re.sub(_pattern(name), mark, text)
    return re.sub(r"\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b", "<pci>", text)


def leaks(text, known):
    """What of the host or its user a finished report still holds. `known`: texts of the bundle;
    a host named after a chip or a module is not told by its name."""
    found = [name for name, mark in _names() if mark != "<user>" and not name.isalpha() and
             not re.search(_pattern(name), known) and re.search(_pattern(name), text)]
    found += re.findall(r"(?<![\w<])/(?:home|root|Users|tmp|var|work|mnt|opt)/[^\s\"'<]*", text)
    return sorted(set(found))
