"""Compares packline with PySquashfsImage: processor time of a listing and of random reads of small files.

    python compare.py [DIRECTORY]

Makes an image of 100,000 files of 100 to 4,000 bytes in DIRECTORY. Each measurement runs in a process of its own, and
counts the processor time of the process from the start of the interpreter, without the time that an interpreter takes
that only imports the module. Prints a table of Markdown.
"""

import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FILES = 100_000
READS = 10_000
ROUNDS = 5


def make(path):
    """Packs the files: text that compresses like sources."""
    import packline

    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randrange(2, 12))) for _ in range(5000)]
    tree = packline.Tree()
    for number in range(FILES):
        size = chance.randrange(100, 4000)
        text = " ".join(chance.choices(words, k=size // 7 + 1))[:size]
        tree.add(f"d{number // 1000:03}/f{number:06}.txt", text.encode())
    packline.pack(tree, path, codec="zstd")


def chosen():
    """Paths of random files."""
    numbers = random.Random(2).sample(range(FILES), READS)
    return [f"d{number // 1000:03}/f{number:06}.txt" for number in numbers]


def packline_import(path, threads):
    import packline  # noqa: F401


def packline_list(path, threads):
    import packline

    with packline.open(path) as image:
        assert sum(1 for entry in image.entries() if entry.size >= 0) == FILES + FILES // 1000


def packline_list_stat(path, threads):
    import packline

    with packline.open(path) as image:
        assert sum(entry.stat().st_size > 0 for entry in image.entries() if entry.is_file()) == FILES


def packline_read(path, threads):
    import packline

    with packline.open(path) as image:
        in_threads(threads, lambda paths: [image.read(path) for path in paths])


def packline_read_many(path, threads):
    import packline

    with packline.open(path) as image:
        assert sum(1 for _ in image.read_many(chosen(), workers=threads)) == READS


def pysquashfsimage_import(path, threads):
    from PySquashfsImage import SquashFsImage  # noqa: F401


def pysquashfsimage_list(path, threads):
    from PySquashfsImage import SquashFsImage

    with SquashFsImage.from_file(path) as image:
        assert sum(1 for entry in image if entry.path) == FILES + FILES // 1000 + 1


def pysquashfsimage_list_stat(path, threads):
    from PySquashfsImage import SquashFsImage

    with SquashFsImage.from_file(path) as image:
        assert sum(entry.size > 0 for entry in image if entry.is_file) == FILES


def pysquashfsimage_read(path, threads):
    from PySquashfsImage import SquashFsImage

    # An image has one position in its file, which threads must not move at the same time.
    lock = threading.Lock()

    def read(image, path):
        with lock:
            return image.select("/" + path).read_bytes()

    with SquashFsImage.from_file(path) as image:
        in_threads(threads, lambda paths: [read(image, path) for path in paths])


def in_threads(count, read):
    """Divides the reads among threads of Python."""
    from concurrent.futures import ThreadPoolExecutor

    paths = chosen()
    if count == 1:
        contents = read(paths)
    else:
        with ThreadPoolExecutor(count) as pool:
            contents = [content for part in pool.map(read, [paths[at::count] for at in range(count)]) for content in part]
    assert len(contents) == READS and all(100 <= len(content) < 4000 for content in contents)


def measured(name, path, threads):
    """Median of the processor time and of the elapsed time of a process, in seconds."""
    used, elapsed = [], []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run([sys.executable, __file__, "--run", name, path, str(threads)], check=True)
        elapsed.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(used), statistics.median(elapsed)


ROWS = [
    ("open and list 100,000 entries", "packline_list", "pysquashfsimage_list", 1),
    ("open, list, size or stat of 100,000 files", "packline_list_stat", "pysquashfsimage_list_stat", 1),
    ("10,000 random reads, `read`, 1 thread", "packline_read", "pysquashfsimage_read", 1),
    ("10,000 random reads, `read`, 4 threads", "packline_read", "pysquashfsimage_read", 4),
    ("10,000 random reads, `read_many`, 1 thread", "packline_read_many", "pysquashfsimage_read", 1),
    ("10,000 random reads, `read_many`, 4 threads", "packline_read_many", "pysquashfsimage_read", 4),
]


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        path = str(pathlib.Path(directory, "files.sqfs"))
        make(path)
        idle = {name: measured(f"{name}_import", path, 1)[0] for name in ("packline", "pysquashfsimage")}
        known = {}
        print("| what | packline: processor, elapsed | PySquashfsImage: processor, elapsed | ratio of processor time |")
        print("|---|---|---|---|")
        for title, ours, theirs, threads in ROWS:
            for name in (ours, theirs):
                if (name, threads) not in known:
                    used, elapsed = measured(name, path, threads)
                    known[name, threads] = (used - idle[name.split("_")[0]], elapsed)
            (one, one_elapsed), (other, other_elapsed) = known[ours, threads], known[theirs, threads]
            print(f"| {title} | {one:.3f} s, {one_elapsed:.2f} s | {other:.3f} s, {other_elapsed:.2f} s | {one / other:.3f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        globals()[sys.argv[2]](sys.argv[3], int(sys.argv[4]))
    else:
        main()
