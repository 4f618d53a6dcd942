"""Damages images at random and reads them in every way. An image may raise packline.Error, and nothing else.

    python mutants.py [COUNT [SEED]]
"""

import faulthandler
import random
import sys

import packline

LIMIT = 1 << 20
"""Seconds for one image."""
TIMEOUT = 60


def images():
    """Small images with all kinds of entries."""
    made = []
    for container in ("squashfs", "erofs"):
        for codec in ("zstd:level=3", "lz4", "none"):
            tree = packline.Tree({f"d{number % 7}/file-{number}": bytes([number]) * number * 97 for number in range(40)})
            tree.add("large", bytes(range(256)) * 600, xattrs={"user.a": b"b" * 30, "user.c": b""})
            tree.add("zeros", bytes(300_000), mtime=5)
            tree.add_symlink("link", "d1/file-1")
            tree.add_symlink("d2/up", "../d3")
            tree.add_hard_link("hard", "large")
            tree.add_special("null", "char_device", major=1, minor=3)
            tree.add_special("pipe", "fifo")
            made.append(pack(tree, container, codec))
    return made


def pack(tree, container, codec):
    import io

    target = io.BytesIO()
    packline.pack(tree, target, container=container, codec=codec, block_size="16K", workers=0)
    return target.getvalue()


def mutant(image, chance):
    """A damaged copy of an image."""
    image = bytearray(image)
    start = 1024 if chance.random() < 0.3 else 0
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(min(start, len(image) - 1), len(image))
        if chance.random() < 0.4:
            # Tables are at the end of a SquashFS image, and at the start of an EROFS image.
            at = chance.choice((chance.randrange(min(len(image), 4096)), max(0, len(image) - 1 - chance.randrange(4096))))
        action = chance.randrange(5)
        if action == 0:
            image[at] ^= 1 << chance.randrange(8)
        elif action == 1:
            image[at] = chance.choice((0, 1, 127, 128, 255))
        elif action == 2:
            width = chance.choice((2, 4, 8))
            value = chance.choice((0, 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1, chance.getrandbits(8 * width)))
            image[at : at + width] = value.to_bytes(width, "little")[: max(0, len(image) - at)]
        elif action == 3:
            other = chance.randrange(len(image))
            image[at : at + 16] = image[other : other + len(image[at : at + 16])]
        elif len(image) > 200 and chance.random() < 0.2:
            del image[chance.randrange(100, len(image)) :]
    return bytes(image)


def read(content):
    """Reads an image in every way. Returns the kinds of the exceptions."""
    kinds = set()

    def attempt(action):
        try:
            return action()
        except packline.Error as error:
            if error.kind == "internal":
                raise AssertionError(f"internal error: {error}") from error
            str(error), repr(error.entry), error.offset
            kinds.add(error.kind)
            return None

    image = attempt(lambda: packline.open(content))
    if image is None:
        return kinds
    paths = []
    entries = image.entries()
    for _ in range(1000):
        entry = attempt(lambda: next(entries, "end"))
        if entry == "end":
            break
        if entry is None:
            continue
        paths.append(entry.path)
        for action in (entry.stat, entry.xattrs, lambda: entry.read(limit=LIMIT), lambda: image.resolve(entry.path)):
            attempt(action)
        if entry.is_dir():
            attempt(lambda: [other.name for other in image.scandir(entry.path)])
        if entry.is_file():
            attempt(lambda: entry.open().pread(100, max(0, entry.size - 50)))
    for _, found in image.read_many(paths, workers=2, limit=LIMIT, on_error="return"):
        if not isinstance(found, (bytes, packline.Error)):
            raise AssertionError(f"unexpected {found!r}")
    attempt(lambda: [names for names in image.walk()])
    attempt(lambda: len(image))
    attempt(lambda: image.verify(workers=0))
    return kinds


def run(count, seed):
    """Reads COUNT mutants. Returns how many raised an exception, and the kinds."""
    originals = images()
    for original in originals:
        assert read(original) <= {"is_directory", "invalid"}, read(original)
    raised, kinds = 0, set()
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        content = mutant(chance.choice(originals), chance)
        faulthandler.dump_traceback_later(TIMEOUT, exit=True)
        try:
            found = read(content)
        except BaseException:
            print(f"mutant {number} of seed {seed}", file=sys.stderr)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
        raised += bool(found - {"is_directory", "invalid"})
        kinds |= found
    return raised, kinds


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    raised, kinds = run(count, sys.argv[2] if len(sys.argv) > 2 else "1")
    print(f"{count} mutants: {raised} raised an exception; kinds: {', '.join(sorted(kinds))}")
