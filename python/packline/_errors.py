"""Exceptions and warnings of packline."""

import errno
import warnings


class Error(Exception):
    """An operation failed.

    kind is one of the kinds in the documentation, such as "corrupt". path is the file of this machine, entry the
    path in the image or in the source, and offset the damaged byte of the image; each is None if it is unknown.
    """

    kind = "internal"
    path = None
    entry = None
    offset = None

    def __str__(self):
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        # Exceptions travel between processes, for example in Dask.
        return (build, (self.kind, str(self), self.path, self.entry, self.offset, None))


class NotFoundError(Error, FileNotFoundError, KeyError):
    """A file, or a path in an image, does not exist."""


class ExistsError(Error, FileExistsError):
    """The target exists, and replace=True was not set."""


class PermissionDeniedError(Error, PermissionError):
    """The system denies access."""


class DirectoryError(Error, IsADirectoryError):
    """The path in the image leads to a directory, which has no content."""


class NotDirectoryError(Error, NotADirectoryError):
    """The path in the image does not lead to a directory."""


class NoSpaceError(Error, OSError):
    """The disk is full, or a quota is exceeded."""


class CorruptError(Error, OSError):
    """The image is damaged. offset is the damaged byte, if it is known."""


class IoError(Error, OSError):
    """Another error of the system."""


class WrongFormatError(Error, ValueError):
    """The input is not an image or a source that packline reads."""


class InvalidError(Error, ValueError):
    """An option, a codec, a pattern or a path is invalid."""


class UnsupportedError(Error):
    """The input has a feature that packline does not support."""


class LimitError(Error):
    """A limit of memory, of the format, or of the caller is exceeded."""


class CancelledError(Error):
    """A CancelToken was set."""


class InternalError(Error):
    """A bug in packline."""


class Warning(UserWarning):
    """Something was skipped or changed during an operation that succeeded."""


_CLASSES = {
    "not_found": (NotFoundError, errno.ENOENT),
    "exists": (ExistsError, errno.EEXIST),
    "permission": (PermissionDeniedError, errno.EACCES),
    "is_directory": (DirectoryError, errno.EISDIR),
    "not_directory": (NotDirectoryError, errno.ENOTDIR),
    "no_space": (NoSpaceError, errno.ENOSPC),
    "corrupt": (CorruptError, errno.EIO),
    "io": (IoError, errno.EIO),
    "wrong_format": (WrongFormatError, None),
    "invalid": (InvalidError, None),
    "unsupported": (UnsupportedError, None),
    "limit": (LimitError, None),
    "cancelled": (CancelledError, None),
    "internal": (InternalError, None),
}


def build(kind, message, path, entry, offset, cause):
    """Build an exception. The native part calls this function."""
    if isinstance(message, bytes):
        message = message.decode("utf-8", "surrogateescape")
    cls, number = _CLASSES[kind]
    error = cls(message)
    error.kind = kind
    error.path = path
    error.entry = entry
    error.offset = offset
    if number is not None:
        error.errno = getattr(cause, "errno", None) or number
        error.strerror = message
        error.filename = entry if entry is not None else path
    if cause is not None:
        error.__cause__ = cause
    return error


def warn(message):
    """Issue a warning. The native part calls this function."""
    warnings.warn(message, Warning, stacklevel=2)
