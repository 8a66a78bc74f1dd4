// SPDX-License-Identifier: GPL-2.0
#include <linux/sframe_unwind.h>
#include "scene.h"
#include "decode/sframe_format.h"
#include "decode/step.h"

static int open_table(struct sfu_table *table, const u8 *section, u32 size,
		      u64 address, struct sfu_defect *defect)
{
	const struct sfu_bytes bytes = bytes_at(section, size, address);

	return sfu_table_open(table, &bytes, defect);
}

void scene_begin(struct scene *scene, u64 address)
{
	struct sfu_defect defect;

	memset(scene, 0, sizeof(*scene));
	scene->address = address;
	scene->memory = malloc(SCENE_SIZE);
	scene_fill(scene->memory, address);
	if (open_table(&scene->observer, scene->memory + SCENE_OBSERVER,
		       sizeof(struct scene_observer), address + SCENE_OBSERVER,
		       &defect))
		abort();
}

void scene_end(struct scene *scene)
{
	free(scene->memory);
}

int scene_register(struct scene *scene, const u8 *section, u32 size,
		   struct sfu_defect *defect)
{
	int err = open_table(&scene->table, section, size, scene->address,
			     defect);

	if (!err && !scene->table.pcrel) {
		defect->offset = SFRAME_HDR_FLAGS;
		err = -EINVAL;
	}
	return err;
}

/* As in a registered section: a function must be within the registered code. */
static int find_rule(const struct scene *scene, u64 pc, struct sfu_rule *rule)
{
	const u64 text = scene->address + SCENE_TEXT;
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 budget = ~0U;
	int err;

	memset(rule, 0, sizeof(*rule));
	if (pc - scene->address - SCENE_CALLERS < SCENE_CALLERS_SIZE)
		return lookup(&scene->observer, pc, rule, &defect);
	if (pc - text >= SCENE_TEXT_SIZE)
		return -ENOENT;
	err = sfu_table_find(&scene->table, pc, &fde, &defect);
	if (err)
		return err;
	if (fde.start < text || fde.start + fde.size > text + SCENE_TEXT_SIZE)
		return -EINVAL;
	return sfu_fde_find_rule(&scene->table, &fde, pc, &budget, rule,
				 &defect);
}

static u32 stop_for_step(enum sfu_step step)
{
	switch (step) {
	case SFU_STEP_OUTERMOST:
		return SFRAME_UNWIND_STOP_COMPLETE;
	case SFU_STEP_NO_PROGRESS:
		return SFRAME_UNWIND_STOP_NO_PROGRESS;
	case SFU_STEP_NO_REGISTER:
		return SFRAME_UNWIND_STOP_NO_REGISTER;
	case SFU_STEP_BAD_ADDRESS:
		return SFRAME_UNWIND_STOP_BAD_ADDRESS;
	case SFU_STEP_OK:
	case SFU_STEP_UNREADABLE:
		break;
	}
	return SFRAME_UNWIND_STOP_STACK_UNREADABLE;
}

static void set_rule(struct corpus_walk *walk, int err,
		     const struct sfu_rule *rule)
{
	if (err)
		sprintf(walk->rule, "%s%s", corpus_errno(-err),
			err == -ENOENT && rule->flags ? " signal" : "");
	else
		rule_text(walk->rule, 0, rule);
}

void scene_walk(const struct scene *scene, u64 pc, struct corpus_walk *walk)
{
	const struct sfu_stack stack = {
		.address = scene->address,
		.size = SCENE_SIZE,
		.copy = scene->memory,
	};
	u64 regs[SCENE_NR_REGS];
	struct sfu_frame frame = {
		.ip = scene->address + pc,
		.fp_known = true,
		.exact = true,
		.regs = (const struct pt_regs *)regs,
	};
	struct sfu_rule rule;
	enum sfu_step step;
	int err;

	scene_registers(scene->address, regs);
	frame.sp = regs[RSP];
	frame.fp = regs[RBP];
	memset(walk, 0, sizeof(*walk));
	walk->pc = pc;
	for (walk->nr_frames = 1;; walk->ips[walk->nr_frames++] = frame.ip) {
		err = find_rule(scene, sfu_frame_pc(&frame), &rule);
		if (walk->nr_frames == 1)
			set_rule(walk, err, &rule);
		if (err) {
			walk->stop = err == -ENOENT ?
				SFRAME_UNWIND_STOP_NO_RULE :
				SFRAME_UNWIND_STOP_SECTION_REMOVED;
			return;
		}
		step = sfu_step_rule(&frame, &rule, &stack);
		if (step) {
			walk->stop = stop_for_step(step);
			return;
		}
		if (walk->nr_frames == SCENE_DEPTH) {
			walk->stop = SFRAME_UNWIND_STOP_DEPTH;
			return;
		}
	}
}

char *scene_walk_text(char text[static 256], const struct corpus_walk *walk)
{
	char *to = text;
	u32 i;

	to += sprintf(to, "%#llx %s -> %s", (unsigned long long)walk->pc,
		      walk->rule, stop_name(walk->stop));
	for (i = 1; i < walk->nr_frames; i++)
		to += sprintf(to, " %#llx", (unsigned long long)walk->ips[i]);
	return text;
}
