"""Compares packline with other ways for a Python program to read many small files.

    python compare.py [--rounds N] [DIRECTORY]

Makes 100,000 files of 100 to 4,000 bytes in DIRECTORY: as an image, as a zip, and as a directory. Each measurement is a
process of its own. The processes of a table take turns. Each checks the number and the length of what it read. The
processor time does not count what an interpreter takes that only imports the modules. Prints tables of Markdown.
"""

import argparse
import pathlib
import os
import random
import stat
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

FILES = 100_000
READS = 10_000


def name_of(number):
    return f"d{number // 1000:03}/f{number:06}.txt"


def make(top):
    """Writes the files: text that compresses like sources."""
    import packline

    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randrange(2, 12))) for _ in range(5000)]
    tree = packline.Tree()
    with zipfile.ZipFile(top / "files.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(FILES):
            size = chance.randrange(100, 4000)
            content = " ".join(chance.choices(words, k=size // 7 + 1))[:size].encode()
            tree.add(name_of(number), content)
            archive.writestr(name_of(number), content)
            path = top / "files" / name_of(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    packline.pack(tree, top / "files.sqfs", codec="zstd")


def paths_of(task):
    """The paths to read: all files in order, all files in a random order, or a part of them."""
    numbers = {"in order": range(FILES), "shuffled": random.Random(3).sample(range(FILES), FILES)}
    return [name_of(number) for number in numbers.get(task) or random.Random(2).sample(range(FILES), READS)]


def in_threads(threads, paths, read):
    """Divides the reads among threads of Python: each calls read for one path after another."""

    def all_of(part):
        return sum(len(read(path)) for path in part)

    if threads == 1:
        return all_of(paths)
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(all_of, [paths[at::threads] for at in range(threads)]))


class Packline:
    modules = "packline"
    cache = None

    def __init__(self, top):
        import packline

        self.image = packline.open(top / "files.sqfs", cache=self.cache)

    def entries(self):
        return sum(1 for _ in self.image.entries())

    def attributes(self):
        return sum(entry.stat().st_size > 0 for entry in self.image.entries() if entry.is_file())

    def read(self, paths, threads):
        return in_threads(threads, paths, self.image.read)


class PacklineFiles(Packline):
    def read(self, paths, threads):
        def read(path):
            with self.image.open(path) as file:
                return file.read()

        return in_threads(threads, paths, read)


class PacklineMany(Packline):
    def read(self, paths, threads):
        return sum(len(content) for _, content in self.image.read_many(paths, workers=threads))


class PacklineCached(Packline):
    """A cache that holds all decoded blocks."""

    cache = 512 << 20


class PacklineManyCached(PacklineMany):
    cache = 512 << 20


class Directory:
    modules = "os"

    def __init__(self, top):
        self.top = f"{top}/files/"

    def entries(self):
        return sum(len(directories) + len(files) for _, directories, files in os.walk(self.top))

    def read(self, paths, threads):
        def read(path):
            with open(self.top + path, "rb") as file:
                return file.read()

        return in_threads(threads, paths, read)


class Zip:
    modules = "zipfile"

    def __init__(self, top):
        self.archive = zipfile.ZipFile(top / "files.zip")

    def entries(self):
        names = self.archive.namelist()
        return len(names) + len({os.path.dirname(name) for name in names})

    def read(self, paths, threads):
        return in_threads(threads, paths, self.archive.read)


class PySquashfsImage:
    modules = "PySquashfsImage"

    def __init__(self, top):
        from PySquashfsImage import SquashFsImage

        self.image = SquashFsImage.from_file(str(top / "files.sqfs"))

    def entries(self):
        return sum(1 for entry in self.image if entry.path not in ("", "/"))

    def attributes(self):
        return sum(entry.size > 0 for entry in self.image if entry.is_file)

    def read(self, paths, threads):
        # An image has one position in its file, which threads must not move at the same time.
        lock = threading.Lock()

        def read(path):
            with lock:
                return self.image.select("/" + path).read_bytes()

        return in_threads(threads, paths, read)


class Ratarmount:
    """The library of ratarmount, without its mount. It reads SquashFS with PySquashfsImage."""

    modules = "ratarmountcore.mountsource.formats.squashfs"

    def __init__(self, top):
        from ratarmountcore.mountsource.formats.squashfs import SquashFSMountSource

        self.source = SquashFSMountSource(str(top / "files.sqfs"), writeIndex=False, indexFilePath=":memory:")

    def entries(self):
        pending, found = ["/"], 0
        while pending:
            path = pending.pop()
            modes = self.source.list_mode(path)
            found += len(modes)
            pending += [f"{path.rstrip('/')}/{name}" for name, mode in modes.items() if stat.S_ISDIR(mode)]
        return found

    def read(self, paths, threads):
        lock = threading.Lock()

        def read(path):
            with lock, self.source.open(self.source.lookup("/" + path)) as file:
                return file.read()

        return in_threads(threads, paths, read)


ALL = FILES + FILES // 1000
# Title, tasks, and the ways with their numbers of threads. Ratios are to the first row of PySquashfsImage with the same number of threads.
TABLES = [
    (
        "Open and list 100,000 files",
        "entries",
        [
            ("iteration", Packline, 1),
            ("iteration", PySquashfsImage, 1),
            ("`list_mode`", Ratarmount, 1),
            ("`namelist`", Zip, 1),
            ("`os.walk`", Directory, 1),
        ],
    ),
    ("Open, list, sizes of 100,000 files", "attributes", [("`stat`", Packline, 1), ("`size`", PySquashfsImage, 1)]),
    (
        "Open and read 10,000 random files",
        "some",
        [
            ("`read`", Packline, 1),
            ("`read`, `cache=512 << 20`", PacklineCached, 1),
            ("`read_many`", PacklineMany, 1),
            ("`read_bytes`", PySquashfsImage, 1),
            ("`open`", Ratarmount, 1),
            ("a zip, `zipfile`", Zip, 1),
            ("files of the directory", Directory, 1),
            ("`read`", Packline, 4),
            ("`read`, `cache=512 << 20`", PacklineCached, 4),
            ("`read_many`", PacklineMany, 4),
            ("`read_bytes`", PySquashfsImage, 4),
            ("a zip, `zipfile`", Zip, 4),
            ("files of the directory", Directory, 4),
        ],
    ),
    (
        "Open and read 100,000 files, in order",
        "in order",
        [
            ("`read_many`", PacklineMany, 2),
            ("`read_many`", PacklineMany, 1),
            ("`open`", PacklineFiles, 1),
            ("files of the directory", Directory, 1),
            ("files of the directory", Directory, 2),
            ("a zip, `zipfile`", Zip, 1),
            ("`read_bytes`", PySquashfsImage, 1),
            ("`read_bytes`", PySquashfsImage, 2),
            ("`open`", Ratarmount, 1),
        ],
    ),
    (
        "Open and read 100,000 files, shuffled",
        "shuffled",
        [
            ("`read_many`", PacklineMany, 2),
            ("`read_many`, `cache=512 << 20`", PacklineManyCached, 2),
            ("`open`", PacklineFiles, 2),
            ("files of the directory", Directory, 2),
            ("a zip, `zipfile`", Zip, 1),
            ("`read_bytes`", PySquashfsImage, 2),
            ("`open`", Ratarmount, 1),
        ],
    ),
]
NAMES = {
    "Packline": "packline",
    "PacklineFiles": "packline",
    "PacklineMany": "packline",
    "PacklineCached": "packline",
    "PacklineManyCached": "packline",
    "Directory": "Python",
    "Zip": "Python",
    "PySquashfsImage": "PySquashfsImage",
    "Ratarmount": "ratarmountcore",
}


def work(task, way, threads, top):
    """One measurement. Returns what was read, in bytes or in entries."""
    opened = globals()[way](pathlib.Path(top))
    if task in ("entries", "attributes"):
        found = getattr(opened, task)()
        assert found == (ALL if task == "entries" else FILES), found
        return found
    return opened.read(paths_of(task), threads)


class Sample:
    """The times of a process in seconds, its largest memory in MB, and what it printed."""

    def __init__(self, arguments):
        start = time.perf_counter()
        command = [sys.executable, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            lines = process.stdout.read().splitlines()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        self.elapsed = time.perf_counter() - start
        self.user = used.ru_utime
        self.processor = used.ru_utime + used.ru_stime
        self.memory = used.ru_maxrss / 1000
        # ratarmount prints other lines before.
        self.output = lines[-1:]


def median(samples, field):
    return statistics.median(getattr(sample, field) for sample in samples)


def table(title, task, ways, top, rounds):
    samples = [[] for _ in ways]
    idle = {}
    for _, way, _ in ways:
        one = ["-c", f"import random, subprocess, tempfile, threading, zipfile, {way.modules}"]
        idle.setdefault(way, [Sample(one) for _ in range(3)])
    for _ in range(rounds):
        for (_, way, threads), found in zip(ways, samples):
            found.append(Sample([__file__, "--run", task, way.__name__, str(threads), str(top)]))
    outputs = {line for found in samples for sample in found for line in sample.output}
    assert len(outputs) == 1, outputs
    used = [median(found, "processor") - median(idle[way], "processor") for (_, way, _), found in zip(ways, samples)]
    peer = {}
    for (_, way, threads), seconds in zip(ways, used):
        if way is PySquashfsImage:
            peer.setdefault(threads, seconds)
    print(f"\n## {title}\n")
    print("| program | how | threads | user CPU s | CPU s | elapsed s | peak memory MB | CPU, to PySquashfsImage |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for (how, way, threads), found, seconds in zip(ways, samples, used):
        user = median(found, "user") - median(idle[way], "user")
        times = f"{user:.2f} | {seconds:.2f} | {median(found, 'elapsed'):.2f} | {median(found, 'memory'):.0f}"
        ratio = seconds / peer.get(threads, peer[min(peer)])
        print(f"| {NAMES[way.__name__]} | {how} | {threads} | {times} | {ratio:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("directory", nargs="?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        top = pathlib.Path(directory)
        # In another process: the peak memory of a process begins with that of the process that started it.
        Sample([__file__, "--make", directory])
        sizes = [(top / name).stat().st_size for name in ("files.sqfs", "files.zip")]
        long = max(1, options.rounds // 3)
        print(f"The image has {sizes[0]:,} bytes, the zip {sizes[1]:,}. Medians of {options.rounds} interleaved runs;")
        print(f"where all files are read, of {long}.")
        for title, task, ways in TABLES:
            table(title, task, ways, top, long if task in ("in order", "shuffled") else options.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--run"]:
        print(work(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]))
    else:
        main()
