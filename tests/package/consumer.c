/* The smallest program that uses an installed redlatch: header and library must be of one version.
 * SPDX-License-Identifier: Apache-2.0 */
#include <redlatch.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    redlatch_lock_options options;
    const int status = redlatch_lock_options_init(&options, sizeof options);
    printf("header %s, library %s, %s\n", REDLATCH_VERSION, redlatch_version(), redlatch_strerror(status));
    return status != REDLATCH_OK || strcmp(REDLATCH_VERSION, redlatch_version()) != 0;
}
