/*
 * packline.h: reads, packs and unpacks SquashFS and EROFS images.
 *
 * Errors. A function that can fail takes `packline_error **error` last. If it fails, it returns NULL or -1 and, if
 * `error` is not NULL, stores an error there, which the caller frees with packline_error_free. If it succeeds, it does
 * not change `*error`. A NULL handle or string is an error of the kind PACKLINE_ERROR_INVALID, unless the comment of the
 * function allows it. Any function may also fail with PACKLINE_ERROR_IO, PACKLINE_ERROR_LIMIT and
 * PACKLINE_ERROR_INTERNAL. The comment of a function names the other kinds that matter.
 *
 * Handles. Each handle has a function that frees it. A handle must not be used after it was freed.
 *
 * Strings and buffers. Strings end with NUL. Paths in images are bytes without an encoding; a slash at the start is
 * ignored. An argument is read during the call alone, unless the comment of the function says otherwise.
 *
 * Threads. A function that takes a `const` handle may be called by several threads at once with the same handle. A
 * handle that is not `const` must be used by one thread at a time. Handles may move between threads.
 *
 * Callbacks. They are called on the thread of the call that got them, unless their comment says otherwise. They may call
 * other functions of the library. They must return: no longjmp, no exception of C++, no exit of the thread.
 *
 * The library never calls exit, prints, changes the environment or the locale, or installs a signal handler.
 *
 * Stability. Names, types, sizes of structs and values of constants do not change while the library is
 * libpackline.so.0. Later versions may add functions and constants.
 */


#ifndef PACKLINE_H
#define PACKLINE_H

/* Generated from the sources of packline. */

#include <stddef.h>
#include <stdint.h>

/**
 * Kinds of errors, which packline_error_kind returns. Later versions may add kinds.
 */
typedef enum {
    /**
     * A file, or a path in an image, does not exist.
     */
    PACKLINE_ERROR_NOT_FOUND = 1,
    /**
     * The output exists, and replace=yes was not set.
     */
    PACKLINE_ERROR_EXISTS = 2,
    /**
     * The system denies access.
     */
    PACKLINE_ERROR_PERMISSION = 3,
    /**
     * The disk is full, or a quota is exceeded; also in the directory for temporary files.
     */
    PACKLINE_ERROR_NO_SPACE = 4,
    /**
     * The input is damaged.
     */
    PACKLINE_ERROR_CORRUPT = 5,
    /**
     * The input is something else.
     */
    PACKLINE_ERROR_WRONG_FORMAT = 6,
    /**
     * The input has a feature that packline does not support.
     */
    PACKLINE_ERROR_UNSUPPORTED = 7,
    /**
     * The memory limit or a limit of the format is exceeded.
     */
    PACKLINE_ERROR_LIMIT = 8,
    /**
     * The token was set.
     */
    PACKLINE_ERROR_CANCELLED = 9,
    /**
     * A key or password is missing or wrong.
     */
    PACKLINE_ERROR_WRONG_KEY = 10,
    /**
     * An argument is NULL, an option is unknown, a value or a pattern is malformed, or options exclude each
     * other.
     */
    PACKLINE_ERROR_INVALID = 11,
    /**
     * Another error of the system, or of a callback.
     */
    PACKLINE_ERROR_IO = 12,
    /**
     * A bug in packline.
     */
    PACKLINE_ERROR_INTERNAL = 13,
} packline_failure;

/**
 * Types of entries.
 */
typedef enum {
    /**
     * A regular file.
     */
    PACKLINE_FILE = 1,
    /**
     * A directory.
     */
    PACKLINE_DIRECTORY = 2,
    /**
     * A symbolic link.
     */
    PACKLINE_SYMLINK = 3,
    /**
     * A block device.
     */
    PACKLINE_BLOCK_DEVICE = 4,
    /**
     * A character device.
     */
    PACKLINE_CHAR_DEVICE = 5,
    /**
     * A named pipe.
     */
    PACKLINE_FIFO = 6,
    /**
     * A socket.
     */
    PACKLINE_SOCKET = 7,
} packline_type;

/**
 * Levels of the log. A level includes the levels above it.
 */
