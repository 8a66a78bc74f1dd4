/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the subcommands share.
 */
#ifndef CLI_H
#define CLI_H

/* Exit statuses. Of several files the worst, which is the highest, counts. */
#define CLI_OK		0
#define CLI_DEFECT	1	/* a section is not what it should be */
#define CLI_TROUBLE	2	/* wrong usage, unreadable or unsuitable file */

/*
 * Print "sframe-unwind: " and the message to stderr, as one line, escaped: see
 * escape.h. Returns CLI_TROUBLE.
 */
__attribute__((format(printf, 1, 2)))
int complain(const char *format, ...);

/* complain() of what getopt_long() did not like, and point at --help. */
int usage_error(const char *command, const char *message);

/*
 * Subcommands. argv[0] is the subcommand's name. Return the exit status.
 */
int attach_main(int argc, char **argv);
int check_main(int argc, char **argv);
int convert_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int exec_main(int argc, char **argv);
int verify_main(int argc, char **argv);

extern const char attach_help[];
extern const char check_help[];
extern const char convert_help[];
extern const char dump_help[];
extern const char exec_help[];
extern const char verify_help[];

#endif /* CLI_H */
