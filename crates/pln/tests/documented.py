"""Decompresses a .pln file as docs/format/pln.md describes. python3 documented.py FILE writes the content to standard output.

It supports the codecs of Python's standard library: gzip, lzma, xz and bzip2. It also supports none, zle and slack. It verifies sizes,
offsets and counts, but no hashes, because the standard library has no BLAKE3.
"""

import bz2
import lzma
import struct
import sys
import zlib

HEAD, PIECE, ENTRY, TRAILER, GROUP = 32, 24, 40, 72, 1024


def need(condition, what):
    if not condition:
        raise SystemExit(f"not a .pln file: {what}")


def zle(payload):
    out, at = bytearray(), 0
    while at < len(payload):
        token = payload[at]
        at += 1
        if token < 64:
            need(at + token + 1 <= len(payload), "a run of bytes is cut off")
            out += payload[at : at + token + 1]
            at += token + 1
        else:
            out += bytes(token - 63)
    return bytes(out)


CODECS = {
    0: bytes,
    1: zlib.decompress,
    2: lambda payload: lzma.decompress(payload, lzma.FORMAT_ALONE),
    4: lambda payload: lzma.decompress(payload, lzma.FORMAT_XZ),
    7: bz2.decompress,
    9: zle,
}


def piece(file, at, kind):
    found, codec, flags, zero, logical, stored, _sum, _check = struct.unpack_from("<4B2I8s4s", file, at)
    need(found == kind and zero == 0, f"kind {found:#x} at byte {at}, not {kind:#x}")
    return codec, flags, logical, stored


def head(file):
    magic, version, log, zero, must, _may, zeros, _check = struct.unpack_from("<8sBBHIII8s", file, 0)
    need(magic == b"\x8bPLN\r\n\x1a\n" and version == 1 and 12 <= log <= 24, "its head")
    need(zero == must == zeros == 0, "flags")
    return 1 << log


def trailer(file, record_size):
    magic, index, records, logical, _root, _check = struct.unpack_from("<8s3Q32s8s", file, len(file) - TRAILER)
    need(magic == b"\x8bpln\r\n\x1a\n", "its trailer")
    need(records == -(-logical // record_size), f"{records} records for {logical} bytes")
    return index, records, logical


def record(file, at, entry, length):
    """Returns the content of a record, and the offset of the next piece."""
    codec, flags, logical, stored = piece(file, at, 0x52)
    need((stored, codec, flags, 0) == entry[:4], f"the record at byte {at} differs from its table")
    need(logical == length, f"{logical} bytes in the record at byte {at}, not {length}")
    need(codec in CODECS, f"codec {codec} is not supported")
    content = CODECS[codec](file[at + PIECE : at + PIECE + stored])
    if flags == 1:
        content += bytes(logical - len(content))
    need(flags in (0, 1) and len(content) == logical, f"the length of the record at byte {at}")
    return content, at + PIECE + stored


def entries(file, at, kind, count, form):
    _, _, logical, stored = piece(file, at, kind)
    need(logical == count and stored == ENTRY * count, f"{logical} entries at byte {at}, not {count}")
    found = struct.iter_unpack(form, file[at + PIECE : at + PIECE + stored])
    return list(found), at + PIECE + stored


def content(file):
    record_size = head(file)
    index_at, records, logical = trailer(file, record_size)
    groups = -(-records // GROUP)
    index, end = entries(file, index_at, 0x69, groups, "<Q32s")
    need(end == len(file) - TRAILER, "its index")
    at, number = HEAD, 0
    for table_at, _node in index:
        count = min(GROUP, records - number)
        table, end = entries(file, table_at, 0x74, count, "<IBBH32s")
        for entry in table:
            made, at = record(file, at, entry, min(record_size, logical - number * record_size))
            number += 1
            yield made
        need(at == table_at, f"the table at byte {table_at}, not {at}")
        at = end
    need(at == index_at, f"the index at byte {index_at}, not {at}")


with open(sys.argv[1], "rb") as source:
    data = source.read()
for part in content(data):
    sys.stdout.buffer.write(part)
