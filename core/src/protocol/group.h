/* The values of a group lock, as they are stored in its hash.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUP_H
#define GROUP_H

#include <stddef.h>

/* How many characters the field of a value begins with: the hash of the value in base64. */
enum { GROUP_VALUE_SIZE = 22 };

/* Writes the characters of a value, without a final NUL. */
void group_value(const void *bytes, size_t size, char text[GROUP_VALUE_SIZE]);

/* Sorts values of GROUP_VALUE_SIZE characters each, and drops duplicates. Returns how many values are left. */
size_t group_sort(char *values, size_t count);

#endif
