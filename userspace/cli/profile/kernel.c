// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/profile/kernel.h"

#define PATH	"/proc/kallsyms"

/**
 * struct kernel - the kernel's symbols
 *
 * @symbols: the symbols; behind the name of each, and its 0, is that of its
 *	module, which may be empty.
 * @text: contents of kallsyms, with 0 behind names.
 * @shift: to be added to the profile's addresses.
 * @complaint: why names are missing, or an empty string.
 */
struct kernel {
	struct symbols symbols;
	char *text;
	uint64_t shift;
	char complaint[512];
};

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0, got;

	*size = 0;
	if (!file)
		return NULL;
	do {
		if (room - *size < 65536) {
			room = room ? room * 2 : 1 << 20;
			text = realloc(text, room + 1);
			if (!text)
				break;
		}
		got = fread(text + *size, 1, room - *size, file);
		*size += got;
	} while (got);
	fclose(file);
	if (text)
		text[*size] = '\0';
	return text;
}

/*
 * Parse "ffffffff81000000 T _text\t[module]". The name is moved by one byte to
 * the left, so that there is room for two zeroes: one behind the name, one behind
 * the module. Returns the name, or NULL for what is no function.
 */
static char *parse_line(char *line, uint64_t *address, char *type)
{
	char *at, *name, *module;
	size_t length;

	*address = strtoull(line, &at, 16);
	if (at == line || *at != ' ' || !at[1] || !strchr("tTwW", at[1]) ||
	    at[2] != ' ')
		return NULL;
	*type = at[1];
	name = at + 2;
	length = strcspn(at + 3, " \t");
	module = at + 3 + length;
	module += strspn(module, " \t[");
	module[strcspn(module, "] \t")] = '\0';
	memmove(name, at + 3, length);
	name[length] = '\0';
	memmove(name + length + 1, module, strlen(module) + 1);
	return name;
}

/* Returns whether there are any addresses. */
static bool parse(struct kernel *kernel, uint64_t *text)
{
	char *line = kernel->text, *end;
	bool is_any = false;
	uint64_t address;

	*text = 0;
	for (; *line; line = end) {
		char *name, type;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		name = parse_line(line, &address, &type);
		if (!name || !address)
			continue;
		is_any = true;
		if (!*text && !strcmp(name, "_text"))
			*text = address;
		symtab_add(&kernel->symbols, address, UINT64_MAX, true, name,
			   type == 'T' || type == 'W' ? 2 : 1);
	}
	symtab_sort(&kernel->symbols);
	return is_any;
}

struct kernel *kernel_open(const char *path, const char *release,
			   uint64_t text)
{
	struct kernel *kernel = table_allocate(sizeof(*kernel));
	struct utsname running;
	uint64_t our_text;
	size_t size;

	if (!path && release && !uname(&running) &&
	    strcmp(running.release, release)) {
		snprintf(kernel->complaint, sizeof(kernel->complaint),
			 "the profile is of Linux %s, this machine runs %s: kernel functions have no names; give --kallsyms FILE, a copy of that kernel's /proc/kallsyms",
			 release, running.release);
		return kernel;
	}
	kernel->text = read_file(path ? path : PATH, &size);
	if (!kernel->text) {
		snprintf(kernel->complaint, sizeof(kernel->complaint),
			 "%s: %s: kernel functions have no names",
			 path ? path : PATH, strerror(errno));
		return kernel;
	}
	if (!parse(kernel, &our_text)) {
		snprintf(kernel->complaint, sizeof(kernel->complaint),
			 "%s shows no addresses: kernel functions have no names; run as root, or sysctl kernel.kptr_restrict=0",
			 path ? path : PATH);
		return kernel;
	}
	/* Another boot of the same kernel has it at another address. */
	if (text && our_text)
		kernel->shift = our_text - text;
	return kernel;
}

void kernel_close(struct kernel *kernel)
{
	if (!kernel)
		return;
	symtab_free(&kernel->symbols);
	free(kernel->text);
	free(kernel);
}

uint64_t kernel_address(const struct kernel *kernel, uint64_t address)
{
	return address + kernel->shift;
}

const struct symbol *kernel_find(const struct kernel *kernel, uint64_t address,
				 const char **module)
{
	const struct symbol *symbol =
		symtab_find(&kernel->symbols, address + kernel->shift);

	*module = NULL;
	if (!symbol)
		return NULL;
	/* Modules are elsewhere after another boot, and unrelated to _text. */
	if (symbol->name[strlen(symbol->name) + 1]) {
		if (kernel->shift)
			return NULL;
		*module = symbol->name + strlen(symbol->name) + 1;
	}
	return symbol;
}

const char *kernel_complaint(const struct kernel *kernel)
{
	return kernel->complaint[0] ? kernel->complaint : NULL;
}
