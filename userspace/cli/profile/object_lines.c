// SPDX-License-Identifier: GPL-2.0
/*
 * Inlined functions, source files and lines, by DWARF.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "cli/profile/object_parts.h"
#include "cli/profile/object_reader.h"

/* A name in C, or one that has to be demangled. */
static const char *die_name(Dwarf_Die *die)
{
	static const unsigned int names[] = {
		DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
	};
	Dwarf_Attribute attribute;

	for (unsigned int i = 0; i < 2; i++) {
		const char *name = dwarf_formstring(
			dwarf_attr_integrate(die, names[i], &attribute));

		if (name)
			return name;
	}
	return dwarf_diename(die);
}

/*
 * Get the scopes of @address, the innermost first, with all functions that were
 * inlined into each other; to be freed. Returns their number, or 0.
 */
static int get_scopes(struct object *object, uint64_t address,
		      Dwarf_Die **scopes)
{
	Dwarf_Die *nearest = NULL, *unit;
	Dwarf_Addr bias;
	int nr = 0;

	*scopes = NULL;
	if (!object->has_dwarf)
		return 0;
	if (!dwfl_module_getdwarf(object->module, &bias)) {
		object->has_dwarf = false;
		return 0;
	}
	unit = dwfl_module_addrdie(object->module, address, &bias);
	/*
	 * dwarf_getscopes() continues from an inlined function with what surrounds its
	 * definition; dwarf_getscopes_die() with its caller.
	 */
	if (unit && dwarf_getscopes(unit, address - bias, &nearest) > 0)
		nr = dwarf_getscopes_die(&nearest[0], scopes);
	free(nearest);
	return nr > 0 ? nr : 0;
}

uint32_t object_inlined(struct object *object, uint64_t address,
			const char **names, uint32_t max)
{
	Dwarf_Die *scopes;
	uint32_t nr = 0;
	int nr_scopes;

	if (object->reader)
		return object_reader_inlined(object->reader, address, names,
					     max);
	nr_scopes = get_scopes(object, address, &scopes);
	for (int i = 0; i < nr_scopes && nr < max; i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag == DW_TAG_inlined_subroutine && die_name(&scopes[i]))
			names[nr++] = die_name(&scopes[i]);
	}
	free(scopes);
	return nr;
}

static const char *call_line(Dwarf_Die *inlined, int *line)
{
	Dwarf_Word file, number;
	Dwarf_Attribute value;
	Dwarf_Files *files;
	Dwarf_Die unit;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &value),
			    &file) ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &value),
			    &number) ||
	    !dwarf_diecu(inlined, &unit, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, NULL))
		return NULL;
	*line = number;
	return dwarf_filesrc(files, file, NULL, NULL);
}

const char *object_call_line(struct object *object, uint64_t address,
			     uint32_t i, int *line)
{
	Dwarf_Die *scopes;
	const char *file = NULL;
	int nr;

	if (object->reader)
		return object_reader_call_line(object->reader, address, i,
					       line);
	*line = 0;
	nr = get_scopes(object, address, &scopes);
	for (int j = 0; j < nr; j++) {
		const int tag = dwarf_tag(&scopes[j]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag != DW_TAG_inlined_subroutine || !die_name(&scopes[j]))
			continue;
		if (!i--) {
			file = call_line(&scopes[j], line);
			break;
		}
	}
	free(scopes);
	return file;
}

const char *object_line(struct object *object, uint64_t address, int *line)
{
	Dwarf_Die *unit;
	Dwarf_Addr bias;
	Dwfl_Line *found;

	if (object->reader)
		return object_reader_line(object->reader, address, line);
	*line = 0;
	if (!object->has_dwarf)
		return NULL;
	/* Without this check, addresses without a line would get the line before them. */
	unit = dwfl_module_addrdie(object->module, address, &bias);
	if (!unit || dwarf_haspc(unit, address - bias) <= 0)
		return NULL;
	found = dwfl_module_getsrc(object->module, address);
	return found ? dwfl_lineinfo(found, NULL, line, NULL, NULL, NULL) :
		       NULL;
}
