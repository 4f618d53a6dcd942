"""Repairs a file as docs/format/recovery.md describes.

python3 documented.py DAMAGED [SIDECAR] writes the repaired bytes to standard output. Without SIDECAR, the recovery data follows
the protected bytes in DAMAGED. It uses only Python's standard library and has its own BLAKE3, so it is slow.
"""

import struct
import sys

MASK = (1 << 32) - 1
IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8


def compress(value, words, counter, length, flags):
    state = value + IV[:4] + [counter & MASK, counter >> 32, length, flags]

    def mix(a, b, c, d, x, y):
        for word, (r, s) in ((x, (16, 12)), (y, (8, 7))):
            state[a] = (state[a] + state[b] + word) & MASK
            turned = state[d] ^ state[a]
            state[d] = (turned >> r | turned << (32 - r)) & MASK
            state[c] = (state[c] + state[d]) & MASK
            turned = state[b] ^ state[c]
            state[b] = (turned >> s | turned << (32 - s)) & MASK

    for _ in range(7):
        for lane in range(4):
            mix(lane, 4 + lane, 8 + lane, 12 + lane, words[2 * lane], words[2 * lane + 1])
        for lane in range(4):
            down = (4 + (lane + 1) % 4, 8 + (lane + 2) % 4, 12 + (lane + 3) % 4)
            mix(lane, *down, words[8 + 2 * lane], words[9 + 2 * lane])
        words = [words[at] for at in ORDER]
    return [state[at] ^ state[at + 8] for at in range(8)]


def chunk(content, counter, root):
    value = IV
    blocks = [content[at : at + 64] for at in range(0, len(content), 64)] or [b""]
    for at, block in enumerate(blocks):
        last = at == len(blocks) - 1
        flags = CHUNK_START * (at == 0) | CHUNK_END * last | ROOT * (last and root)
        words = list(struct.unpack("<16I", block.ljust(64, b"\0")))
        value = compress(value, words, counter, len(block), flags)
    return value


