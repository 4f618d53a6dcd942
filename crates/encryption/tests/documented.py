"""Opens a sealed stream by docs/format/encrypted.md alone: python3 documented.py FILE-KEY FILE writes its content to standard output.

FILE-KEY holds the 32 bytes that `age --decrypt` finds in a wrap. Python's standard library has neither BLAKE3 nor AES-GCM: they are
here, in the shortest form, for small files.
"""

import struct
import sys

FIXED, CHECK, HEADER, TAG = 32, 32, 4, 16


def need(condition, what):
    if not condition:
        raise SystemExit(f"not a sealed stream: {what}")


# BLAKE3
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
START, END, PARENT, ROOT, CONTEXT, MATERIAL = 1, 2, 4, 8, 32, 64
MASK = 0xFFFFFFFF


def mix(v, a, b, c, d, x, y):
    def turned(value, by):
        return (value >> by | value << 32 - by) & MASK

    v[a] = v[a] + v[b] + x & MASK
    v[d] = turned(v[d] ^ v[a], 16)
    v[c] = v[c] + v[d] & MASK
    v[b] = turned(v[b] ^ v[c], 12)
    v[a] = v[a] + v[b] + y & MASK
    v[d] = turned(v[d] ^ v[a], 8)
    v[c] = v[c] + v[d] & MASK
    v[b] = turned(v[b] ^ v[c], 7)


def compress(chain, block, counter, length, flags):
    m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    v = [*chain, *IV[:4], counter & MASK, counter >> 32, length, flags]
    for _ in range(7):
        for a in range(4):
            mix(v, a, a + 4, a + 8, a + 12, m[2 * a], m[2 * a + 1])
        for a in range(4):
            mix(v, a, 4 + (a + 1) % 4, 8 + (a + 2) % 4, 12 + (a + 3) % 4, m[8 + 2 * a], m[9 + 2 * a])
        m = [m[at] for at in ORDER]
    return [v[at] ^ v[at + 8] for at in range(8)]


