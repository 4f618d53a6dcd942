#include <packline.h>
#include <stdio.h>

/* Packs a text with each codec. The test puts functions with the names of the libraries of codecs before this program. */
int main(void)
{
    static const char *const codecs[] = {"zstd", "xz", "gzip", "lz4"};
    static char text[50000];
    packline_error *error = NULL;
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = "abcdefgh"[at * at / 7 % 8];
    for (size_t at = 0; at < sizeof codecs / sizeof *codecs; at++) {
        char option[20];
        packline_tree *tree = packline_tree_new();
        packline_packer *packer = packline_packer_new();
        snprintf(option, sizeof option, "codec=%s", codecs[at]);
        int failed = packline_tree_bytes(tree, "text", text, sizeof text, NULL, &error) ||
                     packline_packer_add_tree(packer, tree, &error) || packline_packer_set(packer, option, &error) ||
                     packline_packer_set(packer, "replace=yes", &error) || packline_packer_set(packer, "verify=yes", &error) ||
                     packline_packer_run(packer, "names.sqfs", NULL, &error);
        printf("%s %s\n", codecs[at], failed ? packline_error_message(error) : "ok");
        packline_packer_free(packer);
    }
    return 0;
}