typedef enum {
    /**
     * No lines.
     */
    PACKLINE_LOG_OFF = 0,
    /**
     * Bugs in packline.
     */
    PACKLINE_LOG_ERROR = 1,
    /**
     * Reserved. Warnings about an operation go to its observer.
     */
    PACKLINE_LOG_WARN = 2,
    /**
     * Reserved.
     */
    PACKLINE_LOG_INFO = 3,
    /**
     * A line for each decision about an operation or an entry.
     */
    PACKLINE_LOG_DEBUG = 4,
    /**
     * A line for each block, too.
     */
    PACKLINE_LOG_TRACE = 5,
} packline_log_level;

/**
 * A token that cancels packs and extractions. One token may serve any number of calls.
 */
typedef struct packline_cancel packline_cancel;

/**
 * An error. It does not change, and any number of threads may read it.
 */
typedef struct packline_error packline_error;

/**
 * An open regular file of an image. Any number of threads may read it.
 */
typedef struct packline_file packline_file;

/**
 * An open SquashFS or EROFS image. Any number of threads may use it.
 */
typedef struct packline_image packline_image;

/**
 * A pack of sources into an image. A packer runs once.
 */
typedef struct packline_packer packline_packer;

/**
 * A source of a pack that the program builds: entries, added in any order. Missing directories above an entry
 * are added with the mode 755.
 */
typedef struct packline_tree packline_tree;

/**
 * The attributes of an entry of an image.
 */
typedef struct {
    /**
     * The path below the root, "" for the root. It is valid only during the call that passes the entry;
     * packline_stat stores NULL.
     */
    const char *path;
    /**
     * The type (packline_type).
     */
    uint32_t type;
    /**
     * The permissions, 12 bits.
     */
    uint32_t mode;
    /**
     * The owner.
     */
    uint32_t uid;
    /**
     * The group.
     */
    uint32_t gid;
    /**
     * The modification time in seconds since 1970.
     */
    int64_t mtime;
    /**
     * The nanoseconds of the modification time. A SquashFS image has whole seconds.
     */
    uint32_t mtime_nsec;
    /**
     * The number of names of a file; for a directory, the number that stat shows.
     */
    uint32_t links;
    /**
     * Identifies the file in its image: the names of one file have the same id.
     */
    uint64_t id;
    /**
     * The size of a regular file in bytes, holes included; 0 for any other type.
     */
    uint64_t size;
    /**
     * The major number of a device; 0 for any other type.
     */
    uint32_t major;
    /**
     * The minor number of a device; 0 for any other type.
     */
    uint32_t minor;
} packline_entry;

/**
 * Receives an entry, which is valid only during the call. The walk continues if it returns 0, and otherwise
 * ends without an error.
 */
typedef int (*packline_entry_fn)(void *context, const packline_entry *entry);

/**
 * Receives an extended attribute: its full name, such as "user.note", and its value of `length` bytes. Both
 * are valid only during the call. The next attribute follows if it returns 0.
 */
typedef int (*packline_xattr_fn)(void *context, const char *name, const void *value, size_t length);

/**
 * What has been read so far.
 */
typedef struct {
    /**
     * The number of entries.
     */
    uint64_t entries;
    /**
     * The bytes of content of files, holes included.
     */
    uint64_t content_bytes;
    /**
     * The bytes of an image that were written so far; 0 for an extraction.
     */
    uint64_t image_bytes;
} packline_progress;

/**
 * Callbacks, which are called one at a time, on the thread that packs or unpacks. Each may be NULL. Pointers
 * that they receive are valid only during the call. They must not use the packer that runs.
 */
typedef struct {
    /**
     * The first argument of the callbacks.
     */
    void *context;
    /**
     * An entry is about to be packed or unpacked. `path` is its path in the image.
     */
    void (*entry)(void *context, const char *path);
    /**
     * Content was read: at most a few hundred kilobytes, or a hole.
     */
    void (*advance)(void *context, const packline_progress *progress);
    /**
     * Something was skipped or changed; or, with continue=yes, an entry failed. `message` is a complete
     * message in English.
     */
    void (*warning)(void *context, const char *message);
} packline_observer;

/**
 * Receives a line of the log: its level (packline_log_level), the part of the library that it comes from,
 * and its text, without a line feed. The strings are valid only during the call. Threads of the library call
 * it too, several at the same time. It must not call functions of the library.
 */
typedef void (*packline_log_fn)(void *context, uint32_t level, const char *target, const char *message);

/**
 * Reads the next part of a content or a tar into `buffer`, which has room for `size` bytes. Returns the number
 * of bytes, 0 at the end, or -1 after an error, which ends the pack with PACKLINE_ERROR_IO. It is called by
 * packline_packer_run and packline_packer_run_fd, on any thread, but never by two at the same time, and from the
 * start to the end once.
 */
