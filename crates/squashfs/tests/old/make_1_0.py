#!/usr/bin/env python3
"""make_1_0.py TREE IMAGE little|big: writes a SquashFS 1.0 image, for which no program is left."""
import os
import stat
import sys
import zlib

BLOCK = 4096
TIME = 1234567890


def packed(order, fields):
    """Fields of (bits, number), from the lowest bit in little-endian images and from the highest in big-endian ones."""
    number = total = 0
    for bits, value in fields:
        number = number | value << total if order == "little" else number << bits | value
        total += bits
    return number.to_bytes(total // 8, order)


class Table:
    """Metadata blocks; a position is (start of the block, offset)."""

    def __init__(self, order):
        self.order, self.done, self.open = order, b"", b""

    def place(self):
        return len(self.done), len(self.open)

    def add(self, data):
        self.open += data
        while len(self.open) >= 8192:
            self.flush()

    def flush(self):
        block, self.open = self.open[:8192], self.open[8192:]
        small = zlib.compress(block, 9)
        stored = small if len(small) < len(block) else block
        self.done += (len(stored) | (0 if stored is small else 0x8000)).to_bytes(2, self.order) + stored


def main(tree, image, order):
    data = b""
    inodes, listings = Table(order), Table(order)
    # 1000 is the number of the owner at index 17, in the second range of types.
    owners = [0, 7] + list(range(100, 115)) + [1000]
    groups = [0, 8, 7]
    count = 0

    def head(kind, status):
        owner = owners.index(status.st_uid)
        group = 15 if status.st_gid == status.st_uid else groups.index(status.st_gid)
        number = 0 if kind == 0 else kind + owner // 16 * 5
        fields = [(4, number), (12, status.st_mode & 0o7777), (4, owner % 16), (4, group)]
        return packed(order, fields), owner // 16

    def inode(data):
        nonlocal count
        count += 1
        place = inodes.place()
        inodes.add(data)
        return place

    def blocks(path):
        nonlocal data
        with open(path, "rb") as file:
            content = file.read()
        start, sizes = 51 + len(data), b""
        for at in range(0, len(content), BLOCK):
            plain = content[at : at + BLOCK]
            small = zlib.compress(plain, 9)
            stored = small if len(small) < len(plain) else plain
            data += stored
            sizes += packed(order, [(16, len(stored) | (0 if stored is small else 0x8000))])
        return packed(order, [(32, TIME), (32, start), (32, len(content))]) + sizes

    def special(kind, status, numbers):
        start, _ = head(kind, status)
        return inode(start + packed(order, numbers))

    def entry(path):
        """Returns the type in listings, and the position of the inode."""
        status = os.lstat(path)
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            return 1, directory(path, status)
        if stat.S_ISREG(mode):
            start, _ = head(2, status)
            return 2, inode(start + blocks(path))
        if stat.S_ISLNK(mode):
            target = os.readlink(path)
            start, _ = head(3, status)
            return 3, inode(start + packed(order, [(16, len(target))]) + target)
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
            kind = 4 if stat.S_ISBLK(mode) else 5
            device = os.major(status.st_rdev) << 8 | os.minor(status.st_rdev)
            return kind, special(kind, status, [(16, device)])
        kind = 6 if stat.S_ISFIFO(mode) else 7
        return kind, special(0, status, [(4, kind), (4, owners.index(status.st_uid) // 16)])

    def directory(path, status):
        runs = []
        # The order of the names does not matter in this version.
        for name in sorted(os.listdir(path), reverse=True):
            kind, (block, offset) = entry(os.path.join(path, name))
            if not runs or runs[-1][0] != block or len(runs[-1][1]) == 256:
                runs.append((block, []))
            runs[-1][1].append(packed(order, [(13, offset), (3, kind), (8, len(name) - 1)]) + name)
        listing = b"".join(packed(order, [(8, len(run) - 1), (24, block)]) + b"".join(run) for block, run in runs)
        block, offset = listings.place()
        listings.add(listing)
        start, _ = head(1, status)
        return inode(start + packed(order, [(19, len(listing)), (13, offset), (32, TIME), (24, block)]))

    root = directory(os.fsencode(tree), os.lstat(tree))
    for table in (inodes, listings):
        table.flush()
    inode_start = 51 + len(data)
    listing_start = inode_start + len(inodes.done)
    owner_start = listing_start + len(listings.done)
    group_start = owner_start + 4 * len(owners)
    end = group_start + 4 * len(groups)
    fields = [(32, 0x73717368), (32, count), (32, end), (32, owner_start), (32, group_start), (32, inode_start)]
    fields += [(32, listing_start), (16, 1), (16, 0), (16, BLOCK), (16, 12), (8, 0), (8, len(owners)), (8, len(groups))]
    fields += [(32, TIME), (64, root[0] << 16 | root[1])]
    ids = b"".join(number.to_bytes(4, order) for number in owners + groups)
    with open(image, "wb") as file:
        file.write(packed(order, fields) + data + inodes.done + listings.done + ids)


main(*sys.argv[1:])
