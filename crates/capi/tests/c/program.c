/* Uses each function of the C interface once, and a few of them wrongly. */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <packline.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without NDEBUG, whatever the flags of the compiler are. */
#ifdef NDEBUG
#error "the test needs assert"
#endif

/* Ends the program if a call failed. */
static void check(int succeeded, packline_error *error, const char *call)
{
    if (succeeded)
        return;
    fprintf(stderr, "%s: %s\n", call, error ? packline_error_message(error) : "no error");
    exit(1);
}

/* Expects that a call failed with a kind, and frees its error. */
static void failed(int kind, packline_error **error, const char *call)
{
    if (!*error || packline_error_kind(*error) != kind) {
        fprintf(stderr, "%s: %s\n", call, *error ? packline_error_message(*error) : "no error");
        exit(1);
    }
    packline_error_free(*error);
    *error = NULL;
}

static int64_t count_down(void *context, void *buffer, size_t size)
{
    size_t *left = context;
    size_t count = *left < size ? *left : size;
    memset(buffer, 'r', count);
    *left -= count;
    return (int64_t)count;
}

static int64_t broken(void *context, void *buffer, size_t size)
{
    (void)context, (void)buffer, (void)size;
    return -1;
}

struct seen {
    unsigned entries, reports, links, warnings;
    uint64_t bytes;
};

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void on_entry(void *context, const char *path)
{
    assert(path);
    ((struct seen *)context)->entries++;
}

static void on_advance(void *context, const packline_progress *progress)
{
    struct seen *seen = context;
    assert(progress->content_bytes >= seen->bytes);
    seen->bytes = progress->content_bytes;
    seen->reports++;
}

static int on_listed(void *context, const packline_entry *entry)
{
    struct seen *seen = context;
    seen->entries++;
    seen->links += entry->type == PACKLINE_SYMLINK;
    return 0;
}

static int on_first(void *context, const packline_entry *entry)
{
    (void)entry;
    ((struct seen *)context)->entries++;
    return 1;
}

static int on_xattr(void *context, const char *name, const void *value, size_t length)
{
    assert(!strcmp(name, "user.note") && length == 3 && !memcmp(value, "a\0b", 3));
    ++*(unsigned *)context;
    return 0;
}

static void on_warning(void *context, const char *message)
{
    assert(strlen(message) > 0);
    ((struct seen *)context)->warnings++;
}

static void on_line(void *context, uint32_t level, const char *target, const char *message)
{
    assert(level >= PACKLINE_LOG_ERROR && level <= PACKLINE_LOG_TRACE && strlen(target) > 0 && message);
    pthread_mutex_lock(&log_lock);
    ++*(unsigned *)context;
    pthread_mutex_unlock(&log_lock);
}

/* A content without end, which another thread stops. */
struct endless {
    const packline_cancel *cancel;
    pthread_t thread;
    int started;
};

static void *cancel_now(void *context)
{
    packline_cancel_set(((struct endless *)context)->cancel);
    return NULL;
}

static int64_t read_endless(void *context, void *buffer, size_t size)
{
    struct endless *endless = context;
    if (!endless->started++)
        assert(!pthread_create(&endless->thread, NULL, cancel_now, endless));
    memset(buffer, endless->started & 0xff, size);
    return (int64_t)size;
}

static void *read_part(void *context)
{
    const packline_file *file = context;
    char bytes[1000];
    packline_error *error = NULL;
    for (uint64_t offset = 0; offset < 100000; offset += 500) {
        int64_t count = packline_file_read_at(file, offset, bytes, sizeof bytes, &error);
        check(count == (offset + 1000 > 100000 ? 500 : 1000), error, "packline_file_read_at");
        assert(bytes[0] == 'r' && bytes[count - 1] == 'r');
    }
    return NULL;
}