typedef int64_t (*packline_read_fn)(void *context, void *buffer, size_t size);

/**
 * The result of a pack.
 */
typedef struct {
    /**
     * The bytes of content of files, holes included.
     */
    uint64_t content_bytes;
    /**
     * The bytes of the output.
     */
    uint64_t output_bytes;
    /**
     * The compressed blocks that were copied from images that are sources or bases.
     */
    uint64_t copied_blocks;
    /**
     * The entries that could not be read and were left out; 0 for the sources of this interface.
     */
    uint64_t errors;
    /**
     * The warnings, which the observer received.
     */
    uint64_t warnings;
} packline_packed;

/**
 * The attributes of an entry of a tree.
 */
typedef struct {
    /**
     * The permissions, 12 bits. Other bits are ignored, so that it may be an st_mode.
     */
    uint32_t mode;
    /**
     * The owner.
     */
    uint32_t uid;
    /**
     * The group.
     */
    uint32_t gid;
    /**
     * The modification time in seconds since 1970.
     */
    int64_t mtime;
    /**
     * The nanoseconds of the modification time. A SquashFS image stores whole seconds.
     */
    uint32_t mtime_nsec;
} packline_attributes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, "MAJOR.MINOR.PATCH". The string lives as long as the process.
 */
const char *packline_version(void);

/**
 * Returns a token that is not set. The caller frees it with packline_cancel_free.
 */
packline_cancel *packline_cancel_new(void);

/**
 * Sets the token: all work that uses it ends soon with PACKLINE_ERROR_CANCELLED, and later work ends at once.
 * It may be called by any thread and by a signal handler. A token stays set. NULL is allowed.
 */
void packline_cancel_set(const packline_cancel *cancel);

/**
 * Frees a token. Work that uses it continues, and can no longer be cancelled. NULL is allowed.
 */
void packline_cancel_free(packline_cancel *cancel);

/**
 * Returns the kind (packline_failure); 0 for NULL.
 */
int packline_error_kind(const packline_error *error);

/**
 * Returns a complete message in English, in one line, with the names of the files; NULL for NULL. The string
 * lives as long as the error.
 */
const char *packline_error_message(const packline_error *error);

/**
 * Returns the file of this machine that the error concerns, or the name that messages give to a descriptor, to
 * an image in memory or to a tar of a callback; otherwise NULL. The string lives as long as the error.
 */
const char *packline_error_path(const packline_error *error);

/**
 * Returns the path in the source or the image that the error concerns, or NULL. The string lives as long as
 * the error.
 */
const char *packline_error_entry(const packline_error *error);

/**
 * Returns the offset of damage in the image in bytes, or -1.
 */
int64_t packline_error_offset(const packline_error *error);

/**
 * Frees an error and its strings. NULL is allowed.
 */
void packline_error_free(packline_error *error);

/**
 * Opens the regular file at `path` of an image. Symbolic links are followed inside the image. The file may
 * outlive the image. Any number of threads may open files of one image. All files of an image share a cache of
 * decoded blocks of 32 MiB. Returns a file, which the caller frees with packline_file_free, or NULL after an
 * error: PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_INVALID if it is not a regular file, PACKLINE_ERROR_CORRUPT.
 */
packline_file *packline_file_open(const packline_image *image,
                                  const char *path,
                                  packline_error **error);

/**
 * Returns the size of a file in bytes; 0 for NULL.
 */
uint64_t packline_file_size(const packline_file *file);

/**
 * Reads `size` bytes from `offset` into `buffer`. Any number of threads may read one file. Returns the number
 * of bytes, which is smaller than `size` only at the end of the file, and 0 after the end; -1 after an error,
 * such as PACKLINE_ERROR_CORRUPT, and `buffer` then has any content.
 */
int64_t packline_file_read_at(const packline_file *file,
                              uint64_t offset,
                              void *buffer,
                              size_t size,
                              packline_error **error);

/**
 * Frees a file. NULL is allowed.
 */
void packline_file_free(packline_file *file);

/**
 * Opens the image at the start of a file or block device, or after other data in it, as in an AppImage. Only
 * the superblock and tables are read. The file must not change while it is open. Returns an image, which the
 * caller frees with packline_image_free, or NULL after an error: PACKLINE_ERROR_NOT_FOUND,
 * PACKLINE_ERROR_WRONG_FORMAT if there is no image, PACKLINE_ERROR_CORRUPT.
 */
