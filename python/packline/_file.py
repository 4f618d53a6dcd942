"""File objects, and the results of stat."""

import io
import os

_LAST = 2**63 - 1


class File(io.RawIOBase):
    """A file of an image, open for reading.

    It is a raw file object: it has no buffer, and read(size) decodes only the blocks that it needs. Blocks that
    were decoded are kept in the cache of the image. Wrap it in io.BufferedReader to read many small pieces, and in
    io.TextIOWrapper to read text. pread() may be called by several threads at once.
    """

    mode = "rb"

    def __init__(self, handle, name):
        super().__init__()
        self._handle = handle
        self._position = 0
        self.name = name

    def __repr__(self):
        return f"<packline.File {self.name!r}>"

    @property
    def size(self):
        """Size in bytes."""
        return self._handle.size

    def readable(self):
        return True

    def seekable(self):
        return True

    def pread(self, size, offset):
        """Read up to size bytes from offset, without the position of the file."""
        self._check()
        if offset < 0 or size < 0:
            raise ValueError("negative size or offset")
        return self._handle.read_at(min(offset, _LAST), min(size, _LAST))

    def read(self, size=-1, /):
        """Read up to `size` bytes, or all bytes up to the end."""
        self._check()
        data = self._handle.read_at(self._position, _LAST if size is None or size < 0 else min(size, _LAST))
        self._position += len(data)
        return data

    def readall(self):
        return self.read()

    def readinto(self, buffer, /):
        """Read bytes into `buffer`, and return their number."""
        self._check()
        with memoryview(buffer) as view, view.cast("B") as target:
            data = self._handle.read_at(self._position, len(target))
            target[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset, whence=os.SEEK_SET, /):
        self._check()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}.get(whence)
        if start is None:
            raise ValueError(f"invalid whence {whence!r} (expected 0, 1 or 2)")
        position = start + offset
        if not 0 <= position <= _LAST:
            raise ValueError(f"invalid position {position} (expected 0 to {_LAST})")
        self._position = position
        return position

    def tell(self):
        self._check()
        return self._position

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")


def stat_result(mode, inode, links, owner, size, mtime_ns, device):
    """Build an os.stat_result. The native part calls this function."""
    seconds = mtime_ns // 1_000_000_000
    uid, gid = owner
    times = {}
    for name in ("st_atime", "st_mtime", "st_ctime"):
        times[name] = mtime_ns / 1e9
        times[name + "_ns"] = mtime_ns
    times["st_rdev"] = device
    return os.stat_result((mode, inode, 0, links, uid, gid, size, seconds, seconds, seconds), times)
