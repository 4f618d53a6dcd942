"""Read and write SquashFS and EROFS images.

>>> packed = packline.pack("rootfs", "packed.sqfs", codec="zstd", level=19)
>>> with packline.open("packed.sqfs") as image:
...     print(image["etc/hostname"].read())
...     for path in image:
...         if path.startswith("etc/"):
...             print(path)
b'box\\n'
etc/empty
etc/hostname
"""

import os
import posixpath
from collections.abc import Mapping

from . import _native
from ._errors import (
    CancelledError,
    CorruptError,
    DirectoryError,
    Error,
    ExistsError,
    InternalError,
    InvalidError,
    IoError,
    LimitError,
    NoSpaceError,
    NotDirectoryError,
    NotFoundError,
    PermissionDeniedError,
    UnsupportedError,
    Warning,
    WrongFormatError,
    build,
)
from ._file import File
from ._native import CancelToken, Entry, Finding, Packed, Progress, Tree, Unpacked, __version__, pack

__all__ = [
    "CancelToken",
    "CancelledError",
    "CorruptError",
    "DirectoryError",
    "Entry",
    "Error",
    "ExistsError",
    "File",
    "Finding",
    "Image",
    "InternalError",
    "InvalidError",
    "IoError",
    "LimitError",
    "NoSpaceError",
    "NotDirectoryError",
    "NotFoundError",
    "Packed",
    "PermissionDeniedError",
    "Progress",
    "Tree",
    "UnsupportedError",
    "Unpacked",
    "Warning",
    "WrongFormatError",
    "open",
    "pack",
]


class Image(_native.Image, Mapping):
    """An open SquashFS or EROFS image: a mapping of paths to entries.

    source is a path, the bytes of an image, or a file object that can seek. cache is the maximum number of bytes of
    decoded blocks in memory. All methods may be called by several threads at once. An image that was opened from a
    path can be pickled: another process opens the path again.

    >>> image["usr/bin/app"].size
    307200
    >>> "etc/shadow" in image, len(image)
    (False, 13)
    """

    # A mapping would compare all entries, and could not be hashed.
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def __init__(self, source, *, cache=None):
        self._origin = None
        if isinstance(source, (str, os.PathLike)):
            self._origin = os.path.abspath(os.fsdecode(source)), cache

    def __reduce__(self):
        if self.closed:
            raise ValueError("the image is closed")
        if self._origin is None:
            raise TypeError("cannot pickle an image that was opened from bytes or a file object; open it from a path")
        return _reopen, self._origin

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def __repr__(self):
        state = "closed" if self.closed else f"{self.container}, {self.size} bytes"
        return f"<packline.Image {state}>"

    def stat(self, path):
        """Return the os.stat_result of an entry. Symbolic links are followed."""
        return self[self.resolve(path)].stat()

    def lstat(self, path):
        """Return the os.stat_result of an entry. The last component is not followed."""
        return self[path].stat()

    def readlink(self, path):
        """Return the target of a symbolic link."""
        return self[path].readlink()

    def walk(self, top=""):
        """Walk through directories like os.walk, from the top down: (path, names of directories, other names).

        The caller may remove names of directories from the list; the walk skips these directories.

        >>> [path for path, directories, others in image.walk("data")]
        ['data', 'data/more']
        """
        seen = set()
        pending = [top]
        while pending:
            path = pending.pop()
            directories, others, inodes = [], [], {}
            with self.scandir(path) as entries:
                for entry in entries:
                    (directories if entry.is_dir() else others).append(entry.name)
                    if entry.is_dir():
                        inodes[entry.name] = entry.inode()
            yield path, directories, others
            for name in reversed(directories):
                below = posixpath.join(path, name)
                # A damaged image may have loops.
                if inodes.get(name) in seen:
                    raise build("corrupt", f"{below}: a directory that was found before", None, below, None, None)
                seen.add(inodes.get(name))
                pending.append(below)


def open(source, *, cache=None):
    """Open an image: see Image."""
    return Image(source, cache=cache)


def _reopen(path, cache):
    return Image(path, cache=cache)
