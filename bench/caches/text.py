"""The text the curves are measured on: a novel out of a Debian package, fetched with apt-get and checked by hash.

The package is janeaustenr for R, which keeps each novel as a vector of its lines. Here the lines of a paragraph are
joined again, with an empty line between paragraphs.
"""

import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

PACKAGE = "r-cran-janeaustenr"
VERSION = "1.0.0-1"
PACKAGE_SHA256 = "df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95"
STORED_IN = "./usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
NAME = "mansfield_park.txt"
TITLE = "Mansfield Park"
SHA256 = "53abe640dc7461f04faca70c2eb5fa3e804a6742f5d165624dcd597ef0337a3e"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetched_package(folder):
    command = ["apt-get", "download", "--quiet", "-o", "APT::Sandbox::User=root", f"{PACKAGE}={VERSION}"]
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{error}\n{PACKAGE} {VERSION} could not be fetched from Debian 12's sources. "
                 "--text FILE takes another English text of 900 KB or more.")
    package = next(folder.glob(f"{PACKAGE}*.deb"))
    if sha256(package) != PACKAGE_SHA256:
        sys.exit(f"{package.name} is not the pinned one: its SHA-256 is {sha256(package)}")
    return package


def file_in(package, path):
    archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=subprocess.PIPE).stdout
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.seek(0)
        with tarfile.open(fileobj=file) as tar:
            return tar.extractfile(path).read()


def stored_objects(database):
    """R's database of lazily loaded objects: for each the length, in four bytes, and a zlib stream."""
    while database:
        stream = zlib.decompressobj()
        yield stream.decompress(database[4:])
        database = stream.unused_data


def lines_of(stored):
    """A vector of strings as R serializes it, version 3, big-endian: a header that ends with the name of the encoding,
    the vector's type and length, and for each string its type, length and bytes."""
    at = 18 + struct.unpack_from(">I", stored, 14)[0]
    kind, count = struct.unpack_from(">II", stored, at)
    assert stored[:2] == b"X\n" and kind == 16
    at += 8
    for _ in range(count):
        length = struct.unpack_from(">I", stored, at + 4)[0]
        yield stored[at + 8:at + 8 + length].decode()
        at += 8 + length


def paragraphs(lines):
    parts = re.split(r"\n{2,}", "\n".join(line.strip() for line in lines).strip())
    return "\n\n".join(part.replace("\n", " ") for part in parts) + "\n"


def novel(folder):
    """The novel's file in `folder`, fetched where it is not there yet."""
    path = pathlib.Path(folder) / NAME
    if path.exists() and sha256(path) == SHA256:
        print(f"found     {path}", flush=True)
        return path
    print(f"fetches   {TITLE} out of Debian's package {PACKAGE} {VERSION} (1.6 MB) ...", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        database = file_in(fetched_package(pathlib.Path(temporary)), STORED_IN)
    novels = [list(lines_of(stored)) for stored in stored_objects(database)]
    lines = next(lines for lines in novels if lines[0].strip().lower() == TITLE.lower())
    words = paragraphs(lines).encode()
    found = hashlib.sha256(words).hexdigest()
    if found != SHA256:
        sys.exit(f"the text out of {PACKAGE} has the SHA-256 {found}, not the pinned {SHA256}")
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(words)
    partial.rename(path)
    return path
