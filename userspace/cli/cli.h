/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the subcommands share.
 */
#ifndef CLI_H
#define CLI_H

/* Exit statuses. With several files, the highest is returned. */
#define CLI_OK		0
#define CLI_DEFECT	1	/* a section has a defect or a disagreement */
#define CLI_USAGE	2	/* wrong usage; nothing was done */
#define CLI_NOTHING	3	/* a file lacks the data that the command needs */
#define CLI_UNSUITABLE	4	/* a file is broken or of an unsupported kind */
#define CLI_TROUBLE	5	/* cannot read or write, no memory, no privilege */

/*
 * Print "sframe-unwind: " and the message to stderr, as one line, escaped: see
 * escape.h. Returns CLI_TROUBLE.
 */
__attribute__((format(printf, 1, 2)))
int complain(const char *format, ...);

/* As complain(), but returns @status. */
__attribute__((format(printf, 2, 3)))
int complain_as(int status, const char *format, ...);

/*
 * Print @message about wrong usage of @command, unless it is NULL because a message
 * has been printed already, and refer to --help. Returns CLI_USAGE.
 */
int usage_error(const char *command, const char *message);

/*
 * Flush the output. Returns the command's exit status: @status, or CLI_TROUBLE if the
 * output could not be written.
 */
int finish_output(int status);

/* Returns the exit status for a file that the converter refused with -errno @error. */
int convert_status(int error);

/*
 * Subcommands. argv[0] is the subcommand's name. Return the exit status.
 */
int attach_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int check_main(int argc, char **argv);
int convert_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int diff_main(int argc, char **argv);
int exec_main(int argc, char **argv);
int flamegraph_main(int argc, char **argv);
int list_main(int argc, char **argv);
int monitor_main(int argc, char **argv);
int record_main(int argc, char **argv);
int report_main(int argc, char **argv);
int script_main(int argc, char **argv);
int stack_main(int argc, char **argv);
int top_main(int argc, char **argv);
int trace_main(int argc, char **argv);
int verify_main(int argc, char **argv);

extern const char attach_help[];
extern const char cache_help[];
extern const char check_help[];
extern const char convert_help[];
extern const char dump_help[];
extern const char diff_help[];
extern const char exec_help[];
extern const char flamegraph_help[];
extern const char list_help[];
extern const char monitor_help[];
extern const char record_help[];
extern const char report_help[];
extern const char script_help[];
extern const char stack_help[];
extern const char top_help[];
extern const char trace_help[];
extern const char verify_help[];

#endif /* CLI_H */
