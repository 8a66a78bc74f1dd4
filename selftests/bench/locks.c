// SPDX-License-Identifier: GPL-2.0
/*
 * Locks: how long a thread holds which lock, by the kernel's function tracer.
 *
 * Records do not contain the address of the lock: a release is matched with the
 * last acquisition by a function of the same family that has not been released
 * yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code.h"
#include "locks.h"
#include "measure.h"

#define TRACING		"/sys/kernel/tracing/"
#define MODULE		"[sframe_unwind]"

/* Kilobytes for records, of 28 bytes each. */
#define BUFFER		"98304"

/* Functions whose acquisitions and releases match. */
enum family { READ, WRITE, MUTEX, SPIN, SPIN_IRQ, SPIN_IRQSAVE, SPIN_BH };

enum action { TAKE, GIVE, DOWNGRADE };

struct function {
	const char *name;
	enum action action;
	enum family family;
	uint64_t address;
};

#define FUNCTION(called, does, of)					\
	{ .name = called, .action = does, .family = of }

static struct function functions[] = {
	FUNCTION("down_read", TAKE, READ),
	FUNCTION("down_read_interruptible", TAKE, READ),
	FUNCTION("down_read_killable", TAKE, READ),
	FUNCTION("down_read_trylock", TAKE, READ),
	FUNCTION("up_read", GIVE, READ),
	FUNCTION("down_write", TAKE, WRITE),
	FUNCTION("down_write_killable", TAKE, WRITE),
	FUNCTION("down_write_trylock", TAKE, WRITE),
	FUNCTION("downgrade_write", DOWNGRADE, WRITE),
	FUNCTION("up_write", GIVE, WRITE),
	FUNCTION("mutex_lock", TAKE, MUTEX),
	FUNCTION("mutex_lock_interruptible", TAKE, MUTEX),
	FUNCTION("mutex_lock_killable", TAKE, MUTEX),
	FUNCTION("mutex_trylock", TAKE, MUTEX),
	FUNCTION("mutex_unlock", GIVE, MUTEX),
	FUNCTION("_raw_spin_lock", TAKE, SPIN),
	FUNCTION("_raw_spin_trylock", TAKE, SPIN),
	FUNCTION("_raw_spin_unlock", GIVE, SPIN),
	FUNCTION("_raw_spin_lock_irq", TAKE, SPIN_IRQ),
	FUNCTION("_raw_spin_unlock_irq", GIVE, SPIN_IRQ),
	FUNCTION("_raw_spin_lock_irqsave", TAKE, SPIN_IRQSAVE),
	FUNCTION("_raw_spin_unlock_irqrestore", GIVE, SPIN_IRQSAVE),
	FUNCTION("_raw_spin_lock_bh", TAKE, SPIN_BH),
	FUNCTION("_raw_spin_unlock_bh", GIVE, SPIN_BH),
};

#define NR_FUNCTIONS	(sizeof(functions) / sizeof(functions[0]))

/* Events that tell when another context runs instead of the thread. */
static const char *const events[] = {
	"sched/sched_switch", "signal/signal_deliver",
	"irq/irq_handler_entry", "irq/irq_handler_exit",
	"irq/softirq_entry", "irq/softirq_exit",
	"irq_vectors/local_timer_entry", "irq_vectors/local_timer_exit",
};

/* Common to all records, see events/header_event and the format of each event. */
#define FLAG_HARDIRQ	0x08
#define FLAG_SOFTIRQ	0x10
#define ID_FUNCTION	1

static struct {
	int switch_id, prev_pid, next_pid;
	int signal_id, signal;
} format;

struct symbol {
	uint64_t address;
	char *name;
};

static struct symbol *symbols;
static unsigned int nr_symbols;
static uint64_t module_start, module_end;
static int on_fd = -1;
static pid_t traced;
static uint64_t cost;

static void write_file(const char *path, const char *text)
{
	char full[128];
	int fd;

	snprintf(full, sizeof(full), TRACING "%s", path);
	fd = open(full, O_WRONLY | O_TRUNC);
	if (fd < 0 || (*text && write(fd, text, strlen(text)) < 0))
		die("%s: %s", full, strerror(errno));
	close(fd);
}

