/* Calls a fuzz target with inputs from files and folders, so that earlier findings are tested with any compiler.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     fuzz_TARGET FILE|FOLDER...
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 20 };

static const char *current = "";
static int replayed;

/* Prints which input it was, when the target aborts. */
static void aborted(int number) {
    ssize_t written = write(STDERR_FILENO, current, strlen(current));
    written += write(STDERR_FILENO, " is the input\n", 14);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

static void replay(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(INPUT_MAX);
    if (!file || !bytes) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    size_t size = fread(bytes, 1, INPUT_MAX, file);
    fclose(file);
    uint8_t *input = malloc(size + 1); /* one byte more, since malloc(0) may be NULL */
    MUST(input);
    memcpy(input + 1, bytes, size);
    free(bytes);
    current = path;
    LLVMFuzzerTestOneInput(input + 1, size);
    free(input);
    replayed++;
}

static void replay_all(const char *path) {
    struct stat status;
    DIR *folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? opendir(path) : NULL;
    if (!folder) {
        replay(path);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') {
            replay(inner);
        }
    }
    closedir(folder);
}

int main(int argc, char **argv) {
    signal(SIGABRT, aborted);
    signal(SIGSEGV, aborted);
    for (int i = 1; i < argc; i++) {
        replay_all(argv[i]);
    }
    printf("%d passed, 0 failed\n", replayed);
    return replayed == 0;
}
