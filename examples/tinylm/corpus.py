#!/usr/bin/env python3
# ===- corpus.py - Plain text from Debian packages ---------------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""The text that the tinylm example is trained on, from Debian packages.

Two bodies of public-domain English, both in Debian bookworm main:

  r-cran-janeaustenr 1.0.0-1  Jane Austen's six novels (text: public domain,
                              by way of Project Gutenberg; package: MIT)
  bible-kjv-text     4.38     King James Bible (text: public domain; package:
                              free for unrestricted use), read out by the
                              `bible` program of bible-kjv

The packages are downloaded and unpacked, not installed. Every document is
returned as ASCII bytes with lines of at most 72 columns. Run as a program,
this writes all of them to one file per document.
"""

import argparse
import pathlib
import struct
import subprocess
import tempfile
import textwrap
import zlib

PACKAGES = ("r-cran-janeaustenr", "bible-kjv-text", "bible-kjv")
NOVELS = ("emma", "mansfieldpark", "northangerabbey", "persuasion",
          "prideprejudice", "sensesensibility")
RDATA = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"


def unpack_packages(root: pathlib.Path) -> None:
    """Downloads PACKAGES with apt-get and unpacks them under `root`."""
    subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "-q",
                    "download", *PACKAGES], cwd=root,
                   check=True, stdout=subprocess.DEVNULL)
    for package in sorted(root.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)


def r_strings(data: bytes) -> list:
    """The elements of one serialized R character vector (XDR, version 3)."""
    if data[:2] != b"X\n":
        raise ValueError(f"expected an R XDR serialization, got {data[:2]!r}")
    at = 14  # After the format mark and three version numbers:
    (encoding_length,) = struct.unpack_from(">i", data, at)
    at += 4 + encoding_length
    kind, count = struct.unpack_from(">ii", data, at)
    if kind & 0xFF != 16:
        raise ValueError(f"expected a character vector (type 16), got {kind}")
    at += 8
    strings = []
    for _ in range(count):
        _, length = struct.unpack_from(">ii", data, at)
        at += 8
        strings.append(data[at:at + length])
        at += length
    return strings


def novels(root: pathlib.Path) -> dict:
    """Jane Austen's novels from R's lazy-load database: per object a
    big-endian size and a zlib stream, in the order of NOVELS."""
    data = (root / RDATA).read_bytes()
    documents = {}
    for name in NOVELS:
        stream = zlib.decompressobj()
        lines = r_strings(stream.decompress(data[4:]))
        data = stream.unused_data
        documents[name] = b"\n".join(line.rstrip() for line in lines) + b"\n"
    return documents


def bible(root: pathlib.Path) -> bytes:
    """The King James Bible, one paragraph per verse, without numbers."""
    out = subprocess.run(
        [root / "usr/bin/bible", "-p", root / "usr/lib", "-f", "ge1:1-re22:21"],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout
    verses = []
    for line in out.decode("ascii").splitlines():
        _, _, verse = line.partition(" ")
        verses.append(textwrap.fill(verse.strip(), 72) + "\n")
    return "".join(verses).encode("ascii")


def ascii_only(text: bytes) -> bytes:
    """The few Latin letters and signs beyond ASCII, spelled in ASCII."""
    text = text.replace("\u00a3".encode(), b"L.").replace(b"\t", b" ")
    return text.decode("utf-8", "ignore").encode("ascii", "ignore")


def documents() -> dict:
    """All documents by name, in a fixed order."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        unpack_packages(root)
        result = novels(root)
        result["bible"] = bible(root)
    return {name: ascii_only(text) for name, text in result.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=pathlib.Path,
                        help="where to write one .txt file per document")
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in documents().items():
        (directory / f"{name}.txt").write_bytes(text)
        print(f"{name}.txt: {len(text)} bytes")


if __name__ == "__main__":
    main()
