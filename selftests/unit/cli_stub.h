/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of parts of the command: what they call of the command itself. */
#ifndef SELFTESTS_UNIT_CLI_STUB_H
#define SELFTESTS_UNIT_CLI_STUB_H

/* The last complaint; tests empty it. */
extern char said[512];

/* Remove @path and all that is below it. */
void remove_tree(const char *path);

#endif /* SELFTESTS_UNIT_CLI_STUB_H */
