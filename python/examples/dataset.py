"""Trains on many small files in an image: a data set for PyTorch that reads each batch with several threads.

    python dataset.py IMAGE [--batch N] [--epochs N] [--workers N]
    python dataset.py --make N IMAGE

With PyTorch, batches come from torch.utils.data.DataLoader. Without it, a loop does the same. --make writes an image
with N files of 100 to 4,000 bytes first.
"""

import argparse
import os
import random
import time

import packline

try:
    from torch.utils.data import DataLoader
except ImportError:
    DataLoader = None


class ImageDataset:
    """The files of an image that match a pattern, as pairs of content and label. The label is the directory's name.

    It is a map-style data set of PyTorch: it has a length, and items by number. PyTorch asks __getitems__ for all items
    of a batch at once, and read_many decodes each block of a batch once. The object can be pickled, so worker processes
    may be forked or spawned.
    """

    def __init__(self, path, select=None, transform=None, cache=256 << 20):
        self.image = packline.open(path, cache=cache)
        self.paths = [entry.path for entry in self.image.entries(select) if entry.is_file()]
        self.transform = transform or bytes

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers):
        read = self.image.read_many([self.paths[number] for number in numbers])
        return [(self.transform(content), os.path.basename(os.path.dirname(path))) for path, content in read]


def batches(files, size, workers, chance):
    """The batches of an epoch, in a random order."""
    if DataLoader is not None:
        # A model needs a collate_fn that makes tensors. Here a batch stays a list.
        yield from DataLoader(files, batch_size=size, shuffle=True, num_workers=workers, collate_fn=list)
        return
    numbers = chance.sample(range(len(files)), len(files))
    for start in range(0, len(numbers), size):
        yield files.__getitems__(numbers[start : start + size])


def make(path, count):
    """Packs files of text, 1,000 in a directory."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randrange(2, 12))) for _ in range(5000)]
    tree = packline.Tree()
    for number in range(count):
        size = chance.randrange(100, 4000)
        text = " ".join(chance.choices(words, k=size // 7 + 1))[:size]
        tree.add(f"train/{number // 1000:03}/{number:06}.txt", text.encode())
    packline.pack(tree, path, replace=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image")
    parser.add_argument("--make", type=int, metavar="N", help="write an image with N files first")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=0, help="worker processes of PyTorch's DataLoader")
    options = parser.parse_args()
    if options.make:
        make(options.image, options.make)
    files = ImageDataset(options.image, select="train")
    chance = random.Random(2)
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        count = size = 0
        for batch in batches(files, options.batch, options.workers, chance):
            count += len(batch)
            size += sum(len(content) for content, label in batch)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch}: {count} files, {size} bytes, {count / seconds:.0f} files/s")


if __name__ == "__main__":
    main()
