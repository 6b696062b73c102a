/* Loaded before a program: the names that end with .test have the addresses that a file tells, one line each:
 * name address. A name on several lines has all their addresses, in this order. The file may change at any time. Each
 * look-up of such a name adds a byte to another file.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int function(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
    function *real = (function *)dlsym(RTLD_NEXT, "getaddrinfo");
    size_t size = host ? strlen(host) : 0;
    if (size < 5 || strcmp(host + size - 5, ".test") != 0) {
        return real(host, port, hints, found);
    }
    if (hints->ai_flags & AI_NUMERICHOST) {
        return EAI_NONAME;
    }
    FILE *log = fopen(getenv("NAMES_LOG"), "a");
    if (log) {
        fputc('.', log);
        fclose(log);
    }
    FILE *file = fopen(getenv("NAMES_FILE"), "r");
    char name[100];
    char address[100];
    struct addrinfo **next = found;
    *next = NULL;
    while (file && fscanf(file, "%99s %99s", name, address) == 2) {
        if (strcmp(name, host) == 0 && real(address, port, hints, next) == 0) {
            while (*next) {
                next = &(*next)->ai_next;
            }
        }
    }
    if (file) {
        fclose(file);
    }
    return *found ? 0 : EAI_NONAME;
}
