// SPDX-License-Identifier: GPL-2.0
/*
 * Events as PMU/TERM,.../: what terms mean is in sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/record.h"

#define DEVICES		"/sys/bus/event_source/devices"
#define TERM_MAX	256u
#define ALIASES_MAX	8u	/* an alias could contain itself */

/* Read the first line of DEVICES/@pmu/@folder@name. Returns whether there is one. */
static bool read_line(const char *pmu, const char *folder, const char *name,
		      char *line, size_t size)
{
	char path[1024];
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), DEVICES "/%s/%s%s", pmu, folder, name);
	if (strstr(path, "..") || strchr(name, '/'))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	is_read = fgets(line, size, file);
	fclose(file);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

static bool parse_value(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return end != text && !*end && !errno && text[0] != '-';
}

static __u64 *find_word(struct perf_event_attr *attr, const char *name,
			size_t length)
{
	if (length == 6 && !strncmp(name, "config", length))
		return &attr->config;
	if (length == 7 && !strncmp(name, "config1", length))
		return &attr->config1;
	if (length == 7 && !strncmp(name, "config2", length))
		return &attr->config2;
	return NULL;
}

/*
 * Put @value into the bits that @format names, as "config:0-7,32-35". Returns
 * whether they are known, and enough.
 */
static bool put_bits(struct perf_event_attr *attr, const char *format,
		     uint64_t value)
{
	const char *at = strchr(format, ':');
	__u64 *word = at ? find_word(attr, format, at - format) : NULL;

	while (word && at && *at) {
		unsigned int first, last;
		int length = 0;

		at++;
		if (sscanf(at, "%u-%u%n", &first, &last, &length) != 2) {
			if (sscanf(at, "%u%n", &first, &length) != 1)
				return false;
			last = first;
		}
		at += length;
		if (first > last || last > 63 || (*at && *at != ','))
			return false;
		for (; first <= last; first++, value >>= 1)
			*word = (*word & ~(1ULL << first)) |
				(value & 1) << first;
	}
	return word && !value;
}

static bool parse_terms(struct perf_event_attr *attr, const char *pmu,
			const char *terms, size_t length, unsigned int depth);

static bool parse_term(struct perf_event_attr *attr, const char *pmu,
		       const char *name, const char *text, unsigned int depth)
{
	char line[TERM_MAX];
	uint64_t value = 1;
	__u64 *word;

	if (text && !parse_value(text, &value))
		return false;
	word = find_word(attr, name, strlen(name));
	if (word && text) {
		*word = value;
		return true;
	}
	if (text && !strcmp(name, "period") && value) {
		attr->sample_period = value;
		return true;
	}
	if (text && !strcmp(name, "freq") && value) {
		attr->freq = 1;
		attr->sample_freq = value;
		return true;
	}
	if (read_line(pmu, "format/", name, line, sizeof(line)))
		return put_bits(attr, line, value);
	return !text && depth < ALIASES_MAX &&
	       read_line(pmu, "events/", name, line, sizeof(line)) &&
	       parse_terms(attr, pmu, line, strlen(line), depth + 1);
}

static bool parse_terms(struct perf_event_attr *attr, const char *pmu,
			const char *terms, size_t length, unsigned int depth)
{
	while (length) {
		const char *comma = memchr(terms, ',', length);
		const size_t size = comma ? (size_t)(comma - terms) : length;
		char term[TERM_MAX], *value;

		if (!size || size >= sizeof(term))
			return false;
		memcpy(term, terms, size);
		term[size] = '\0';
		value = strchr(term, '=');
		if (value)
			*value++ = '\0';
		if (!parse_term(attr, pmu, term, value, depth))
			return false;
		terms += size + !!comma;
		length -= size + !!comma;
	}
	return true;
}

bool record_parse_pmu(struct perf_event_attr *attr, const char *name,
		      size_t length)
{
	const char *slash = memchr(name, '/', length);
	char pmu[TERM_MAX], line[TERM_MAX];
	uint64_t type;

	if (!slash || slash == name || name[length - 1] != '/' ||
	    slash == name + length - 1 || (size_t)(slash - name) >= sizeof(pmu))
		return false;
	memcpy(pmu, name, slash - name);
	pmu[slash - name] = '\0';
	if (pmu[0] == '.' || !read_line(pmu, "", "type", line, sizeof(line)) ||
	    !parse_value(line, &type) || type > UINT32_MAX)
		return false;
	attr->type = type;
	return parse_terms(attr, pmu, slash + 1, name + length - slash - 2, 0);
}

static void list_one(const char *pmu)
{
	struct dirent *entry;
	char path[512];
	DIR *events;

	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	events = opendir(path);
	/* NAME.scale and NAME.unit tell about NAME. */
	while (events && (entry = readdir(events)))
		if (!strchr(entry->d_name, '.'))
			printf("%s/%s/\n", pmu, entry->d_name);
	if (events)
		closedir(events);
}

void record_list_pmus(void)
{
	DIR *devices = opendir(DEVICES);
	struct dirent *entry;

	while (devices && (entry = readdir(devices)))
		if (entry->d_name[0] != '.')
			list_one(entry->d_name);
	if (devices)
		closedir(devices);
}
