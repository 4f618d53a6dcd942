"""Read and write SquashFS and EROFS images.

    with packline.open("root.sqfs") as image:
        print(image["etc/hostname"].read())
        for path in image:
            print(path)

    packline.pack("rootfs", "root.sqfs", codec="zstd", level=19)
"""

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
    decoded blocks in memory. All methods may be called by several threads at once.
    """

    # A mapping would compare all entries, and could not be hashed.
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

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