/* The number after @word in file @path; the last one if there are several. */
static long read_number(const char *path, const char *word)
{
	char full[128], line[256], *at;
	long number = -1;
	FILE *file;

	snprintf(full, sizeof(full), TRACING "%s", path);
	file = fopen(full, "r");
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, word);
		if (at)
			number = atol(at + strlen(word));
	}
	if (!file || number < 0)
		die("%s: no %s", full, word);
	fclose(file);
	return number;
}

/* Offset of field @name in records of the event in @path. */
static int read_offset(const char *path, const char *name)
{
	char full[128], line[256], *at;
	int offset = -1;
	FILE *file;

	snprintf(full, sizeof(full), TRACING "events/%s/format", path);
	file = fopen(full, "r");
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, name);
		if (at && strstr(line, "field:") && strstr(at, "offset:"))
			offset = atoi(strstr(at, "offset:") + 7);
	}
	if (!file || offset < 0)
		die("%s: no %s", full, name);
	fclose(file);
	return offset;
}

static void note_symbol(uint64_t address, const char *name, bool own)
{
	unsigned int i;

	if (own && (!module_start || address < module_start))
		module_start = address;
	if (own && address > module_end)
		module_end = address;
	for (i = 0; i < NR_FUNCTIONS; i++) {
		if (!own && !strcmp(name, functions[i].name))
			functions[i].address = address;
	}
}

static void read_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[1024], name[512], where[64];
	unsigned long address;
	unsigned int room = 0;
	char type;
	int n;

	while (file && fgets(line, sizeof(line), file)) {
		where[0] = '\0';
		n = sscanf(line, "%lx %c %511s %63s", &address, &type, name,
			   where);
		if (n < 3 || !strchr("tTwW", type))
			continue;
		if (nr_symbols == room) {
			room = room ? 2 * room : 65536;
			symbols = realloc(symbols, room * sizeof(*symbols));
		}
		symbols[nr_symbols++] = (struct symbol) {
			address, strdup(name)
		};
		note_symbol(address, name, !strcmp(where, MODULE));
	}
	if (!file || !module_start)
		die("no symbols of " MODULE);
	fclose(file);
	/* Add room for the last function. */
	module_end += 0x2000;
}

static void set_filter(void)
{
	char line[64];
	unsigned int i;
	int fd = open(TRACING "set_ftrace_filter", O_WRONLY | O_TRUNC);

	for (i = 0; i < NR_FUNCTIONS; i++) {
		snprintf(line, sizeof(line), "%s\n", functions[i].name);
		if (!functions[i].address ||
		    write(fd, line, strlen(line)) != (ssize_t)strlen(line))
			die("%s cannot be traced", functions[i].name);
	}
	if (close(fd))
		die("set_ftrace_filter: %s", strerror(errno));
}

void locks_init(void)
{
	char path[128];
	unsigned int i;

	read_symbols();
	write_file("tracing_on", "0");
	write_file("trace_clock", "x86-tsc");
	write_file("buffer_size_kb", BUFFER);
	write_file("options/overwrite", "0");
	set_filter();
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		snprintf(path, sizeof(path), "events/%s/enable", events[i]);
		write_file(path, "1");
	}
	format.switch_id = read_number("events/sched/sched_switch/format",
				       "ID: ");
	format.prev_pid = read_offset("sched/sched_switch", " prev_pid;");
	format.next_pid = read_offset("sched/sched_switch", " next_pid;");
	format.signal_id = read_number("events/signal/signal_deliver/format",
				       "ID: ");
	format.signal = read_offset("signal/signal_deliver", " sig;");
	on_fd = open(TRACING "tracing_on", O_WRONLY | O_CLOEXEC);
	if (on_fd < 0)
		die("tracing_on: %s", strerror(errno));
	write_file("current_tracer", "function");
}

void locks_set_functions(bool on)
{
	static bool is_on = true;

	if (on != is_on)
		write_file("options/function-trace", on ? "1" : "0");
	is_on = on;
}

void locks_begin(pid_t tid)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", tid);
	if (tid != traced) {
		write_file("set_ftrace_pid", pid);
		write_file("set_event_pid", pid);
	}
	traced = tid;
	write_file("trace", "");
}

void locks_on(void)
{
	if (write(on_fd, "1", 1) != 1)
		die("tracing_on: %s", strerror(errno));
}