packline_image *packline_open(const char *path, packline_error **error);

/**
 * As packline_open, for an open descriptor of a file or block device. The image is read at offsets from a copy
 * of the descriptor: the caller may close the descriptor, and its position does not change.
 */
packline_image *packline_open_fd(int descriptor,
                                 packline_error **error);

/**
 * As packline_open, for an image of `length` bytes in memory. The bytes are copied, so that the caller may
 * free them.
 */
packline_image *packline_open_memory(const void *bytes, size_t length, packline_error **error);

/**
 * Frees an image. Its open files, and packers that got it, remain valid. NULL is allowed.
 */
void packline_image_free(packline_image *image);

/**
 * Stores the attributes of the entry at `path` ("" for the root), with a NULL path. Symbolic links are not
 * followed. Returns 0, or -1 after an error: PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_CORRUPT.
 */
int packline_stat(const packline_image *image,
                  const char *path,
                  packline_entry *entry,
                  packline_error **error);

/**
 * Calls `each` for the entries that match a pattern, and for everything below them; for all entries if
 * `pattern` is NULL. A pattern without a slash, such as "*.conf", matches a name at any depth; a pattern with
 * a slash, such as "etc/ssl/?.pem", matches a complete path. A directory comes before its entries. The entries
 * of a directory come in the order of the image, which sorts them by the bytes of their names.
 * `each` may call functions that take the image. Returns 0, or -1 after an error, at which the walk ends:
 * PACKLINE_ERROR_CORRUPT, PACKLINE_ERROR_INVALID for a malformed pattern.
 */
int packline_walk(const packline_image *image,
                  const char *pattern,
                  packline_entry_fn each,
                  void *context,
                  packline_error **error);

/**
 * Calls `each` for the entries of the directory at `path` ("" for the root), in the order of the image.
 * Symbolic links are not followed. Returns 0, or -1 after an error: PACKLINE_ERROR_NOT_FOUND,
 * PACKLINE_ERROR_INVALID if it is not a directory, PACKLINE_ERROR_CORRUPT.
 */
int packline_list(const packline_image *image,
                  const char *path,
                  packline_entry_fn each,
                  void *context,
                  packline_error **error);

/**
 * Copies the target of the symbolic link at `path` to `buffer`: at most `size` bytes, with zeros after it if
 * there is room. Returns the length of the target, which may be larger than `size`, or -1 after an error:
 * PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_INVALID if it is not a symbolic link.
 */
int64_t packline_readlink(const packline_image *image,
                          const char *path,
                          char *buffer,
                          size_t size,
                          packline_error **error);

/**
 * Calls `each` for the extended attributes of the entry at `path` ("" for the root), in the order of the
 * image. Symbolic links are not followed. Returns 0, or -1 after an error: PACKLINE_ERROR_NOT_FOUND,
 * PACKLINE_ERROR_CORRUPT.
 */
int packline_xattrs(const packline_image *image,
                    const char *path,
                    packline_xattr_fn each,
                    void *context,
                    packline_error **error);

/**
 * Unpacks an image to `directory`, which is created or must be empty. `options` is NULL, or an array of
 * strings that ends with NULL:
 *
 * - select=PATTERN: unpack only what matches, as in packline_walk; may be repeated.
 * - exclude=PATTERN: leave out what matches; may be repeated.
 * - replace=yes: the directory may have entries. Files are replaced, and directories are kept.
 * - continue=yes: report errors of single entries to the observer, and continue. Zeros replace damaged
 *   content.
 * - owners=no, permissions=no, times=no, xattrs=no: do not set these attributes. Owners need root.
 * - sparse=no: write holes as zeros.
 * - jobs=N, memory=SIZE, scratch=DIRECTORY: limits of workers and memory (sizes such as 512M), and the
 *   directory for temporary files.
 *
 * `observer` and `cancel` may be NULL. The observer is called on the thread of the caller. Nothing is written
 * outside of the directory, whatever the image contains. Returns the number of entries that failed, which is 0
 * without continue=yes, or -1 after an error. A directory that was created is removed then. Errors:
 * PACKLINE_ERROR_EXISTS, PACKLINE_ERROR_PERMISSION, PACKLINE_ERROR_NO_SPACE, PACKLINE_ERROR_CORRUPT,
 * PACKLINE_ERROR_CANCELLED; PACKLINE_ERROR_INVALID for an unknown option and for a pattern of select that
 * matches nothing.
 */
