/* Slots of keys, compared with the replies of a server to CLUSTER KEYSLOT.
 * SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"
#include "unit.h"

static int slot_of(const char *key) {
    return key_slot(key, strlen(key));
}

static void a_key_is_hashed_as_a_whole(void) {
    CHECK_EQ_INT(slot_of("123456789"), 0x31c3);
    CHECK_EQ_INT(slot_of("foo"), 12182);
    CHECK_EQ_INT(slot_of("\xff\x80 orders"), 7971);
    CHECK_EQ_INT(slot_of(""), 0);
}

static void only_a_hash_tag_counts(void) {
    CHECK_EQ_INT(slot_of("{user1000}.following"), slot_of("user1000"));
    CHECK_EQ_INT(slot_of("redisson_lock_timeout:{orders:42}"), slot_of("orders:42"));
    CHECK_EQ_INT(slot_of("foo{bar}{zap}"), slot_of("bar"));
    CHECK_EQ_INT(slot_of("foo{{bar}}zap"), slot_of("{bar"));
}

static void what_is_no_hash_tag(void) {
    CHECK_EQ_INT(slot_of("foo{}{bar}"), 8363);
    CHECK_EQ_INT(slot_of("foo{bar"), 15278);
    CHECK_EQ_INT(slot_of("foo}bar{"), 11073);
    CHECK(slot_of("a{}") != 0);
}

int main(void) {
    RUN(a_key_is_hashed_as_a_whole);
    RUN(only_a_hash_tag_counts);
    RUN(what_is_no_hash_tag);
    return unit_done();
}