static void pack(void)
{
    packline_error *error = NULL;
    size_t sized = 100000, unsized_bytes = 5000;
    packline_attributes attributes = {0750, 1, 2, 1700000000, 5};
    packline_tree *tree = packline_tree_new();
    check(!packline_tree_bytes(tree, "etc/motd", "hello\n", 6, &attributes, &error), error, "bytes");
    check(!packline_tree_file(tree, "self", "/proc/self/exe", NULL, &error), error, "file");
    check(!packline_tree_reader(tree, "r/sized", count_down, &sized, 100000, NULL, &error), error, "reader");
    check(!packline_tree_reader(tree, "r/unsized", count_down, &unsized_bytes, -1, NULL, &error), error, "reader");
    check(!packline_tree_directory(tree, "empty", NULL, &error), error, "directory");
    check(!packline_tree_symlink(tree, "link", "etc/motd", NULL, &error), error, "symlink");
    check(!packline_tree_hard_link(tree, "etc/issue", "etc/motd", &error), error, "hard link");
    check(!packline_tree_special(tree, "null", PACKLINE_CHAR_DEVICE, 1, 3, NULL, &error), error, "special");
    check(!packline_tree_directory(tree, "etc", NULL, &error), error, "directory");
    check(!packline_tree_xattr(tree, "etc", "user.note", "a\0b", 3, &error), error, "xattr");
    assert(packline_tree_xattr(tree, "etc/none", "user.note", "", 0, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "xattr");
    assert(packline_tree_special(tree, "x", PACKLINE_FILE, 0, 0, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "special");
    assert(packline_tree_bytes(tree, "../x", "", 0, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "bytes");

    struct seen seen = {0};
    packline_observer observer = {&seen, on_entry, on_advance, on_warning};
    packline_cancel *cancel = packline_cancel_new();
    packline_packed packed;
    unsigned lines = 0;
    packline_packer *packer = packline_packer_new();
    check(!packline_log(PACKLINE_LOG_TRACE, on_line, &lines, &error), error, "log");
    check(!packline_packer_add_tree(packer, tree, &error), error, "add_tree");
    check(!packline_packer_set(packer, "codec=zstd:level=3", &error), error, "set");
    check(!packline_packer_set(packer, "exclude=/self", &error), error, "set");
    assert(packline_packer_set(packer, "level=3", &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "set");
    packline_packer_observe(packer, &observer);
    packline_packer_use_cancel(packer, cancel);
    check(!packline_packer_run(packer, "a.sqfs", &packed, &error), error, "run");
    check(!packline_log(PACKLINE_LOG_OFF, NULL, NULL, &error), error, "log");
    assert(lines > 0);
    assert(packline_log(6, on_line, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "log");
    assert(packed.content_bytes == 105006 && packed.errors == 0 && seen.entries >= 7 && seen.bytes == 105006);
    assert(packline_packer_run(packer, "b.sqfs", NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "run");
    packline_packer_free(packer);

    tree = packline_tree_new();
    check(!packline_tree_reader(tree, "broken", broken, NULL, 5, NULL, &error), error, "reader");
    packer = packline_packer_new();
    check(!packline_packer_add_tree(packer, tree, &error), error, "add_tree");
    assert(packline_packer_run(packer, "b.sqfs", NULL, &error) == -1);
    failed(PACKLINE_ERROR_IO, &error, "run");
    packline_packer_free(packer);

    packline_cancel_free(cancel);
}

/* Packs an image into a file after 10 other bytes, and into a pipe. */
static void pack_into_descriptors(void)
{
    static const char *const options[] = {"codec=none", "time=0", "scratch=."};
    static char bytes[2][1 << 16];
    size_t lengths[2] = {0, 0};
    packline_error *error = NULL;
    for (int number = 0; number < 2; number++) {
        int ends[2] = {-1, -1};
        packline_packed packed;
        packline_packer *packer = packline_packer_new();
        packline_tree *tree = packline_tree_new();
        check(!packline_tree_bytes(tree, "etc/motd", "hello\n", 6, NULL, &error), error, "bytes");
        check(!packline_packer_add_tree(packer, tree, &error), error, "add_tree");
        for (size_t at = 0; at < sizeof options / sizeof *options; at++)
            check(!packline_packer_set(packer, options[at], &error), error, "set");
        if (number == 0) {
            ends[0] = ends[1] = open("after", O_RDWR | O_CREAT | O_TRUNC, 0600);
            assert(write(ends[1], "0123456789", 10) == 10);
        } else {
            assert(!pipe(ends));
        }
        check(!packline_packer_run_fd(packer, ends[1], &packed, &error), error, "run_fd");
        packline_packer_free(packer);
        assert(packed.content_bytes == 6 && packed.output_bytes <= sizeof bytes[number]);
        if (number == 0)
            assert(lseek(ends[0], 0, SEEK_CUR) == (off_t)packed.output_bytes + 10 && lseek(ends[0], 10, SEEK_SET) == 10);
        else
            close(ends[1]);
        for (ssize_t count; (count = read(ends[0], bytes[number] + lengths[number], sizeof bytes[number] - lengths[number])) > 0;)
            lengths[number] += (size_t)count;
        assert(lengths[number] == packed.output_bytes);
        close(ends[0]);
    }
    assert(lengths[0] == lengths[1] && !memcmp(bytes[0], bytes[1], lengths[0]));

    packline_packer *packer = packline_packer_new();
    check(!packline_packer_add_tree(packer, packline_tree_new(), &error), error, "add_tree");
    assert(packline_packer_run_fd(packer, -1, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "run_fd");
    packline_packer_free(packer);
}

/* A tar with one file, in parts of 100 bytes. */
struct tar {
    unsigned char bytes[2048];
    size_t read;
};

static int64_t read_tar(void *context, void *buffer, size_t size)
{
    struct tar *tar = context;
    size_t left = sizeof tar->bytes - tar->read;
    size_t count = size < 100 ? size : 100;
    if (count > left)
        count = left;
    memcpy(buffer, tar->bytes + tar->read, count);
    tar->read += count;
    return (int64_t)count;
}

static void pack_tar(void)
{
    static struct tar tar;
    packline_error *error = NULL;
    packline_packed packed;
    char *header = (char *)tar.bytes;
    unsigned sum = 0;
    strcpy(header, "motd");
    strcpy(header + 100, "0000644");
    strcpy(header + 108, "0000000");
    strcpy(header + 116, "0000000");
    strcpy(header + 124, "00000000006");
    strcpy(header + 136, "00000000000");
    memset(header + 148, ' ', 8);
    strcpy(header + 156, "0");
    memcpy(header + 257, "ustar\00000", 8);
    for (size_t at = 0; at < 512; at++)
        sum += tar.bytes[at];
    snprintf(header + 148, 8, "%06o", sum);
    memcpy(tar.bytes + 512, "hello\n", 6);

    packline_packer *packer = packline_packer_new();
    check(!packline_packer_add_tar_reader(packer, "upload", read_tar, &tar, &error), error, "add_tar_reader");
    check(!packline_packer_run(packer, "tar.sqfs", &packed, &error), error, "run");
    packline_packer_free(packer);
    assert(packed.content_bytes == 6 && tar.read == sizeof tar.bytes);

    packer = packline_packer_new();
    check(!packline_packer_add_tar_reader(packer, "upload", broken, NULL, &error), error, "add_tar_reader");
    assert(packline_packer_run(packer, "never.sqfs", NULL, &error) == -1);
    assert(strstr(packline_error_message(error), "upload"));
    failed(PACKLINE_ERROR_IO, &error, "run");
    assert(packline_packer_add_tar_reader(packer, "upload", NULL, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "add_tar_reader");
    packline_packer_free(packer);
}

static void cancel_packs(void)
{
    packline_error *error = NULL;
    packline_cancel *cancel = packline_cancel_new();
    struct endless endless = {cancel, 0, 0};
    packline_tree *tree = packline_tree_new();
    check(!packline_tree_reader(tree, "endless", read_endless, &endless, (int64_t)1 << 40, NULL, &error), error, "reader");
    packline_packer *packer = packline_packer_new();
    check(!packline_packer_add_tree(packer, tree, &error), error, "add_tree");
    packline_packer_use_cancel(packer, cancel);
    assert(packline_packer_run(packer, "c.sqfs", NULL, &error) == -1);
    failed(PACKLINE_ERROR_CANCELLED, &error, "run");
    packline_packer_free(packer);
    assert(endless.started && !pthread_join(endless.thread, NULL) && access("c.sqfs", F_OK) != 0);

    packer = packline_packer_new();
    check(!packline_packer_add_directory(packer, ".", &error), error, "add_directory");
    packline_packer_use_cancel(packer, cancel);
    assert(packline_packer_run(packer, "c.sqfs", NULL, &error) == -1);
    failed(PACKLINE_ERROR_CANCELLED, &error, "run");
    packline_packer_free(packer);
    packline_cancel_free(cancel);
}

static void inspect(const packline_image *image)
{
    packline_error *error = NULL;
    packline_entry entry, other;
    struct seen seen = {0};
    char target[4];
    check(!packline_stat(image, "/etc/motd", &entry, &error), error, "stat");
    assert(entry.type == PACKLINE_FILE && entry.size == 6 && entry.mode == 0750 && entry.uid == 1 && entry.gid == 2);
    assert(entry.mtime == 1700000000 && entry.links == 2 && !entry.path);
    check(!packline_stat(image, "etc/issue", &other, &error), error, "stat");
    assert(entry.id == other.id);
    check(!packline_stat(image, "null", &entry, &error), error, "stat");
    assert(entry.type == PACKLINE_CHAR_DEVICE && entry.major == 1 && entry.minor == 3);
    assert(packline_stat(image, "none", &entry, &error) == -1);
    assert(!strcmp(packline_error_entry(error), "none") && packline_error_path(error));
    assert(packline_error_offset(error) == -1);
    failed(PACKLINE_ERROR_NOT_FOUND, &error, "stat");
    check(!packline_walk(image, NULL, on_listed, &seen, &error), error, "walk");
    assert(seen.entries == 10 && seen.links == 1);
    seen.entries = 0;
    check(!packline_walk(image, "etc", on_listed, &seen, &error), error, "walk");
    assert(seen.entries == 3);
    seen.entries = 0;
    check(!packline_list(image, "etc", on_listed, &seen, &error), error, "list");
    assert(seen.entries == 2);
    seen.entries = 0;
    check(!packline_walk(image, NULL, on_first, &seen, &error), error, "walk");
    assert(seen.entries == 1);
    assert(packline_walk(image, NULL, NULL, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "walk");
    assert(packline_readlink(image, "link", target, sizeof target, &error) == 8 && !memcmp(target, "etc/", 4));
    assert(packline_readlink(image, "etc", NULL, 0, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "readlink");
    unsigned xattrs = 0;
    check(!packline_xattrs(image, "etc", on_xattr, &xattrs, &error), error, "xattrs");
    check(!packline_xattrs(image, "link", on_xattr, &xattrs, &error), error, "xattrs");
    assert(xattrs == 1);
}

static void read_file(const packline_image *image)
{
    packline_error *error = NULL;
    pthread_t threads[4];
    packline_file *file = packline_file_open(image, "r/sized", &error);
    check(file != NULL, error, "file_open");
    assert(packline_file_size(file) == 100000);
    for (int thread = 0; thread < 4; thread++)
        assert(!pthread_create(&threads[thread], NULL, read_part, file));
    for (int thread = 0; thread < 4; thread++)
        assert(!pthread_join(threads[thread], NULL));
    packline_file_free(file);
    assert(!packline_file_open(image, "etc", &error));
    failed(PACKLINE_ERROR_INVALID, &error, "file_open");
    assert(!packline_file_open(NULL, "etc", NULL));
}

static void extract(const packline_image *image)
{
    static const char *const options[] = {"select=etc", "select=r/sized", "exclude=issue", "owners=no", "xattrs=no", NULL};
    static const char *const unknown[] = {"select=etc", "level=3", NULL};
    static const char *const unmatched[] = {"select=none", NULL};
    packline_error *error = NULL;
    struct seen seen = {0};
    packline_observer observer = {&seen, on_entry, on_advance, on_warning};
    packline_cancel *cancel = packline_cancel_new();
    check(!packline_extract(image, "unpacked", options, &observer, cancel, &error), error, "extract");
    assert(access("unpacked/etc/motd", R_OK) == 0 && access("unpacked/r/sized", R_OK) == 0);
    assert(access("unpacked/etc/issue", F_OK) != 0 && access("unpacked/link", F_OK) != 0);
    assert(seen.entries >= 4 && seen.reports > 0 && seen.bytes == 100006);
    assert(packline_extract(image, "unpacked", options, NULL, NULL, &error) == -1);
    failed(PACKLINE_ERROR_EXISTS, &error, "extract");
    assert(packline_extract(image, "other", unknown, NULL, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "extract");
    assert(packline_extract(image, "other", unmatched, NULL, NULL, &error) == -1);
    failed(PACKLINE_ERROR_INVALID, &error, "extract");
    packline_cancel_set(cancel);
    assert(packline_extract(image, "other", options, NULL, cancel, &error) == -1);
    failed(PACKLINE_ERROR_CANCELLED, &error, "extract");
    assert(access("other", F_OK) != 0);
    packline_cancel_free(cancel);
}

static void open_all(void)
{
    packline_error *error = NULL;
    static char bytes[1 << 20];
    int descriptor = open("a.sqfs", O_RDONLY);
    assert(descriptor >= 0);
    ssize_t length = read(descriptor, bytes, sizeof bytes);
    assert(length > 0);
    packline_image *images[3] = {
        packline_open("a.sqfs", &error),
        packline_open_fd(descriptor, &error),
        packline_open_memory(bytes, (size_t)length, &error),
    };
    close(descriptor);
    for (int number = 0; number < 3; number++) {
        check(images[number] != NULL, error, "open");
        inspect(images[number]);
        read_file(images[number]);
    }
    extract(images[2]);

    packline_packer *packer = packline_packer_new();
    packline_tree *tree = packline_tree_new();
    packline_packed packed;
    check(!packline_tree_bytes(tree, "etc/motd", "new\n", 4, NULL, &error), error, "bytes");
    check(!packline_packer_add_image(packer, images[0], &error), error, "add_image");
    check(!packline_packer_add_tree(packer, tree, &error), error, "add_tree");
    check(!packline_packer_set(packer, "codec=zstd:level=3", &error), error, "set");
    check(!packline_packer_run(packer, "d.sqfs", &packed, &error), error, "run");
    packline_packer_free(packer);
    for (int number = 0; number < 3; number++)
        packline_image_free(images[number]);

    assert(!packline_open_fd(-1, &error));
    failed(PACKLINE_ERROR_INVALID, &error, "open_fd");
    assert(!packline_open_fd(descriptor, &error));
    failed(PACKLINE_ERROR_IO, &error, "open_fd");
    assert(!packline_open("none", &error));
    failed(PACKLINE_ERROR_NOT_FOUND, &error, "open");
    assert(!packline_open_memory("text", 4, &error));
    failed(PACKLINE_ERROR_WRONG_FORMAT, &error, "open_memory");
    packer = packline_packer_new();
    check(!packline_packer_add_tar(packer, "none.tar", &error), error, "add_tar");
    assert(packline_packer_run(packer, "e.sqfs", NULL, &error) == -1);
    failed(PACKLINE_ERROR_NOT_FOUND, &error, "run");
    packline_packer_free(packer);
}

int main(void)
{
    assert(strlen(packline_version()) >= 5);
    pack();
    pack_into_descriptors();
    pack_tar();
    cancel_packs();
    open_all();
    packline_image_free(NULL);
    packline_tree_free(packline_tree_new());
    puts("ok");
    return 0;
}
