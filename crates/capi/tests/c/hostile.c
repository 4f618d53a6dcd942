/* Damages images in memory, and uses each mutant in all ways: an error is right, a crash is not. Prints how many mutants there were, how many could
 * be opened, and how many calls failed. */
#include <assert.h>
#include <packline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUTANTS = 300, MOST = 1 << 20, PART = 1 << 15 };

static uint64_t state = 88172645463325252u;
static unsigned failures;

static uint32_t random_below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % limit;
}

/* Counts a failed call, whose error must have a kind and a message. */
static void expect(int succeeded, packline_error **error)
{
    if (succeeded) {
        assert(!*error);
        return;
    }
    assert(*error && packline_error_kind(*error) != PACKLINE_ERROR_INTERNAL);
    assert(strlen(packline_error_message(*error)) > 0);
    packline_error_free(*error);
    *error = NULL;
    failures++;
}

static int on_xattr(void *context, const char *name, const void *value, size_t length)
{
    unsigned char *sum = context;
    for (size_t at = 0; at < length; at++)
        *sum ^= ((const unsigned char *)value)[at];
    return strlen(name) == 0;
}

static void read_file(const packline_image *image, const char *path)
{
    static char part[PART];
    packline_error *error = NULL;
    packline_file *file = packline_file_open(image, path, &error);
    expect(file != NULL, &error);
    if (!file)
        return;
    uint64_t size = packline_file_size(file);
    uint64_t offsets[] = {0, PART, size / 2, size - (size < 100 ? size : 100), size, UINT64_MAX - 10};
    for (size_t at = 0; at < sizeof offsets / sizeof *offsets; at++)
        expect(packline_file_read_at(file, offsets[at], part, sizeof part, &error) >= 0, &error);
    packline_file_free(file);
}

static int on_listed(void *context, const packline_entry *entry)
{
    size_t *length = context;
    *length += strlen(entry->path);
    return 0;
}

static int on_entry(void *context, const packline_entry *entry)
{
    const packline_image *image = context;
    packline_error *error = NULL;
    packline_entry same;
    char target[300];
    unsigned char sum = 0;
    size_t length = 0;
    expect(packline_stat(image, entry->path, &same, &error) == 0, &error);
    expect(packline_xattrs(image, entry->path, on_xattr, &sum, &error) == 0, &error);
    if (entry->type == PACKLINE_SYMLINK)
        expect(packline_readlink(image, entry->path, target, sizeof target, &error) >= 0, &error);
    if (entry->type == PACKLINE_DIRECTORY)
        expect(packline_list(image, entry->path, on_listed, &length, &error) == 0, &error);
    if (entry->type == PACKLINE_FILE || entry->type == PACKLINE_SYMLINK)
        read_file(image, entry->path);
    return 0;
}

static void mutate(unsigned char *bytes, size_t *length)
{
    static const unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff};
    unsigned changes = 1 + random_below(6);
    for (unsigned change = 0; change < changes; change++) {
        /* The superblocks and the tables at the end are small, and most rules concern them. */
        size_t place = random_below((uint32_t)*length);
        if (random_below(3) == 0)
            place = random_below(2048) % *length;
        else if (random_below(2) == 0)
            place = *length - 1 - random_below(4096) % *length;
        unsigned width = random_below(2) ? 1 : 4;
        unsigned char extreme = extremes[random_below(sizeof extremes)];
        for (size_t at = place; at < *length && at < place + width; at++)
            bytes[at] = random_below(2) ? extreme : (unsigned char)random_below(256);
    }
    if (random_below(12) == 0)
        *length = random_below((uint32_t)*length);
}

/* Returns whether the image could be opened. */
static unsigned use(const unsigned char *bytes, size_t length, unsigned number)
{
    static const char *const options[] = {"replace=yes", "continue=yes", "owners=no", "jobs=1", "memory=256M", NULL};
    packline_error *error = NULL;
    packline_image *image = packline_open_memory(bytes, length, &error);
    expect(image != NULL, &error);
    if (!image)
        return 0;
    expect(packline_walk(image, NULL, on_entry, image, &error) == 0, &error);
    if (number % 10 == 0)
        expect(packline_extract(image, "unpacked", options, NULL, NULL, &error) >= 0, &error);
    packline_image_free(image);
    return 1;
}

int main(int count, char **names)
{
    static unsigned char original[MOST], mutant[MOST];
    unsigned mutants = 0, opened = 0;
    for (int at = 1; at < count; at++) {
        FILE *file = fopen(names[at], "rb");
        assert(file);
        size_t length = fread(original, 1, sizeof original, file);
        fclose(file);
        assert(length > 4096 && length < MOST);
        for (unsigned number = 0; number < MUTANTS; number++, mutants++) {
            size_t left = length;
            memcpy(mutant, original, length);
            mutate(mutant, &left);
            opened += use(mutant, left, number);
        }
    }
    printf("%u mutants, %u opened, %u errors\n", mutants, opened, failures);
    return 0;
}
