/* C interface of packline: reads, packs and unpacks SquashFS and EROFS images.
 *
 * - A function that can fail takes `packline_error **error` last. If the function fails and `error` is not NULL, it stores an error there, which
 *   the caller frees with packline_error_free. If the function succeeds, `*error` does not change.
 * - Strings are NUL-terminated bytes. Paths in images have no encoding. A leading slash is ignored.
 * - A function that takes a `const` handle may be called by several threads at once with the same handle. All other functions need the handle
 *   alone. Handles may move between threads.
 * - Every handle has a function that frees it, which takes NULL, too.
 * - No function calls exit, prints, or installs a signal handler.
 */
#ifndef PACKLINE_H
#define PACKLINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct packline_error packline_error;
typedef struct packline_cancel packline_cancel;
typedef struct packline_image packline_image;
typedef struct packline_file packline_file;
typedef struct packline_tree packline_tree;
typedef struct packline_packer packline_packer;

/* Version of the library, "MAJOR.MINOR.PATCH". */
const char *packline_version(void);

/* ---- Errors ---- */

/* Kinds of errors. Later versions may add kinds. */
enum packline_error_kind {
    PACKLINE_ERROR_NOT_FOUND = 1,
    PACKLINE_ERROR_EXISTS = 2,
    PACKLINE_ERROR_PERMISSION = 3,
    PACKLINE_ERROR_NO_SPACE = 4,
    PACKLINE_ERROR_CORRUPT = 5,
    PACKLINE_ERROR_WRONG_FORMAT = 6,
    PACKLINE_ERROR_UNSUPPORTED = 7,
    PACKLINE_ERROR_LIMIT = 8,
    PACKLINE_ERROR_CANCELLED = 9,
    PACKLINE_ERROR_WRONG_KEY = 10,
    PACKLINE_ERROR_INVALID = 11,
    PACKLINE_ERROR_IO = 12,
    PACKLINE_ERROR_INTERNAL = 13
};

int packline_error_kind(const packline_error *error);
/* A complete message in English. The string lives as long as the error, as do the strings below. */
const char *packline_error_message(const packline_error *error);
/* The file that the error concerns, or NULL. */
const char *packline_error_path(const packline_error *error);
/* The path in the source or the image that the error concerns, or NULL. */
const char *packline_error_entry(const packline_error *error);
/* The offset of damage in bytes, or -1. */
int64_t packline_error_offset(const packline_error *error);
void packline_error_free(packline_error *error);

/* ---- Cancelling ---- */

packline_cancel *packline_cancel_new(void);
/* Stops all work that uses the token, from any thread or signal handler. */
void packline_cancel_set(const packline_cancel *cancel);
void packline_cancel_free(packline_cancel *cancel);

/* ---- Reading images ---- */

enum packline_type {
    PACKLINE_FILE = 1,
    PACKLINE_DIRECTORY = 2,
    PACKLINE_SYMLINK = 3,
    PACKLINE_BLOCK_DEVICE = 4,
    PACKLINE_CHAR_DEVICE = 5,
    PACKLINE_FIFO = 6,
    PACKLINE_SOCKET = 7
};

typedef struct packline_entry {
    const char *path;    /* below the root, "" for the root; valid only during the call that passes the entry */
    uint32_t type;       /* enum packline_type */
    uint32_t mode;       /* permissions, 12 bits */
    uint32_t uid;
    uint32_t gid;
    int64_t mtime;       /* seconds since 1970 */
    uint32_t mtime_nsec;
    uint32_t links;      /* number of names */
    uint64_t id;         /* names of one file have the same id */
    uint64_t size;       /* bytes of a file, 0 for any other type */
    uint32_t major;      /* of a device */
    uint32_t minor;
} packline_entry;

/* Receives an entry. The walk ends early, without an error, if it returns another value than 0. */
typedef int (*packline_entry_fn)(void *context, const packline_entry *entry);
/* Receives an extended attribute. */
typedef int (*packline_xattr_fn)(void *context, const char *name, const void *value, size_t length);

packline_image *packline_open(const char *path, packline_error **error);
/* Reads from a copy of the descriptor, at offsets. */
packline_image *packline_open_fd(int descriptor, packline_error **error);
/* Copies the bytes. */
packline_image *packline_open_memory(const void *bytes, size_t length, packline_error **error);
void packline_image_free(packline_image *image);

/* Stores the attributes of an entry, with a NULL path. Symbolic links are not followed. Returns 0, or -1 after an error. */
int packline_stat(const packline_image *image, const char *path, packline_entry *entry, packline_error **error);
/* Calls `each` for all entries that match a pattern, and everything below them; for all entries if the pattern is NULL. */
int packline_walk(const packline_image *image, const char *pattern, packline_entry_fn each, void *context,
                  packline_error **error);
/* Calls `each` for the entries of one directory. */
int packline_list(const packline_image *image, const char *path, packline_entry_fn each, void *context,
                  packline_error **error);
