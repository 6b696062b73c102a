/* Numbers that a server sends, clamped to bounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "numbers.h"

#include "unit.h"

static int64_t read_or(const char *text, int64_t otherwise) {
    int64_t number;
    return server_number(text, strlen(text), &number) ? number : otherwise;
}

static void numbers_are_read(void) {
    CHECK_EQ_INT(read_or("0", 1), 0);
    CHECK_EQ_INT(read_or("-12", 1), -12);
    CHECK_EQ_INT(read_or("999999999999999999", 1), INT64_C(999999999999999999));
    CHECK_EQ_INT(read_or("000000000000000000000007", 1), 7);
}

static void what_is_too_long_becomes_the_largest(void) {
    CHECK_EQ_INT(read_or("1000000000000000000", 1), INT64_C(999999999999999999));
    CHECK_EQ_INT(read_or("9999999999999999999", 1), INT64_C(999999999999999999));
    CHECK_EQ_INT(read_or("-99999999999999999999999999999999", 1), INT64_C(-999999999999999999));
}

static void what_is_none_is_refused(void) {
    static const char *const wrong[] = {"", "-", "x", "1x", "1.5", " 1", "+1", "--1", "9999999999999999999999x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ_INT(read_or(wrong[i], 77), 77);
    }
}

static void times_stay_where_they_can_be_calculated_with(void) {
    CHECK_EQ_INT(server_ms(-1), -1);
    CHECK_EQ_INT(server_ms(60000), 60000);
    CHECK_EQ_INT(server_ms(INT64_MAX), SERVER_MS_MAX);
    CHECK_EQ_INT(server_ms(INT64_MIN), -SERVER_MS_MAX);
}

int main(void) {
    RUN(numbers_are_read);
    RUN(what_is_too_long_becomes_the_largest);
    RUN(what_is_none_is_refused);
    RUN(times_stay_where_they_can_be_calculated_with);
    return unit_done();
}
