/* Writes JSON to standard output, value by value, indented by two. It allocates nothing, so only the output can fail.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_WRITER_H
#define JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position in the output: the depth, whether the innermost array or object has an entry, whether a key was just
 * written. */
struct json_writer {
    unsigned depth;
    bool filled;
    bool keyed;
};

/* Begins and ends an array or an object; the bracket is one of [ ] { }. The end of the outermost ends the line. */
void json_begin(struct json_writer *writer, char bracket);
void json_end(struct json_writer *writer, char bracket);

/* Writes the key of the next value of an object. */
void json_key(struct json_writer *writer, const char *key);

/* Write a value. A string is UTF-8; json_is_utf8 says whether bytes are. json_mended writes U+FFFD for each byte that
 * is not ASCII, and json_hexadecimal two digits for each byte. */
void json_string(struct json_writer *writer, const char *text, size_t size);
void json_mended(struct json_writer *writer, const char *bytes, size_t size);
void json_hexadecimal(struct json_writer *writer, const char *bytes, size_t size);
void json_number(struct json_writer *writer, int64_t number);
void json_boolean(struct json_writer *writer, bool value);
void json_null(struct json_writer *writer);

bool json_is_utf8(const char *bytes, size_t size);

#endif
