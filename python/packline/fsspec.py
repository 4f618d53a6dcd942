"""A file system of fsspec for images: packline://PATH::IMAGE.

    import fsspec
    with fsspec.open("packline://etc/hostname::root.sqfs") as file:
        print(file.read())
"""

from __future__ import annotations

import io
import os
from typing import Any

import fsspec  # type: ignore[import-untyped, unused-ignore]
from fsspec.spec import AbstractFileSystem  # type: ignore[import-untyped, unused-ignore]

from . import Entry, Error, Image, NotDirectoryError, NotFoundError
from . import open as open_image

_LOCAL = (None, "file", "local")


class PacklineFileSystem(AbstractFileSystem):
    """The files of a SquashFS or EROFS image, read only.

    fo is the path or URL of the image, or a file object that can seek. target_protocol and target_options say how
    fsspec opens a URL. An image on this machine is opened directly. cache is the maximum number of bytes of decoded
    blocks in memory.
    """

    protocol = "packline"
    root_marker = ""
    cachable = True

    def __init__(
        self,
        fo: Any = "",
        mode: str = "r",
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        cache: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(self, **options)
        if mode != "r":
            raise ValueError(f"invalid mode {mode!r} (expected 'r': images are read only)")
        self.fo = fo
        self._opened = None
        source = fo
        if isinstance(fo, (str, os.PathLike)):
            path = os.fspath(fo)
            if target_protocol in _LOCAL and "://" not in path:
                source = os.path.expanduser(path)
            else:
                self._opened = fsspec.open(path, mode="rb", protocol=target_protocol, **(target_options or {}))
                source = self._opened.__enter__()
        self.image: Image = open_image(source, cache=cache)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        stripped = super()._strip_protocol(path)
        return [part.strip("/") for part in stripped] if isinstance(stripped, list) else stripped.strip("/")

    def close(self) -> None:
        """Close the image."""
        self.image.close()
        if self._opened is not None:
            self._opened.close()

    def _details(self, entry: Entry, path: str) -> dict[str, Any]:
        found = {"name": path, "islink": entry.is_symlink()}
        if entry.is_symlink():
            found["destination"] = entry.readlink()
            try:
                entry = self.image[self.image.resolve(path)]
            except NotFoundError:
                pass
            except Error as error:
                # Too many links: the link is listed, but leads nowhere.
                if error.kind != "invalid":
                    raise
        stat = entry.stat()
        found.update(
            type=entry.kind if entry.kind in ("file", "directory") else "other",
            size=entry.size,
            mode=stat.st_mode,
            uid=stat.st_uid,
            gid=stat.st_gid,
            mtime=stat.st_mtime,
            ino=stat.st_ino,
            nlink=stat.st_nlink,
        )
        return found

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        try:
            entry = self.image[path]
        except NotFoundError:
            # A directory above it may be a link.
            entry = self.image[self.image.resolve(path)]
        return self._details(entry, path)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        path = self._strip_protocol(path)
        try:
            entries = self.image.scandir(self.image.resolve(path))
        except NotDirectoryError:
            found = self.info(path)
            return [found] if detail else [path]
        above = f"{path}/" if path else ""
        with entries:
            if not detail:
                return [above + entry.name for entry in entries]
            return [self._details(entry, above + entry.name) for entry in entries]

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> io.BufferedReader:
        if mode != "rb":
            raise OSError(f"invalid mode {mode!r} (expected 'rb': images are read only)")
        return io.BufferedReader(self.image.open(path))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        with self.image.open(self._strip_protocol(path)) as file:
            start, end = _range(file.size, start, end)
            return file.pread(end - start, start)

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        count = len(paths)
        starts = starts if isinstance(starts, (list, tuple)) else [starts] * count
        ends = ends if isinstance(ends, (list, tuple)) else [ends] * count
        if not count == len(starts) == len(ends):
            raise ValueError("paths, starts and ends have different lengths")
        ranges = []
        for path, start, end in zip(paths, starts, ends):
            path = self._strip_protocol(path)
            if (start or 0) < 0 or (end or 0) < 0:
                start, end = _range(self.info(path)["size"], start, end)
            ranges.append((path, start or 0, end))
        returned = self.image.read_ranges(ranges, on_error="return" if on_error == "return" else "raise")
        return [data for _, data in returned]

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        paths = self.expand_path(path, recursive=recursive)
        one = isinstance(path, str) and not recursive and len(paths) == 1 and paths[0] == self._strip_protocol(path)
        if one:
            return self.cat_file(paths[0], **kwargs)
        if recursive:
            paths = [path for path in paths if self.info(path)["type"] == "file"]
        found = {}
        for name, data in self.image.read_many(paths, on_error="raise" if on_error == "raise" else "return"):
            if on_error != "omit" or not isinstance(data, Exception):
                found[name] = data
        return found

    def modified(self, path: str) -> Any:
        import datetime

        return datetime.datetime.fromtimestamp(self.info(path)["mtime"], tz=datetime.timezone.utc)


def _range(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Negative numbers count from the end, as in slices."""
    start, end, _ = slice(start, end).indices(size)
    return start, max(start, end)