def node(data, counter, key, flags, root):
    """The chaining value of a subtree; of the whole if `root`."""
    root = ROOT if root else 0
    if len(data) <= 1024:
        chain, blocks = key, [data[at : at + 64] for at in range(0, len(data), 64)] or [b""]
        for number, block in enumerate(blocks):
            last = number + 1 == len(blocks)
            edges = (START if number == 0 else 0) | (END | root if last else 0)
            chain = compress(chain, block, counter, len(block), flags | edges)
        return chain
    left = 1024
    while left * 2 < len(data):
        left *= 2
    pair = node(data[:left], counter, key, flags, False) + node(data[left:], counter + left // 1024, key, flags, False)
    return compress(key, struct.pack("<16I", *pair), 0, 64, flags | PARENT | root)


def blake3(data, key=IV, flags=0):
    return struct.pack("<8I", *node(data, 0, key, flags, True))


def derive(context, material):
    key = struct.unpack("<8I", blake3(context.encode(), IV, CONTEXT))
    return blake3(material, key, MATERIAL)


# AES-256
def doubled(byte):
    return byte << 1 ^ (0x11B if byte & 0x80 else 0)


def box():
    inverse, power, found = [0] * 256, 1, []
    for _ in range(255):
        found.append(power)
        power ^= doubled(power)
    for at, value in enumerate(found):
        inverse[value] = found[-at % 255]
    turned = lambda byte, by: (byte << by | byte >> 8 - by) & 0xFF
    return [byte ^ turned(byte, 1) ^ turned(byte, 2) ^ turned(byte, 3) ^ turned(byte, 4) ^ 0x63 for byte in inverse]


BOX = box()


def schedule(key):
    words, power = [list(key[at : at + 4]) for at in range(0, 32, 4)], 1
    for at in range(8, 60):
        word = list(words[-1])
        if at % 8 == 0:
            word = [BOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= power
            power = doubled(power)
        elif at % 8 == 4:
            word = [BOX[byte] for byte in word]
        words.append([one ^ other for one, other in zip(words[-8], word)])
    return [sum(words[at : at + 4], []) for at in range(0, 60, 4)]


def aes(keys, block):
    state = [byte ^ key for byte, key in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [BOX[state[(at + 4 * (at % 4)) % 16]] for at in range(16)]
        if number < 14:
            mixed = []
            for column in (state[at : at + 4] for at in range(0, 16, 4)):
                every = column[0] ^ column[1] ^ column[2] ^ column[3]
                mixed += [column[at] ^ every ^ doubled(column[at] ^ column[(at + 1) % 4]) for at in range(4)]
            state = mixed
        state = [byte ^ word for byte, word in zip(state, key)]
    return bytes(state)


# GCM
def product(x, y):
    found = 0
    for bit in range(127, -1, -1):
        if x >> bit & 1:
            found ^= y
        y = y >> 1 ^ (0xE1 << 120 if y & 1 else 0)
    return found


def opened(keys, nonce, header, sealed, tag):
    secret, sum_ = int.from_bytes(aes(keys, bytes(16)), "big"), 0
    padded = lambda data: data + bytes(-len(data) % 16)
    hashed = padded(header) + padded(sealed) + struct.pack(">QQ", len(header) * 8, len(sealed) * 8)
    for at in range(0, len(hashed), 16):
        sum_ = product(sum_ ^ int.from_bytes(hashed[at : at + 16], "big"), secret)
    stream = lambda counter: aes(keys, nonce + struct.pack(">I", counter))
    if bytes(one ^ other for one, other in zip(sum_.to_bytes(16, "big"), stream(1))) != tag:
        return None
    content = bytearray()
    for at in range(0, len(sealed), 16):
        content += bytes(one ^ other for one, other in zip(sealed[at : at + 16], stream(2 + at // 16)))
    return bytes(content)


def head(file):
    need(len(file) >= FIXED, "it is too short")
    magic, version, log, wraps, flags, length, total, check = struct.unpack_from("<8sBBBBI8s8s", file, 0)
    need(magic == b"\x8bPLE\r\n\x1a\n", "its magic")
    need(check == blake3(file[:24])[:8], "its check")
    need(version == 1 and flags <= 1 and 12 <= log <= 20, "version, flags or size of chunks")
    need(1 <= wraps <= 64 and length <= 1 << 20, "its wraps")
    bound = file[: FIXED + length]
    need(total == blake3(bound[FIXED:])[:8], "the sum of its wraps")
    at = FIXED
    for _ in range(wraps):
        need(at + 4 <= len(bound), "a wrap")
        at += 4 + struct.unpack_from("<I", bound, at)[0]
    need(at == len(bound), "wraps that do not fill their part")
    return bound, 1 << log, flags == 1


def chunks(file, file_key, bound, size):
    at = len(bound) + CHECK
    need(file[len(bound) : at] == derive("packline encrypted 1: key check", file_key + bound), "its key")
    keys = schedule(derive("packline encrypted 1: payload key", file_key + bound))
    number, last = 0, False
    while not last:
        need(at + HEADER + TAG <= len(file), "it is cut off")
        header = file[at : at + HEADER]
        word = struct.unpack("<I", header)[0]
        length, last = word & 0x7FFFFFFF, bool(word >> 31)
        need(length == size or last and (number == 0 or length > 0) and length < size, f"chunk {number}")
        sealed, tag = file[at + HEADER : at + HEADER + length], file[at + HEADER + length : at + HEADER + length + TAG]
        need(len(tag) == TAG, "it is cut off")
        made = opened(keys, struct.pack("<Q3xB", number, last), header, sealed, tag)
        need(made is not None, f"chunk {number} does not open")
        yield made
        at, number = at + HEADER + length + TAG, number + 1
    need(at == len(file), "bytes follow the last chunk")


def content(file, file_key):
    bound, size, padded = head(file)
    made = b"".join(chunks(file, file_key, bound, size))
    if not padded:
        return made
    need(len(made) >= 8, "its padding")
    length = struct.unpack("<Q", made[-8:])[0]
    need(length <= len(made) - 8 and not any(made[length:-8]), "its padding")
    return made[:length]


with open(sys.argv[1], "rb") as source:
    key = source.read()
with open(sys.argv[2], "rb") as source:
    whole = source.read()
sys.stdout.buffer.write(content(whole, key))