int64_t packline_extract(const packline_image *image,
                         const char *directory,
                         const char *const *options,
                         const packline_observer *observer,
                         const packline_cancel *cancel,
                         packline_error **error);

/**
 * Passes the log of the library, for the complete process, to `each`: all lines of a level
 * (packline_log_level) and the levels above it. It replaces the earlier function, which is not called any more
 * when this function returns. With PACKLINE_LOG_OFF, `each` may be NULL. By default nothing is logged.
 * `context` must be valid until the function is replaced. Returns 0, or -1 after an error:
 * PACKLINE_ERROR_INVALID for an unknown level.
 */
int packline_log(uint32_t level,
                 packline_log_fn each,
                 void *context,
                 packline_error **error);

/**
 * Returns a packer without sources, which packs with zstd in blocks of 128 KiB on all processors. The caller
 * frees it with packline_packer_free.
 */
packline_packer *packline_packer_new(void);

/**
 * Frees a packer, with its trees. NULL is allowed.
 */
void packline_packer_free(packline_packer *packer);

/**
 * Adds the directory at `path` as a source, over the sources before it. The directory is read when the packer
 * runs. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID.
 */
int packline_packer_add_directory(packline_packer *packer, const char *path, packline_error **error);

/**
 * Adds the tar at `path`, plain or compressed with gzip, xz, zstd, bzip2, lzma or lz4, as a source, over the
 * sources before it. The tar is read when the packer runs. Returns 0, or -1 after an error:
 * PACKLINE_ERROR_INVALID.
 */
int packline_packer_add_tar(packline_packer *packer, const char *path, packline_error **error);

/**
 * As packline_packer_add_tar, for a tar that `read` returns when the packer runs. `context` must be valid until
 * then, or until the packer is freed. `name` names the tar in errors.
 */
int packline_packer_add_tar_reader(packline_packer *packer,
                                   const char *name,
                                   packline_read_fn read,
                                   void *context,
                                   packline_error **error);

/**
 * Adds an open image as a source, over the sources before it. The caller still has to free the image, at any
 * time. Blocks of the image are copied without compression if the codec and the block size are the same.
 * Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID.
 */
int packline_packer_add_image(packline_packer *packer, const packline_image *image, packline_error **error);

/**
 * Adds a tree as a source, over the sources before it. The packer takes the tree, even after an error: the
 * caller must not use it again. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID.
 */
int packline_packer_add_tree(packline_packer *packer, packline_tree *tree, packline_error **error);

/**
 * Sets an option, "NAME=VALUE". Later options override earlier ones. Sizes may end in K, M, G or T.
 *
 * - codec=NAME[:KEY=VALUE,...]: zstd:level=19, xz, lz4, gzip, none and others; default zstd.
 * - block-size=SIZE: a power of two from 4K to 1M; default 128K.
 * - container=squashfs or erofs; by default the ending of the name of the output chooses.
 * - exclude=PATTERN: leave out what matches, as in packline_walk, and everything below it; may be repeated.
 * - replace=yes: replace an existing output. By default it is an error.
 * - base=IMAGE: reuse the blocks of an earlier image; may be repeated.
 * - time=SECONDS, mtime=SECONDS: the time of the image, which is the latest time of entries, too; the time of
 *   all entries.
 * - owner=UID:GID, xattrs=no: the owner of all entries; store no extended attributes.
 * - offset=SIZE: bytes before the image. layout=compact or stable. order=path or similar. verify=yes: read the
 *   image back.
 * - jobs=N, memory=SIZE, scratch=DIRECTORY: limits of workers and memory, and the directory for temporary
 *   files. They never change the output.
 *
 * Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID for an unknown option and for a malformed value. A
 * codec is checked when the packer runs.
 */
int packline_packer_set(packline_packer *packer,
                        const char *option,
                        packline_error **error);

/**
 * Sets the observer, which is copied. Its context must be valid until the packer has run or is freed. NULL
 * removes it.
 */
void packline_packer_observe(packline_packer *packer, const packline_observer *observer);

/**
 * Sets the token that cancels the pack. The caller may free the token at any time. NULL removes it.
 */
void packline_packer_use_cancel(packline_packer *packer, const packline_cancel *cancel);

