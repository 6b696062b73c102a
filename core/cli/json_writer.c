/* The commas, lines and escapes of JSON; json_writer.h says how it is used.
 * SPDX-License-Identifier: Apache-2.0 */
#include "json_writer.h"

#include <inttypes.h>
#include <stdio.h>

static void begin_line(const struct json_writer *writer) {
    printf("\n%*s", (int)(2 * writer->depth), "");
}

/* Writes what precedes a key or a value: nothing after a key, else a comma if needed, and the indentation of a new
 * line. */
static void begin_value(struct json_writer *writer) {
    if (!writer->keyed && writer->depth) {
        if (writer->filled) {
            putchar(',');
        }
        begin_line(writer);
    }
    writer->keyed = false;
    writer->filled = true;
}

void json_begin(struct json_writer *writer, char bracket) {
    begin_value(writer);
    putchar(bracket);
    writer->depth++;
    writer->filled = false;
}

void json_end(struct json_writer *writer, char bracket) {
    writer->depth--;
    if (writer->filled) {
        begin_line(writer);
    }
    putchar(bracket);
    writer->filled = true;
    if (writer->depth == 0) {
        putchar('\n');
    }
}

/* Returns the character of UTF-8 that begins at bytes[0], and stores its size. Returns -1 if none begins there. */
static int32_t decode(const unsigned char *bytes, size_t size, size_t *size_out) {
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned first = bytes[0];
    size_t more = first < 0x80 ? 0 : first < 0xc2 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 4;
    if (more == 4 || more >= size) {
        return -1;
    }
    int32_t code = (int32_t)(more == 0 ? first : first & (0x3fu >> more));
    for (size_t i = 1; i <= more; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return -1;
        }
        code = code << 6 | (bytes[i] & 0x3f);
    }
    *size_out = more + 1;
    bool good = code >= least[more] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return good ? code : -1;
}

bool json_is_utf8(const char *bytes, size_t size) {
    size_t step;
    for (size_t at = 0; at < size; at += step) {
        if (decode((const unsigned char *)bytes + at, size - at, &step) < 0) {
            return false;
        }
    }
    return true;
}

/* Returns whether a character that JSON allows unescaped is unfit for a terminal: DEL, the control characters from U+80
 * to U+9F, and invisible ones that change the direction of writing or end a line. */
static bool is_unfit(int32_t code) {
    return (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

/* Writes a character that needs an escape in a string. Returns false if it needs none; then nothing is written. */
static bool put_escaped(int32_t code) {
    static const char letters[] = "btn?fr"; /* for characters 8 to 13 */
    if (code == '"' || code == '\\') {
        printf("\\%c", (int)code);
    } else if (code >= 8 && code <= 13 && code != 11) {
        printf("\\%c", letters[code - 8]);
    } else if (code < 0x20 || is_unfit(code)) {
        printf("\\u%04" PRIx32, (uint32_t)code);
    } else {
        return false;
    }
    return true;
}

static void put_quoted(const char *text, size_t size, bool mends) {
    putchar('"');
    size_t step = 1;
    for (size_t at = 0; at < size; at += step) {
        const unsigned char *bytes = (const unsigned char *)text + at;
        bool mended = mends && bytes[0] >= 0x80;
        int32_t code = mended ? -1 : decode(bytes, size - at, &step);
        if (code < 0) {
            step = 1;
            fputs("\xef\xbf\xbd", stdout);
        } else if (!put_escaped(code)) {
            fwrite(bytes, 1, step, stdout);
        }
    }
    putchar('"');
}

void json_key(struct json_writer *writer, const char *key) {
    begin_value(writer);
    printf("\"%s\": ", key);
    writer->keyed = true;
}

void json_string(struct json_writer *writer, const char *text, size_t size) {
    begin_value(writer);
    put_quoted(text, size, false);
}

void json_mended(struct json_writer *writer, const char *bytes, size_t size) {
    begin_value(writer);
    put_quoted(bytes, size, true);
}

void json_hexadecimal(struct json_writer *writer, const char *bytes, size_t size) {
    begin_value(writer);
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        printf("%02x", (unsigned)(unsigned char)bytes[i]);
    }
    putchar('"');
}

void json_number(struct json_writer *writer, int64_t number) {
    begin_value(writer);
    printf("%" PRId64, number);
}

void json_boolean(struct json_writer *writer, bool value) {
    begin_value(writer);
    fputs(value ? "true" : "false", stdout);
}

void json_null(struct json_writer *writer) {
    begin_value(writer);
    fputs("null", stdout);
}
