#!/usr/bin/env python3
"""swap_4_0.py IMAGE BIG [little]: rewrites a little-endian SquashFS 4.0 image in big-endian order, as images of some vendors are.

The metadata of IMAGE must be stored (mksquashfs -noI -noId -noF -noX), so that each number keeps its place.
With the word little, the headers of metadata blocks stay little-endian, as in images of AVM.
"""
import struct
import sys

image = bytearray(open(sys.argv[1], "rb").read())


def swap(at, sizes):
    for size in sizes:
        image[at : at + size] = image[at : at + size][::-1]
        at += size
    return at


def u16(at):
    return struct.unpack_from("<H", image, at)[0]


def u32(at):
    return struct.unpack_from("<I", image, at)[0]


def u64(at):
    return struct.unpack_from("<Q", image, at)[0]


class Table:
    """The bytes of stored metadata blocks, and where each is in the image."""

    def __init__(self, start, end):
        self.where, self.blocks, self.headers = [], {}, []
        while start < end:
            header = u16(start)
            assert header & 0x8000, "the metadata is compressed"
            self.blocks[start] = len(self.where)
            self.headers.append(start)
            self.where += range(start + 2, start + 2 + (header & 0x7FFF))
            start += 2 + (header & 0x7FFF)
        self.plain = bytes(image[at] for at in self.where)

    def number(self, at, size):
        return int.from_bytes(self.plain[at : at + size], "little")

    def swap(self, at, sizes):
        for size in sizes:
            for byte in range(size):
                image[self.where[at + byte]] = self.plain[at + size - 1 - byte]
            at += size
        return at

    def finish(self):
        for header in [] if sys.argv[3:] == ["little"] else self.headers:
            swap(header, [2])


size, fragments, ids, block = u64(40), u32(16), u16(26), u32(12)
id_index, xattr_start, inode_start, directory_start, fragment_index, export_index = (u64(48 + 8 * n) for n in range(6))
inodes = u32(4)
tables = [Table(inode_start, directory_start)]
first = u64(fragment_index) if fragments else u64(export_index) if export_index != 2**64 - 1 else u64(id_index)
tables.append(Table(directory_start, first))
inode_table, directory_table = tables

at = 0
while at < len(inode_table.plain):
    kind = inode_table.number(at, 2)
    body = inode_table.swap(at, [2, 2, 2, 2, 4, 4])
    word = inode_table.number
    if kind == 1:
        start, length, offset = word(body, 4), word(body + 8, 2), word(body + 10, 2)
        at = inode_table.swap(body, [4, 4, 2, 2, 4])
    elif kind == 8:
        length, start, count, offset = word(body + 4, 4), word(body + 8, 4), word(body + 16, 2), word(body + 18, 2)
        at = inode_table.swap(body, [4, 4, 4, 4, 2, 2, 4])
        for _ in range(count):
            name = word(at + 8, 4) + 1
            at = inode_table.swap(at, [4, 4, 4]) + name
    elif kind in (2, 9):
        length, fragment = (word(body + 12, 4), word(body + 4, 4)) if kind == 2 else (word(body + 8, 8), word(body + 28, 4))
        at = inode_table.swap(body, [4] * 4 if kind == 2 else [8] * 3 + [4] * 4)
        at = inode_table.swap(at, [4] * (-(-length // block) if fragment == 0xFFFFFFFF else length // block))
        continue
    elif kind in (3, 10):
        length = word(body + 4, 4)
        at = inode_table.swap(body, [4, 4]) + length
        at = inode_table.swap(at, [4]) if kind == 10 else at
        continue
    else:
        at = inode_table.swap(body, [4] * {4: 2, 5: 2, 6: 1, 7: 1, 11: 3, 12: 3, 13: 2, 14: 2}[kind])
        continue
    place = directory_table.blocks.get(directory_start + start, 0) + offset
    end = place + length - 3
    while place < end:
        entries = directory_table.number(place, 4) + 1
        place = directory_table.swap(place, [4, 4, 4])
        for _ in range(entries):
            name = directory_table.number(place + 6, 2) + 1
            place = directory_table.swap(place, [2, 2, 2, 2]) + name

for index, count, sizes in (
    [(fragment_index, fragments, [8, 4, 4])] * bool(fragments)
    + [(export_index, inodes, [8])] * (export_index != 2**64 - 1)
    + [(id_index, ids, [4])]
):
    table = Table(u64(index), index)
    tables.append(table)
    at = 0
    for _ in range(count):
        at = table.swap(at, sizes)
    swap(index, [8] * -(-count * sum(sizes) // 8192))
assert xattr_start == 2**64 - 1, "the image has extended attributes"
for table in tables:
    table.finish()
swap(0, [4] * 5 + [2] * 6 + [8] * 8)
open(sys.argv[2], "wb").write(image)