void locks_off(void)
{
	if (write(on_fd, "0", 1) != 1)
		die("tracing_on: %s", strerror(errno));
}

void locks_set_cost(uint64_t cycles)
{
	cost = cycles;
}

/**
 * struct taken - a lock that is held
 *
 * @function: function that took it.
 * @site: caller of that function.
 * @when: in the thread's own time.
 * @own: taken by the module.
 * @around: something of the module was executed since.
 */
struct taken {
	const struct function *function;
	uint64_t site;
	int64_t when;
	bool own;
	bool around;
};

/**
 * struct reader - state of reading the records
 *
 * @trace: the result.
 * @start, @end: time of interest.
 * @all: also report locks that have nothing to do with the module.
 * @now: time of the record.
 * @away: cycles so far that were not the thread's own.
 * @left: when the thread was switched out, or 0.
 * @irq: when an interrupt started, or 0.
 * @irq_last: the last known time within it.
 * @taken, @nr: locks held.
 */
struct reader {
	struct trace *trace;
	uint64_t start, end, now;
	bool all;
	uint64_t away, left, irq, irq_last;
	struct taken taken[64];
	unsigned int nr;
};

/*
 * The thread's own time: without other contexts and the cost of the records so
 * far.
 */
static int64_t own_time(const struct reader *reader)
{
	return reader->now - reader->away - reader->trace->events * cost;
}

static enum lock_kind kind_of(enum family family)
{
	switch (family) {
	case READ:
	case WRITE:
	case MUTEX:
		return LOCK_SLEEPING;
	case SPIN_IRQ:
	case SPIN_IRQSAVE:
		return LOCK_IRQS_OFF;
	default:
		return LOCK_SPINNING;
	}
}

static void note_hold(struct trace *trace, const struct taken *taken,
		      int64_t now)
{
	const int64_t cycles = now > taken->when ? now - taken->when : 0;
	struct hold *hold = trace->hold;
	unsigned int i;

	for (i = 0; i < trace->nr; i++, hold++) {
		if (hold->site == taken->site &&
		    hold->function == taken->function->name)
			break;
	}
	if (i == MAX_HOLDS)
		die("locks are taken at too many places");
	if (i == trace->nr) {
		*hold = (struct hold) {
			.site = taken->site,
			.function = taken->function->name,
			.kind = kind_of(taken->function->family),
			.owner = taken->own ? LOCK_OWN :
				 taken->around ? LOCK_AROUND : LOCK_OTHER,
		};
		trace->nr++;
	}
	if ((uint64_t)cycles > hold->cycles)
		hold->cycles = cycles;
}

static void take(struct reader *reader, const struct function *function,
		 uint64_t site)
{
	const bool own = site >= module_start && site < module_end;
	unsigned int i;

	for (i = 0; own && i < reader->nr; i++)
		reader->taken[i].around = true;
	/*
	 * Drop the oldest: a thread never holds that many, so releases were
	 * missed.
	 */
	if (reader->nr == 64)
		memmove(reader->taken, reader->taken + 1,
			--reader->nr * sizeof(reader->taken[0]));
	reader->taken[reader->nr++] = (struct taken) {
		.function = function,
		.site = site,
		.when = own_time(reader),
		.own = own,
	};
}

/*
 * The last lock taken of @family; for spin locks, if there is none, of any spin
 * family.
 */
static struct taken *find_last(struct reader *reader, enum family family)
{
	unsigned int i;

	for (i = reader->nr; i-- > 0; ) {
		if (reader->taken[i].function->family == family)
			return &reader->taken[i];
	}
	for (i = reader->nr; family >= SPIN && i-- > 0; ) {
		if (reader->taken[i].function->family >= SPIN)
			return &reader->taken[i];
	}
	return NULL;
}

static void give(struct reader *reader, enum family family)
{
	struct taken *taken = find_last(reader, family);

	if (!taken)
		return;
	if (taken->own || taken->around ||
	    (reader->all && kind_of(taken->function->family) == LOCK_SLEEPING))
		note_hold(reader->trace, taken, own_time(reader));
	memmove(taken, taken + 1, (char *)(reader->taken + reader->nr) -
				  (char *)(taken + 1));
	reader->nr--;
}