/* Copies the target of a symbolic link to `buffer`, with a NUL if it fits. Returns the length of the target, or -1. */
int64_t packline_readlink(const packline_image *image, const char *path, char *buffer, size_t size,
                          packline_error **error);
int packline_xattrs(const packline_image *image, const char *path, packline_xattr_fn each, void *context,
                    packline_error **error);
/* Unpacks to a new or empty directory: all entries, or those that match a pattern. `cancel` may be NULL. */
int packline_extract(const packline_image *image, const char *pattern, const char *directory,
                     const packline_cancel *cancel, packline_error **error);

/* Opens a regular file. Symbolic links are followed inside the image. The file may outlive the image. */
packline_file *packline_file_open(const packline_image *image, const char *path, packline_error **error);
uint64_t packline_file_size(const packline_file *file);
/* Fills `buffer` from `offset`. Returns the number of bytes, which is smaller than `size` only at the end, or -1. */
int64_t packline_file_read_at(const packline_file *file, uint64_t offset, void *buffer, size_t size,
                              packline_error **error);
void packline_file_free(packline_file *file);

/* ---- Trees ---- */

typedef struct packline_attributes {
    uint32_t mode;       /* permissions, 12 bits */
    uint32_t uid;
    uint32_t gid;
    int64_t mtime;       /* seconds since 1970 */
    uint32_t mtime_nsec;
} packline_attributes;

/* Fills a part of `buffer`. Returns the number of bytes, 0 at the end, -1 after an error. It is called by packline_packer_run, on its thread. */
typedef int64_t (*packline_read_fn)(void *context, void *buffer, size_t size);

/* The functions that add an entry replace an earlier entry at the path. `attributes` may be NULL: mode 644 (755 for a directory), owner root,
 * time 0. They return 0, or -1 after an error. */
packline_tree *packline_tree_new(void);
int packline_tree_bytes(packline_tree *tree, const char *path, const void *bytes, size_t length,
                        const packline_attributes *attributes, packline_error **error);
/* The content of the file of this machine at `source`, at the time of the pack. */
int packline_tree_file(packline_tree *tree, const char *path, const char *source,
                       const packline_attributes *attributes, packline_error **error);
/* A content of `size` bytes, or of unknown size if `size` is negative. */
int packline_tree_reader(packline_tree *tree, const char *path, packline_read_fn read, void *context, int64_t size,
                         const packline_attributes *attributes, packline_error **error);
int packline_tree_directory(packline_tree *tree, const char *path, const packline_attributes *attributes,
                            packline_error **error);
int packline_tree_symlink(packline_tree *tree, const char *path, const char *target,
                          const packline_attributes *attributes, packline_error **error);
int packline_tree_hard_link(packline_tree *tree, const char *path, const char *target, packline_error **error);
/* A device, a named pipe or a socket. */
int packline_tree_special(packline_tree *tree, const char *path, uint32_t type, uint32_t major, uint32_t minor,
                          const packline_attributes *attributes, packline_error **error);
void packline_tree_free(packline_tree *tree);

/* ---- Packing ---- */

typedef struct packline_progress {
    uint64_t entries;
    uint64_t content_bytes;
    uint64_t image_bytes;
} packline_progress;

typedef struct packline_observer {
    void *context;
    /* Each may be NULL. They are called by packline_packer_run, on its thread. */
    void (*entry)(void *context, const char *path);
    void (*advance)(void *context, const packline_progress *progress);
    void (*warning)(void *context, const char *message);
} packline_observer;

typedef struct packline_packed {
    uint64_t content_bytes;
    uint64_t output_bytes;
    uint64_t copied_blocks; /* compressed blocks that were copied from images that are sources or bases */
    uint64_t errors;
    uint64_t warnings;
} packline_packed;

packline_packer *packline_packer_new(void);
/* Each of these functions adds a source over the sources before it. */
int packline_packer_add_directory(packline_packer *packer, const char *path, packline_error **error);
int packline_packer_add_tar(packline_packer *packer, const char *path, packline_error **error);
int packline_packer_add_image(packline_packer *packer, const packline_image *image, packline_error **error);
/* Takes the tree, also after an error. */
int packline_packer_add_tree(packline_packer *packer, packline_tree *tree, packline_error **error);
/* Sets options: "codec=zstd:level=19", "block-size=256K", "time=0", "replace=yes". Packer::set in the documentation of the Rust library lists
 * all. Later options override earlier ones; each "exclude=PATTERN" adds a pattern. */
int packline_packer_set(packline_packer *packer, const char *option, packline_error **error);
void packline_packer_observe(packline_packer *packer, const packline_observer *observer);
void packline_packer_use_cancel(packline_packer *packer, const packline_cancel *cancel);
/* Writes the output, which gets its name when it is complete. A packer runs once. `packed` may be NULL. */
int packline_packer_run(packline_packer *packer, const char *output, packline_packed *packed, packline_error **error);
void packline_packer_free(packline_packer *packer);

#ifdef __cplusplus
}
#endif

#endif
