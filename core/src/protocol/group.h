/* The values of a group, as they stand in its hash.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUP_H
#define GROUP_H

#include <stddef.h>

/* The field of a value begins with so many characters: its hash in base64. */
enum { GROUP_VALUE_SIZE = 22 };

/* Writes the characters of a value, without a final NUL. */
void group_value(const void *bytes, size_t size, char text[GROUP_VALUE_SIZE]);

/* Sorts values, each GROUP_VALUE_SIZE characters, and leaves out what is there twice; returns how many are left. */
size_t group_sort(char *values, size_t count);

#endif
