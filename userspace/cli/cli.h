/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the subcommands share.
 */
#ifndef CLI_H
#define CLI_H

/* Exit statuses. Of several files the highest counts. */
#define CLI_OK		0
#define CLI_DEFECT	1	/* a section is not what it should be */
#define CLI_USAGE	2	/* wrong usage; nothing was done */
#define CLI_NOTHING	3	/* a file lacks what the command is about */
#define CLI_UNSUITABLE	4	/* a file is broken, or of no kind that is taken */
#define CLI_TROUBLE	5	/* cannot read, write, or get what it takes */

/*
 * Print "sframe-unwind: " and the message to stderr, as one line, escaped: see
 * escape.h. Returns CLI_TROUBLE.
 */
__attribute__((format(printf, 1, 2)))
int complain(const char *format, ...);

/* The same, but returns @status. */
__attribute__((format(printf, 2, 3)))
int complain_as(int status, const char *format, ...);

/*
 * complain() of wrong usage of @command, unless @message is NULL because that
 * has been done, and point at --help. Returns CLI_USAGE.
 */
int usage_error(const char *command, const char *message);

/*
 * End the command, whose status is @status: output that could not be written is
 * trouble, whatever was found. Returns the exit status.
 */
int finish_output(int status);

/* The status of a file that the converter refused with the negative @error. */
int convert_status(int error);

/*
 * Subcommands. argv[0] is the subcommand's name. Return the exit status.
 */
int attach_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int check_main(int argc, char **argv);
int convert_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int exec_main(int argc, char **argv);
int verify_main(int argc, char **argv);

extern const char attach_help[];
extern const char cache_help[];
extern const char check_help[];
extern const char convert_help[];
extern const char dump_help[];
extern const char exec_help[];
extern const char verify_help[];

#endif /* CLI_H */
