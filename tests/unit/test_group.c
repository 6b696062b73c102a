/* The values of a group: how they are stored and sorted, and that duplicates are dropped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <string.h>

#include "unit.h"

static void check_value(const char *value, const char *expected) {
    char text[GROUP_VALUE_SIZE + 1] = "";
    group_value(value, strlen(value), text);
    CHECK_STR(text, expected);
}

/* The expected texts were made with Redisson's own class (wire format 5.1). */
static void values_are_named_as_redisson_names_them(void) {
    check_value("", "t6rZwibGo2uy1OSmNVe8pg");
    check_value("a", "qwvAS12pR0CgRitaypEjUw");
    check_value("f1", "uxmtuxwbA6v+mqalmQLIOA");
    check_value("student:001", "DqvoYruF5eyLDrILcprmBw");
    check_value("0123456789abcdef0123456789abcdef", "08hr0B8iaf3PoSsWAS8sWA");
    check_value("0123456789abcdef0123456789abcdefX", "VjlgQDRPSK889um0d9QvSg");
    check_value("The quick brown fox jumps over the lazy dog, twice.", "A0iUoQBwHUhhhmhE4hMMgA");
}

static void any_bytes_are_a_value(void) {
    char one[GROUP_VALUE_SIZE];
    char other[GROUP_VALUE_SIZE];
    group_value("a\0b", 3, one);
    group_value("a\0c", 3, other);
    CHECK(memcmp(one, other, sizeof one) != 0);
}

static void values_are_sorted_and_none_is_there_twice(void) {
    char values[5 * GROUP_VALUE_SIZE + 1] = "cccccccccccccccccccccc"
                                            "aaaaaaaaaaaaaaaaaaaaaa"
                                            "cccccccccccccccccccccc"
                                            "bbbbbbbbbbbbbbbbbbbbbb"
                                            "aaaaaaaaaaaaaaaaaaaaaa";
    CHECK_EQ_INT(group_sort(values, 5), 3);
    values[3 * GROUP_VALUE_SIZE] = '\0';
    CHECK_STR(values, "aaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbcccccccccccccccccccccc");
    CHECK_EQ_INT(group_sort(values, 1), 1);
}

static void many_values_are_sorted(void) {
    enum { MANY = 1000, DIFFERENT = 499 };
    static char values[MANY * GROUP_VALUE_SIZE];
    for (int i = 0; i < MANY; i++) {
        int value = i * 7919 % DIFFERENT;
        group_value(&value, sizeof value, values + i * GROUP_VALUE_SIZE);
    }
    CHECK_EQ_INT(group_sort(values, MANY), DIFFERENT);
    for (int i = 1; i < DIFFERENT; i++) {
        CHECK(memcmp(values + (i - 1) * GROUP_VALUE_SIZE, values + i * GROUP_VALUE_SIZE, GROUP_VALUE_SIZE) < 0);
    }
}

int main(void) {
    RUN(values_are_named_as_redisson_names_them);
    RUN(any_bytes_are_a_value);
    RUN(values_are_sorted_and_none_is_there_twice);
    RUN(many_values_are_sorted);
    return unit_done();
}