def subtree(content, counter=0, root=False):
    """Returns the chaining value of bytes that begin at chunk `counter`, as words."""
    if len(content) <= 1024:
        return chunk(content, counter, root)
    left = 1024
    while left * 2 < len(content):
        left *= 2
    words = subtree(content[:left], counter) + subtree(content[left:], counter + left // 1024)
    return compress(IV, words, 0, 64, PARENT | ROOT * root)


def blake3(content):
    return struct.pack("<8I", *subtree(content, root=True))


BASIS = [
    0x0001, 0xACCA, 0x3C0E, 0x163E, 0xC582, 0xED2E, 0x914C, 0x4012,
    0x6C98, 0x10D8, 0x6A72, 0xB900, 0xFDB8, 0xFB34, 0xFF38, 0x991E,
]  # fmt: skip
POLYNOMIALS = [0]
for basis in BASIS:
    POLYNOMIALS += [polynomial ^ basis for polynomial in POLYNOMIALS]
NUMBERS = {polynomial: number for number, polynomial in enumerate(POLYNOMIALS)}
POWERS, LOGS = [], {}
power = 1
for exponent in range(65535):
    POWERS.append(NUMBERS[power])
    LOGS[NUMBERS[power]] = exponent
    power <<= 1
    if power >> 16:
        power ^= 0x1002D


def times(value, log):
    return POWERS[(LOGS[value] + log) % 65535] if value else 0


def symbols(shard):
    return [
        shard[64 * unit + k] | shard[64 * unit + 32 + k] << 8 for unit in range(len(shard) // 64) for k in range(32)
    ]


def shard_of(values):
    out = bytearray()
    for unit in range(0, len(values), 32):
        part = values[unit : unit + 32]
        out += bytes(value & 255 for value in part) + bytes(value >> 8 for value in part)
    return bytes(out)


def recover(data, repair):
    """Returns all data shards. In `data` and `repair`, a lost shard is None."""
    lost = [index for index, shard in enumerate(data) if shard is None]
    spare = [index for index, shard in enumerate(repair) if shard is not None]
    if len(lost) > len(spare):
        raise SystemExit(f"{len(lost)} shards are lost, {len(spare)} can be repaired")
    k = 1
    while k < len(repair):
        k *= 2
    known = {k + index: symbols(shard) for index, shard in enumerate(data) if shard is not None}
    known.update({index: symbols(repair[index]) for index in spare[: len(lost)]})
    others = [point for point in range(k + len(data)) if point not in known]
    assert len(others) == k
    a = {i: sum(LOGS[i ^ e] for e in others) for i in known}
    out = list(data)
    for index in lost:
        m = k + index
        b = sum(LOGS[m ^ e] for e in others if e != m)
        total = [0] * len(next(iter(known.values())))
        for i, values in known.items():
            log = (a[i] - b - LOGS[m ^ i]) % 65535
            total = [sum_ ^ times(value, log) for sum_, value in zip(total, values)]
        out[index] = shard_of(total)
    return out


def rounded(number, unit):
    return -(-number // unit) * unit


class Shape:
    def __init__(self, s, r, length):
        self.size, self.r, self.length = 1 << s, r, length
        self.n = -(-length // self.size)
        self.p = self.size if self.n > 1 else rounded(length, 64)
        table = 24 * self.n
        self.b = max(rounded(-(-table // 32), 64), min(512, rounded(table, 64)))
        self.t = -(-table // self.b)
        self.u = max(self.t, min(r, 32))

    def extent(self, index):
        return min(self.size, self.length - index * self.size)


def packets(file):
    """Returns the set of the last packet: its parameters, table pieces, recovery shards and the offset of its first packet."""
    sets, at = {}, 0
    last = None
    while True:
        at = file.find(b"\x8bRCV\r\n\x1a\n", at)
        if at < 0:
            break
        found = packet(file, at)
        if found is None:
            at += 1
            continue
        key, kind, index, payload = found
        sets.setdefault(key, ({}, {}, at))[kind == "R"].setdefault(index, payload)
        last = key
        at += 80 + len(payload)
    if last is None:
        raise SystemExit("no packet")
    pieces, shards, first = sets[last]
    return last, pieces, shards, first


def packet(file, at):
    if at + 80 > len(file):
        return None
    _, version, kind, s, zero, r, length, index, whole, check = struct.unpack_from("<8s4BIQQ32s16s", file, at)
    kind = chr(kind)
    if version != 1 or kind not in "tR" or zero or not 10 <= s <= 48 or not 1 <= r <= 16384 or length == 0:
        return None
    shape = Shape(s, r, length)
    payload_size, count = (shape.b, shape.t + shape.u) if kind == "t" else (shape.p, r)
    payload = file[at + 80 : at + 80 + payload_size]
    if shape.n > 16384 or index >= count or len(payload) < payload_size:
        return None
    if blake3(file[at : at + 64] + payload)[:16] != check:
        return None
    return (s, r, length, whole), kind, index, payload


M = 0x9E3779B97F4A7C15
MASK64 = (1 << 64) - 1


def rolling(content):
    total = 0
    for byte in content:
        total = (total * M + byte) & MASK64
    return total


def node(content, shape, index):
    return struct.pack("<8I", *subtree(content, index * shape.size // 1024))[:16]


def locate(file, shape, table):
    shards = [None] * shape.n

    def look(index, at):
        content = file[at : at + shape.extent(index)]
        if at >= 0 and len(content) == shape.extent(index) and node(content, shape, index) == table[index][1]:
            shards[index] = content

    for index in range(shape.n):
        look(index, index * shape.size)
    for index in range(shape.n):
        if shards[index] is None:
            look(index, index * shape.size + len(file) - shape.length)
    missing = {table[index][0]: index for index in range(shape.n) if shards[index] is None}
    if missing and len(file) >= shape.size:
        total, first = rolling(file[: shape.size]), pow(M, shape.size - 1, 1 << 64)
        for at in range(len(file) - shape.size + 1):
            if total in missing:
                look(missing[total], at)
            if at + shape.size < len(file):
                total = ((total - file[at] * first) * M + file[at + shape.size]) & MASK64
    return shards


def main():
    file = open(sys.argv[1], "rb").read()
    holder = open(sys.argv[2], "rb").read() if len(sys.argv) > 2 else file
    (s, r, length, whole), pieces, parity, first = packets(holder)
    shape = Shape(s, r, length)
    if len(sys.argv) == 2:
        file = file[:first]
    data = recover([pieces.get(index) for index in range(shape.t)], [pieces.get(shape.t + j) for j in range(shape.u)])
    table = list(struct.iter_unpack("<Q16s", b"".join(data)[: 24 * shape.n]))
    shards = locate(file, shape, table)
    padded = [shard and shard.ljust(shape.p, b"\0") for shard in shards]
    repaired = b"".join(recover(padded, [parity.get(index) for index in range(r)]))[:length]
    if blake3(repaired) != whole:
        raise SystemExit("wrong hash of the repaired bytes")
    sys.stdout.buffer.write(repaired)


main()