static void read_function(struct reader *reader, uint64_t ip, uint64_t parent)
{
	static const struct function down_read =
		FUNCTION("downgrade_write", TAKE, READ);
	const struct function *function = NULL;
	struct taken *taken;
	unsigned int i;

	/* The recorded address may be that of the instruction after endbr64. */
	for (i = 0; !function && i < NR_FUNCTIONS; i++) {
		if (ip - functions[i].address <= 4)
			function = &functions[i];
	}
	if (!function)
		return;
	switch (function->action) {
	case TAKE:
		take(reader, function, parent);
		break;
	case GIVE:
		give(reader, function->family);
		break;
	case DOWNGRADE:
		taken = find_last(reader, WRITE);
		if (taken)
			taken->function = &down_read;
		break;
	}
	reader->trace->events++;
}

/* Process one record, @data, at reader->now. */
static void read_record(struct reader *reader, const unsigned char *data)
{
	const uint8_t flags = data[2];
	uint64_t word[2];
	uint16_t id;
	int32_t number;

	memcpy(&id, data, sizeof(id));
	if (id == format.signal_id) {
		memcpy(&number, data + format.signal, sizeof(number));
		if (number == 9 && !reader->trace->died)
			reader->trace->died = reader->now;
	}
	if (reader->now < reader->start || reader->now > reader->end)
		return;
	if (flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ)) {
		if (!reader->irq)
			reader->irq = reader->now;
		reader->irq_last = reader->now;
		return;
	}
	if (reader->irq)
		reader->away += reader->irq_last - reader->irq;
	reader->irq = 0;
	if (id == format.switch_id) {
		memcpy(&number, data + format.prev_pid, sizeof(number));
		if (number == traced)
			reader->left = reader->now;
		memcpy(&number, data + format.next_pid, sizeof(number));
		if (number == traced && reader->left) {
			reader->away += reader->now - reader->left;
			reader->left = 0;
		}
		reader->trace->events++;
	} else if (id == ID_FUNCTION) {
		memcpy(word, data + 8, sizeof(word));
		read_function(reader, word[0], word[1]);
	}
}

/* Process a page of records, see events/header_page and events/header_event. */
static void read_page(struct reader *reader, const unsigned char *page)
{
	const unsigned char *at = page + 16, *end;
	uint32_t word, more, type, delta;
	uint64_t commit;

	memcpy(&reader->now, page, 8);
	memcpy(&commit, page + 8, 8);
	end = at + (commit & 0xfffff);
	while (at < end) {
		memcpy(&word, at, 4);
		memcpy(&more, at + 4, 4);
		type = word & 31;
		delta = word >> 5;
		if (type == 29) {		/* padding */
			if (!delta)
				return;
			at += 4 + more;
		} else if (type == 30) {	/* time extend */
			reader->now += (uint64_t)more << 27 | delta;
			at += 8;
		} else if (type == 31) {	/* absolute time stamp */
			reader->now = (reader->now & ~0ULL << 59) |
				      (uint64_t)more << 27 | delta;
			at += 8;
		} else {
			reader->now += delta;
			read_record(reader, type ? at + 4 : at + 8);
			at += type ? 4 + 4 * type : 4 + more;
		}
	}
}

void locks_read(struct trace *trace, uint64_t start, uint64_t end, bool all)
{
	struct reader reader = {
		.trace = trace,
		.start = start,
		.end = end,
		.all = all,
	};
	static unsigned char page[65536];
	int fd = open(TRACING "per_cpu/cpu0/trace_pipe_raw",
		      O_RDONLY | O_NONBLOCK);

	memset(trace, 0, sizeof(*trace));
	if (fd < 0)
		die("trace_pipe_raw: %s", strerror(errno));
	while (read(fd, page, 4096) > 0)
		read_page(&reader, page);
	close(fd);
	if (reader.left)
		reader.away += end - reader.left;
	reader.now = end;
	trace->total = own_time(&reader) - start;
	trace->dropped = read_number("per_cpu/cpu0/stats", "dropped events: ") +
			 read_number("per_cpu/cpu0/stats", "overrun: ");
}

const char *locks_name(uint64_t site)
{
	const struct symbol *best = NULL;
	unsigned int i;

	for (i = 0; i < nr_symbols; i++) {
		if (symbols[i].address <= site &&
		    (!best || symbols[i].address >= best->address))
			best = &symbols[i];
	}
	return best ? best->name : "?";
}