/**
 * Packs the sources into a file, which gets the name `output` when it is complete and synced. After an error
 * the name is unchanged. `packed` may be NULL. The call blocks until the pack is done, and uses other threads.
 * The output depends on the sources and options alone. Returns 0, or -1 after an error: PACKLINE_ERROR_EXISTS,
 * PACKLINE_ERROR_NOT_FOUND, PACKLINE_ERROR_PERMISSION, PACKLINE_ERROR_NO_SPACE, PACKLINE_ERROR_CANCELLED,
 * PACKLINE_ERROR_INVALID for options that exclude each other, for an unknown codec, and for a packer that has
 * run.
 */
int packline_packer_run(packline_packer *packer,
                        const char *output,
                        packline_packed *packed,
                        packline_error **error);

/**
 * As packline_packer_run, into an open descriptor, which the caller still has to close. The image is a SquashFS
 * image unless container=erofs is set. A file must be open for reading and writing; the image begins at its
 * position, which is at the end of the image afterwards. After an error the file has a part of an image, whose
 * first bytes are not those of an image. A pipe or a socket gets only a complete image: it is stored in an
 * unnamed temporary file in the directory of the option scratch first, which must be set. The caller syncs the
 * descriptor.
 */
int packline_packer_run_fd(packline_packer *packer,
                           int descriptor,
                           packline_packed *packed,
                           packline_error **error);

/**
 * Returns an empty tree. The caller frees it with packline_tree_free, or gives it to packline_packer_add_tree.
 */
packline_tree *packline_tree_new(void);

/**
 * Frees a tree. NULL is allowed.
 */
void packline_tree_free(packline_tree *tree);

/**
 * Adds a regular file with a copy of `length` bytes, or replaces the entry at `path`. `attributes` may be
 * NULL: mode 644, owner root, time 0. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID for a path that
 * is empty or leads outside, for a directory with entries at `path`, and for a path below an entry that is not
 * a directory. This holds for all functions that add an entry.
 */
int packline_tree_bytes(packline_tree *tree,
                        const char *path,
                        const void *bytes,
                        size_t length,
                        const packline_attributes *attributes,
                        packline_error **error);

/**
 * Adds a regular file with the content of the file of this machine at `source`, which is opened when the tree
 * is packed.
 */
int packline_tree_file(packline_tree *tree,
                       const char *path,
                       const char *source,
                       const packline_attributes *attributes,
                       packline_error **error);

/**
 * Adds a regular file whose content `read` returns when the tree is packed. `context` must be valid until the
 * packer has run or is freed. `size` is the size of the content in bytes; another size ends the pack with an
 * error. If it is negative, the size is unknown: contents of more than 16 MiB are then stored in an unnamed
 * temporary file first.
 */
int packline_tree_reader(packline_tree *tree,
                         const char *path,
                         packline_read_fn read,
                         void *context,
                         int64_t size,
                         const packline_attributes *attributes,
                         packline_error **error);

/**
 * Adds a directory, or sets the attributes of the directory at `path` ("/" for the root). `attributes` may be
 * NULL: mode 755, owner root, time 0.
 */
int packline_tree_directory(packline_tree *tree,
                            const char *path,
                            const packline_attributes *attributes,
                            packline_error **error);

/**
 * Adds a symbolic link. The target is stored unchanged.
 */
int packline_tree_symlink(packline_tree *tree,
                          const char *path,
                          const char *target,
                          const packline_attributes *attributes,
                          packline_error **error);

/**
 * Adds another name of the entry at `target`, which may be added later, or be in a source below the tree. Both
 * names have the attributes of the target. If the target does not exist, the pack fails.
 */
int packline_tree_hard_link(packline_tree *tree,
                            const char *path,
                            const char *target,
                            packline_error **error);

/**
 * Adds a device with its numbers, a named pipe or a socket (packline_type). `major` and `minor` are
 * ignored for pipes and sockets.
 */
int packline_tree_special(packline_tree *tree,
                          const char *path,
                          uint32_t type,
                          uint32_t major,
                          uint32_t minor,
                          const packline_attributes *attributes,
                          packline_error **error);

/**
 * Sets an extended attribute of the entry at `path` ("/" for the root), by its full name, such as "user.note",
 * to a copy of `length` bytes. The entry must have been added before. An attribute of the same name is
 * replaced. Returns 0, or -1 after an error: PACKLINE_ERROR_INVALID without an entry.
 */
int packline_tree_xattr(packline_tree *tree,
                        const char *path,
                        const char *name,
                        const void *value,
                        size_t length,
                        packline_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PACKLINE_H */
