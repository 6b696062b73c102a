/* Users and passwords: stored, sent to a server, wiped, and kept out of messages.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "credentials.h"

#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "wipe.h"

void credentials_wipe(char *text) {
    if (text && PLANTED(FAULT_PASSWORD_NOT_WIPED)) {
        free(text);
    } else if (text) {
        wipe(text, strlen(text));
        free(text);
    }
}

static bool copy(const char *text, char **copy_out) {
    *copy_out = text ? strdup(text) : NULL;
    return !text || *copy_out;
}

bool credentials_set(struct credentials *credentials, const char *username, const char *password) {
    struct credentials new = {.version = credentials->version + 1};
    if (!copy(username, &new.username) || !copy(password, &new.password)) {
        credentials_wipe(new.username);
        credentials_wipe(new.password);
        return false;
    }
    credentials_wipe(credentials->username);
    credentials_wipe(credentials->password);
    *credentials = new;
    return true;
}

void credentials_free(struct credentials *credentials) {
    credentials_wipe(credentials->username);
    credentials_wipe(credentials->password);
    memset(credentials, 0, sizeof *credentials);
}

bool credentials_are_given(const struct credentials *credentials) {
    return credentials && (credentials->username || credentials->password);
}

bool credentials_say(const struct credentials *credentials, struct output *output) {
    const char *password = credentials->password ? credentials->password : "";
    const char *arguments[] = {"AUTH", credentials->username, password};
    size_t count = 3;
    if (!credentials->username) { /* the default user; another is sent even without a password */
        arguments[1] = password;
        count = 2;
    }
    const size_t sizes[] = {4, strlen(arguments[1]), strlen(password)};
    return output_arguments(output, count, arguments, sizes);
}

/* Returns whether the error is one of Redis' own texts for a refused AUTH. They quote no argument, even if a short
 * password occurs in them. */
static bool is_of_redis(const struct reply *reply) {
    static const char *const sentences[] = {
        "WRONGPASS invalid username-password pair",
        "WRONGPASS invalid username-password pair or user is disabled.",
        ("ERR AUTH <password> called without any password configured for the default user."
         " Are you sure your configuration is correct?"),
    };
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++) {
        if (reply->size == strlen(sentences[i]) && memcmp(reply->text, sentences[i], reply->size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_quote(char character) {
    return character == '\'' || character == '`' || character == '"';
}

struct reply credentials_shown_error(const struct credentials *credentials, uint32_t version,
                                     const struct reply *reply) {
    struct reply shown = *reply;
    if (is_of_redis(reply)) {
        return shown;
    }
    bool same = credentials && credentials->version == version; /* else the sent password is not known any more */
    const char *password = same && credentials->password ? credentials->password : "";
    size_t length = strlen(password);
    for (size_t i = 0; i < shown.size; i++) {
        bool repeats = length > 0 && shown.size - i >= length && memcmp(reply->text + i, password, length) == 0;
        if (is_quote(reply->text[i]) || repeats || (!same && reply->text[i] == ' ')) {
            shown.size = i;
        }
    }
    return shown;
}
