// SPDX-License-Identifier: GPL-2.0
/*
 * Makes everything in the module fail that can: each place where something can
 * fail, in each scenario that reaches it, the first time, the second time, and
 * so on. Runs in a VM, see check.
 *
 * Checked each time: the scenario succeeds, or fails with an errno that the
 * uapi header documents; repeated without a failure it succeeds; each request
 * is accounted for; and nothing is left when the process has ended.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "fail.h"
#include "module.h"
#include "scenario.h"

/* Failures of one place in one scenario; limit of failures below the module. */
#define MAX_CALLS	4
#define MAX_BELOW	4000

/* Milliseconds until the counters must show that a process has ended. */
#define MAX_WAIT	10000

#define MODULE		"sframe_unwind"
#define COUNTERS	"/sys/kernel/debug/sframe_unwind/counters"

/* Result of one run of a scenario, in memory shared with its process. */
static struct ending {
	bool finished;
	bool failed;		/* a failure was injected */
	int result;
	char wrong[160];
} *outcome;

static unsigned int nr_wrong, nr_covered, nr_excused;

static void test(bool good, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void test(bool good, const char *format, ...)
{
	va_list args;

	nr_wrong += !good;
	printf("%s - ", good ? "ok" : "not ok");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static const char *result_name(int result)
{
	return !result ? "0" : result == LESS ? "less" : errno_name(result);
}

/* Check counters of existing objects, ignoring totals. Returns what is left. */
static const char *find_left(char *line, int size)
{
	FILE *file = fopen(COUNTERS, "r");
	const char *left = file ? NULL : "no counters";

	while (file && !left && fgets(line, size, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "total_", 6) && strcmp(strchr(line, ' '), " 0"))
			left = line;
	}
	if (file)
		fclose(file);
	return left;
}

/* Retry, because the process may still be exiting. */
static const char *wait_for_nothing(void)
{
	static char line[128];
	const char *left = NULL;
	int i;

	for (i = 0; i < MAX_WAIT; i++) {
		left = find_left(line, sizeof(line));
		if (!left)
			break;
		usleep(1000);
	}
	return left;
}

static void note(const char *what, int result)
{
	if (!outcome->wrong[0])
		snprintf(outcome->wrong, sizeof(outcome->wrong), "%s: %s", what,
			 result_name(result));
}

static void run_in_child(const struct scenario *scenario, const struct way *way,
			 unsigned int n)
{
	static struct world world;
	struct sframe_unwind_stats s;
	int again;

	alarm(120);
	if (make_world(&world) || (scenario->setup && !scenario->setup(&world))) {
		note("setup", errno);
		return;
	}
	if (!way->begin(n))
		note("begin", errno);
	outcome->result = scenario->run(&world);
	outcome->failed = way->end();
	if (!outcome->result && scenario->undo)
		scenario->undo(&world);
	if (outcome->failed) {
		again = scenario->run(&world);
		if (again)
			note("the same once more", again);
	}
	if (stats(world.fd, &s) || s.pending ||
	    s.accepted != s.delivered + s.lost_full)
		note("accounting", 0);
	if (world.child > 0)
		kill(world.child, SIGKILL);
	outcome->finished = true;
}

/* Run @scenario once with the @n-th call failing. */
static void run(const struct scenario *scenario, const struct way *way,
		unsigned int n)
{
	const char *left;
	int status;
	pid_t pid;

	*outcome = (struct ending) {};
	pid = fork();
	if (!pid) {
		run_in_child(scenario, way, n);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		note("ended", 0);
	/* Wait for its children, too. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	left = wait_for_nothing();
	if (left)
		note(left, 0);
	if (!outcome->finished)
		note("not finished", 0);
}

static bool is_expected(const struct site *site, int result)
{
	unsigned int i;

	for (i = 0; i < MAX_ERRNOS && site->errnos[i]; i++) {
		if (result == site->errnos[i])
			return true;
	}
	return !result || result == LESS;
}

/* Record the result of @site's failure in @scenario. */
static void see(struct site *site, const char *scenario, unsigned int n)
{
	const size_t length = strlen(site->seen);
	const bool good = !outcome->wrong[0] &&
			  is_expected(site, outcome->result);

	site->covered = true;
	site->wrong |= !good;
	if (good && n > 1)
		return;
	/* Print now, because a time limit may end the test. */
	if (!good) {
		printf("# %s: %s(): %s %u: %s %s\n", site->place, site->callee,
		       scenario, n, result_name(outcome->result),
		       outcome->wrong);
		fflush(stdout);
	}
	snprintf(site->seen + length, sizeof(site->seen) - length,
		 "%s%s%s %u: %s%s%s", length ? ", " : "", good ? "" : "WRONG ",
		 scenario, n, result_name(outcome->result),
		 outcome->wrong[0] ? ", " : "", outcome->wrong);
}

static void fail_site(struct site *site)
{
	unsigned int i, n;

	if (!arm_call(site, site->callee, site->value)) {
		site->wrong = true;
		snprintf(site->seen, sizeof(site->seen), "no kprobe at %s: %s",
			 site->callee, strerror(errno));
		return;
	}
	for (i = 0; i < nr_scenarios; i++) {
		if (!(site->reached & 1ULL << i))
			continue;
		for (n = 1; n <= MAX_CALLS; n++) {
			run(&scenarios[i], &by_call, n);
			if (!outcome->failed && !outcome->wrong[0])
				break;
			see(site, scenarios[i].name, n);
		}
	}
	disarm_call();
}

/* Fail every allocation and copy below the module in @scenario. */
static void fail_below(const struct scenario *scenario)
{
	unsigned int n, failed = 0, less = 0;
	int result;

	for (n = 1; n <= MAX_BELOW; n++) {
		run(scenario, &by_injection, n);
		result = outcome->result;
		if (outcome->wrong[0] ||
		    (result && result != LESS && result != ENOMEM &&
		     result != EFAULT && result != EIO)) {
			test(false, "%s, failure %u below: %s %s",
			     scenario->name, n, result_name(result),
			     outcome->wrong);
			return;
		}
		if (!outcome->failed)
			break;
		failed += result && result != LESS;
		less += result == LESS;
	}
	test(n <= MAX_BELOW, "%s: %u allocations and copies below failed, one at a time: %u errors, %u times less",
	     scenario->name, n - 1, failed, less);
}

/* Whether anything of the module exists. */
static bool is_there(void)
{
	return !access("/sys/module/" MODULE, F_OK) ||
	       !access("/dev/" MODULE, F_OK) ||
	       !access("/sys/kernel/debug/" MODULE, F_OK);
}

/*
 * Load the module with the @n-th call of the kind failing. Returns whether one
 * failed.
 */
static bool load_failing(const char *path, const struct way *way,
			 unsigned int n, const char *callee)
{
	struct site *site = NULL;
	bool failed;
	int err;

	*outcome = (struct ending) {};
	way->begin(n);
	err = load_module(path);
	if (callee)
		site = failed_site(callee);
	failed = way->end();
	outcome->result = err;
	if (!err)
		err = unload_module(MODULE);
	else if (err == ENOMEM || err == EBUSY)
		err = 0;
	if (err)
		note("load or unload", err);
	if (is_there())
		note("something is left", 0);
	/*
	 * For failures below the module the next try, or the last one, checks
	 * this.
	 */
	if (failed && callee) {
		err = load_module(path) ?: unload_module(MODULE);
		if (err)
			note("the same once more", err);
	}
	if (site && failed)
		see(site, "load", n);
	else if (callee && failed)
		note("unknown place", 0);
	return failed;
}

/* Whether @site is executed when the module is loaded. */
static bool is_of_load(const struct site *site)
{
	const char *end = strstr(site->function, "_init");

	return site->is_call && (!strcmp(site->section, ".init.text") ||
				 (end && !end[strlen("_init")]));
}

/* Fail the calls made when the module is loaded, by name of the function. */
static void fail_load(const char *path)
{
	unsigned int i, j, n;

	for (i = 0; i < nr_sites; i++) {
		const char *callee = sites[i].callee;

		for (j = 0; j < i; j++) {
			if (is_of_load(&sites[j]) &&
			    !strcmp(sites[j].callee, callee))
				break;
		}
		if (!is_of_load(&sites[i]) || j < i ||
		    !arm_call(NULL, callee, sites[i].value))
			continue;
		for (n = 1; n <= MAX_CALLS; n++) {
			if (!load_failing(path, &by_call, n, callee))
				break;
			if (outcome->wrong[0])
				test(false, "load, %s() %u: %s", callee, n,
				     outcome->wrong);
		}
		disarm_call();
	}
}

static void fail_below_load(const char *path)
{
	unsigned int n, failed = 0;

	for (n = 1; n <= MAX_BELOW; n++) {
		if (!load_failing(path, &by_injection, n, NULL))
			break;
		failed += outcome->result != 0;
		if (outcome->wrong[0]) {
			test(false, "load, failure %u below: %s", n,
			     outcome->wrong);
			return;
		}
	}
	test(n <= MAX_BELOW, "load: %u allocations below failed, one at a time: %u errors",
	     n - 1, failed);
}

/* Whether @site is named by two words of not_failed. */
static bool is_named(const struct site *site, const char *function, const char *what)
{
	const size_t length = strcspn(site->place, " ");

	if (strcmp(function, site->function))
		return false;
	if (site->is_call)
		return !strcmp(what, site->callee);
	return strlen(what) == length && !strncmp(what, site->place, length);
}

/*
 * Whether the table of places that cannot fail contains @site. A line is
 * FUNCTION CALLEE REASON or, for an access, FUNCTION FILE:LINE REASON.
 */
static bool find_reason(const char *path, const struct site *site, char *reason,
			int size)
{
	FILE *file = fopen(path, "r");
	char line[256], function[64], what[64];
	bool found = false;
	int at;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (line[0] == '#' ||
		    sscanf(line, "%63s %63s %n", function, what, &at) != 2)
			continue;
		found = is_named(site, function, what);
		line[strcspn(line, "\n")] = '\0';
		snprintf(reason, size, "%s", line + at);
	}
	if (file)
		fclose(file);
	return found;
}

/*
 * The compiler may make two calls of one in the source, one of which is
 * unreachable. Returns whether @site has such a twin, which has failed.
 */
static bool has_twin(const struct site *site)
{
	unsigned int i;

	for (i = 0; i < nr_sites; i++)
		if (sites[i].is_call && sites[i].covered &&
		    !strcmp(sites[i].place, site->place) &&
		    !strcmp(sites[i].callee, site->callee))
			return true;
	return false;
}

/* Print the result of @site at the end. */
static void report(const struct site *site)
{
	const char *what = site->is_call ? site->callee : "user memory";
	char reason[256];
	const bool excused = find_reason("not_failed", site, reason,
					 sizeof(reason));

	if (site->covered && excused)
		test(false, "%s: %s() %s: is in not_failed, and has failed",
		     site->place, site->function, what);
	else if (excused)
		test(true, "%s: %s() %s: not failed: %s", site->place,
		     site->function, what, reason);
	else if (!site->covered && !site->wrong && has_twin(site))
		test(true, "%s: %s() %s: its twin has failed", site->place,
		     site->function, what);
	else
		test(site->covered && !site->wrong, "%s: %s() %s: %s",
		     site->place, site->function, what,
		     site->covered || site->wrong || !site->is_call ?
			     site->seen : "nothing fails it");
	nr_covered += site->covered;
	nr_excused += excused;
}

/* In a child, because its address space must be gone afterwards. */
static bool fail_accesses_in_child(void)
{
	const char *why;
	int status;
	pid_t pid;

	*outcome = (struct ending) {};
	pid = fork();
	if (!pid) {
		why = fail_accesses();
		if (why)
			note(why, errno);
		_exit(why != NULL);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* The module is loaded, and all scenarios succeed without failures. */
static bool run_all(void)
{
	unsigned int i;

	test(!load_module(MODULE ".ko") && !load_module(MODULE "_test.ko"),
	     "load once more");
	test(trace_calls(), "note calls");
	for (i = 0; i < nr_scenarios; i++) {
		run(&scenarios[i], &by_call, 0);
		test(mark_reached(i) && !outcome->wrong[0] && !outcome->result,
		     "%s: %s %s", scenarios[i].name,
		     result_name(outcome->result), outcome->wrong);
	}
	untrace_calls();
	return !nr_wrong;
}

/* Fail each call that the module makes. */
static void fail_calls(void)
{
	unsigned int i;

	for (i = 0; i < nr_sites; i++) {
		if (!sites[i].is_call)
			continue;
		if (!sites[i].covered)
			fail_site(&sites[i]);
		if (sites[i].covered)
			report(&sites[i]);
	}
	for (i = 0; i < nr_sites; i++) {
		if (sites[i].is_call && !sites[i].covered)
			report(&sites[i]);
	}
}

/* Fail what kernel functions do that the module calls, and accesses to user memory. */
static void fail_within(bool can_inject)
{
	unsigned int i;

	for (i = 0; can_inject && i < nr_scenarios; i++)
		fail_below(&scenarios[i]);
	test(fail_accesses_in_child() && mark_accesses(), "accesses %s",
	     outcome->wrong);
	for (i = 0; i < nr_sites; i++) {
		if (!sites[i].is_call)
			report(&sites[i]);
	}
}

/*
 * faults DIRECTORY [PART]: the directory of the modules and lists; "calls" or "within",
 * default: both.
 */
int main(int argc, char **argv)
{
	const char *part = argc == 3 ? argv[2] : NULL;
	const bool calls = !part || !strcmp(part, "calls");
	const bool within = !part || !strcmp(part, "within");
	const char *why;
	bool can_inject;

	outcome = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || argc > 3 || !(calls || within) || chdir(argv[1]) ||
	    outcome == MAP_FAILED || !read_sites("sites") ||
	    load_module("fail_call.ko")) {
		perror("faults");
		return 2;
	}
	test(!load_module(MODULE ".ko"), "load");
	can_inject = prepare_injection(section_address(".text"));
	test(!unload_module(MODULE) && !is_there(), "unload");
	if (calls)
		fail_load(MODULE ".ko");
	if (within && can_inject)
		fail_below_load(MODULE ".ko");
	else if (within)
		test(true, "fault injection # SKIP not in this kernel");

	if (!run_all())
		return 1;
	if (calls)
		fail_calls();
	if (within)
		fail_within(can_inject);
	printf("%u sites, %u covered, %u not failed by anything\n", nr_sites,
	       nr_covered, nr_excused);
	why = wait_for_nothing();
	test(!why, "nothing is left%s%s", why ? ": " : "", why ?: "");
	unload_module(MODULE "_test");
	test(!unload_module(MODULE) && !is_there(), "unload at the end");
	unload_module("fail_call");
	return nr_wrong != 0;
}
