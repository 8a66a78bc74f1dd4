// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "insn.h"

#define SP 4
#define FP 5
#define NO_REGISTER 0xff

/* Prefixes */
#define HAS_66	0x01
#define HAS_F2	0x02
#define HAS_F3	0x04

/**
 * struct decoding - an instruction being decoded
 *
 * @at, @end: the bytes not read yet.
 * @is_bad: not known, or cut off.
 * @rex: its lower four bits, or those that VEX stands for.
 * @has_rex: there is one, so that byte registers 4 to 7 are not ah to bh.
 * @prefixes: HAS_* bits.
 * @mod, @reg, @rm: of ModRM; @reg and @rm with the bits of REX.
 * @writes: registers that it may write.
 */
struct decoding {
	const unsigned char *at;
	const unsigned char *end;
	bool is_bad;
	uint8_t rex;
	bool has_rex;
	uint8_t prefixes;
	uint8_t mod;
	uint8_t reg;
	uint8_t rm;
	uint32_t writes;
	struct insn *insn;
};

static uint8_t next_byte(struct decoding *d)
{
	if (d->at >= d->end) {
		d->is_bad = true;
		return 0;
	}
	return *d->at++;
}

static int32_t next_number(struct decoding *d, unsigned int size)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint32_t)next_byte(d) << (8 * i);
	return size == 1 ? (int8_t)value : size == 2 ? (int16_t)value :
						       (int32_t)value;
}

/* Immediate operand of 16 or 32 bits. */
static int32_t next_immediate(struct decoding *d)
{
	return next_number(d, d->prefixes & HAS_66 && !(d->rex & 8) ? 2 : 4);
}

static void read_modrm(struct decoding *d)
{
	const uint8_t modrm = next_byte(d);
	const uint8_t low = modrm & 7;
	uint8_t sib = 0;

	d->mod = modrm >> 6;
	d->reg = (modrm >> 3 & 7) | (d->rex & 4 ? 8 : 0);
	d->rm = low | (d->rex & 1 ? 8 : 0);
	if (d->mod == 3)
		return;
	if (low == 4)
		sib = next_byte(d);
	if (d->mod == 1)
		next_number(d, 1);
	else if (d->mod == 2 || low == 5 || (low == 4 && (sib & 7) == 5))
		next_number(d, d->mod == 0 || d->mod == 2 ? 4 : 0);
}

static void writes_register(struct decoding *d, uint8_t number, bool is_byte)
{
	if (!is_byte || d->has_rex || number < 4 || number > 7)
		d->writes |= 1U << number;
}

static void writes_reg(struct decoding *d, bool is_byte)
{
	writes_register(d, d->reg, is_byte);
}

static void writes_rm(struct decoding *d, bool is_byte)
{
	if (d->mod == 3)
		writes_register(d, d->rm, is_byte);
}

static void add_to_sp(struct decoding *d, int32_t by)
{
	d->insn->effect = INSN_ADD_SP;
	d->insn->add = by;
}

static void has_target(struct decoding *d, uint8_t flow, unsigned int size)
{
	d->insn->flow = flow;
	d->insn->has_target = true;
	d->insn->target = next_number(d, size);
}

/* push and pop; 16-bit ones are not known. */
static void push_or_pop(struct decoding *d, uint8_t number, bool is_pop)
{
	if (d->prefixes & HAS_66) {
		d->is_bad = true;
	} else if (number == FP) {
		d->insn->effect = is_pop ? INSN_POP_FP : INSN_PUSH_FP;
	} else if (is_pop && number == SP) {
		d->insn->effect = INSN_WRITE_SP;
	} else {
		add_to_sp(d, is_pop ? 8 : -8);
	}
}

/* Immediate group 80 to 83, of which add and sub of rsp are known. */
static void decode_group1(struct decoding *d, uint8_t opcode)
{
	const uint8_t operation = (read_modrm(d), d->reg & 7);
	const int32_t immediate = opcode == 0x81 ? next_immediate(d) :
						   next_number(d, 1);

	if (operation == 7)
		return;
	if (d->mod == 3 && d->rm == SP && d->rex & 8 &&
	    (operation == 0 || operation == 5) && opcode != 0x80) {
		add_to_sp(d, operation ? -immediate : immediate);
		d->is_bad |= immediate == INT32_MIN;
		return;
	}
	writes_rm(d, opcode == 0x80);
}

static void decode_lea(struct decoding *d)
{
	const unsigned char *modrm = d->at;
	const size_t left = d->end - d->at;

	read_modrm(d);
	if (d->is_bad || d->mod == 3) {
		d->is_bad = true;
		return;
	}
	/* lea disp(%rsp), %rsp: SIB 24 is rsp without index */
	if (d->reg == SP && d->rex == 8 && left > 2 && (modrm[0] & 7) == 4 &&
	    modrm[1] == 0x24 && d->mod != 0) {
		if (d->mod == 1)
			add_to_sp(d, (int8_t)modrm[2]);
		else
			add_to_sp(d, (int32_t)(modrm[2] | modrm[3] << 8 |
					       modrm[4] << 16 |
					       (uint32_t)modrm[5] << 24));
		return;
	}
	writes_reg(d, false);
}

/* mov between registers and memory: 88 to 8b */
static void decode_mov(struct decoding *d, uint8_t opcode)
{
	uint8_t to, from;

	read_modrm(d);
	to = opcode & 2 ? d->reg : d->rm;
	from = opcode & 2 ? d->rm : d->reg;
	if (d->mod == 3 && opcode & 1 && d->rex & 8 && to == FP && from == SP)
		d->insn->effect = INSN_SP_TO_FP;
	else if (d->mod == 3 && opcode & 1 && d->rex & 8 && to == SP &&
		 from == FP)
		d->insn->effect = INSN_FP_TO_SP;
	else if (opcode & 2)
		writes_reg(d, !(opcode & 1));
	else
		writes_rm(d, !(opcode & 1));
}

static void decode_group5(struct decoding *d)
{
	read_modrm(d);
	switch (d->reg & 7) {
	case 0:
	case 1:
		writes_rm(d, false);
		break;
	case 2:
		d->insn->flow = INSN_CALL;
		break;
	case 4:
		d->insn->flow = INSN_LEAVE;
		break;
	case 6:
		if (d->prefixes & HAS_66)
			d->is_bad = true;
		else
			add_to_sp(d, -8);
		break;
	default:
		d->is_bad = true;
	}
}

/* Opcodes 00 to 3f: eight operations with the same operands. */
static void decode_arithmetic(struct decoding *d, uint8_t opcode)
{
	const bool is_compare = opcode >> 3 == 7;

	switch (opcode & 7) {
	case 0:
	case 1:
		read_modrm(d);
		if (!is_compare)
			writes_rm(d, !(opcode & 1));
		break;
	case 2:
	case 3:
		read_modrm(d);
		if (!is_compare)
			writes_reg(d, !(opcode & 1));
		break;
	case 4:
		next_number(d, 1);
		break;
	case 5:
		next_immediate(d);
		break;
	default:
		d->is_bad = true;
	}
}

/* Opcodes behind 0f */
static void decode_0f(struct decoding *d, uint8_t opcode)
{
	if (opcode >= 0x80 && opcode <= 0x8f) {
		d->is_bad |= d->prefixes & HAS_66;
		has_target(d, INSN_BRANCH, 4);
		return;
	}
	if (opcode >= 0xc8 && opcode <= 0xcf) {
		writes_register(d, (opcode & 7) | (d->rex & 1 ? 8 : 0), false);
		return;
	}
	switch (opcode) {
	case 0x05:					/* syscall */
	case 0x31:					/* rdtsc */
	case 0x77:					/* emms */
	case 0xa2:					/* cpuid */
		return;
	case 0x0b:					/* ud2 */
		d->insn->flow = INSN_STOP;
		return;
	case 0x01:
		read_modrm(d);
		/* xgetbv, rdtscp */
		d->is_bad |= d->mod != 3 ||
			     !((d->reg == 2 && d->rm == 0) ||
			       (d->reg == 7 && d->rm == 1));
		return;
	}
	if (opcode < 0x0d || opcode == 0x0e || opcode == 0x0f ||
	    (opcode >= 0x20 && opcode <= 0x27) ||
	    (opcode >= 0x30 && opcode <= 0x3f) || opcode == 0x78 ||
	    opcode == 0x79 || opcode == 0x7a || opcode == 0x7b ||
	    opcode == 0xa0 || opcode == 0xa1 || opcode == 0xa6 ||
	    opcode == 0xa7 || opcode == 0xa8 || opcode == 0xa9 ||
	    opcode == 0xaa || opcode == 0xb2 || opcode == 0xb4 ||
	    opcode == 0xb5 || opcode == 0xb9 || opcode == 0xff) {
		d->is_bad = true;
		return;
	}
	read_modrm(d);
	switch (opcode) {
	case 0x2c:
	case 0x2d:
	case 0x50:
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
	case 0xd7:
	case 0x40 ... 0x4f:
		writes_reg(d, false);
		break;
	case 0x7e:
		if (!(d->prefixes & HAS_F3))
			writes_rm(d, false);
		break;
	case 0x90 ... 0x9f:
	case 0xb0:
		writes_rm(d, true);
		break;
	case 0xa5:
	case 0xab:
	case 0xad:
	case 0xb1:
	case 0xb3:
	case 0xbb:
	case 0xc7:
	case 0xae:
		writes_rm(d, false);
		break;
	case 0xa4:
	case 0xac:
	case 0xba:
		next_number(d, 1);
		writes_rm(d, false);
		break;
	case 0xc0:
	case 0xc1:
		writes_reg(d, !(opcode & 1));
		writes_rm(d, !(opcode & 1));
		break;
	case 0xc5:
		next_number(d, 1);
		writes_reg(d, false);
		break;
	case 0x70 ... 0x73:
	case 0xc2:
	case 0xc4:
	case 0xc6:
		next_number(d, 1);
		break;
	}
}

static void decode_0f38(struct decoding *d, uint8_t opcode)
{
	read_modrm(d);
	if (opcode >= 0xf0)
		writes_reg(d, false);
}

static void decode_0f3a(struct decoding *d, uint8_t opcode)
{
	read_modrm(d);
	next_number(d, 1);
	if (opcode >= 0x14 && opcode <= 0x17)
		writes_rm(d, false);
	if (opcode >= 0xf0)
		writes_reg(d, false);
}

/* VEX and EVEX: @map as in the prefix, @other: the register in vvvv. */
static void decode_vector(struct decoding *d, unsigned int map, uint8_t other,
			  bool is_simd_66)
{
	const uint8_t opcode = next_byte(d);

	if (map == 1 && opcode == 0x77)			/* vzeroupper */
		return;
	if (map < 1 || map > 3) {
		d->is_bad = true;
		return;
	}
	read_modrm(d);
	if (map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) ||
				      opcode == 0xc2 || opcode == 0xc4 ||
				      opcode == 0xc5 || opcode == 0xc6)))
		next_number(d, 1);
	if (map == 1 && (opcode == 0x2c || opcode == 0x2d || opcode == 0x50 ||
			 opcode == 0x78 || opcode == 0x79 || opcode == 0x93 ||
			 opcode == 0xc5 || opcode == 0xd7))
		writes_reg(d, false);
	if (map == 1 && opcode == 0x7e && is_simd_66)
		writes_rm(d, false);
	if (map == 2 && opcode >= 0xe0) {
		writes_reg(d, false);
		writes_register(d, other, false);
	}
	if (map == 3 && opcode >= 0x14 && opcode <= 0x17)
		writes_rm(d, false);
	if (map == 3 && opcode >= 0xf0)
		writes_reg(d, false);
}

static void decode_vex(struct decoding *d, uint8_t opcode)
{
	uint8_t first = next_byte(d), second;
	unsigned int map = 1;

	d->has_rex = true;
	if (opcode == 0xc5) {
		d->rex = first & 0x80 ? 0 : 4;
		second = first;
	} else {
		d->rex = (first & 0x80 ? 0 : 4) | (first & 0x40 ? 0 : 2) |
			 (first & 0x20 ? 0 : 1);
		map = first & 0x1f;
		second = next_byte(d);
	}
	decode_vector(d, map, ~second >> 3 & 15, (second & 3) == 1);
}

static void decode_evex(struct decoding *d)
{
	const uint8_t first = next_byte(d), second = next_byte(d);

	next_byte(d);
	d->has_rex = true;
	d->rex = (first & 0x80 ? 0 : 4) | (first & 0x40 ? 0 : 2) |
		 (first & 0x20 ? 0 : 1);
	/* A reserved bit, and one that is always set */
	d->is_bad |= first & 0x08 || !(second & 0x04);
	decode_vector(d, first & 7, NO_REGISTER & 15, (second & 3) == 1);
}

static void decode_one_byte(struct decoding *d, uint8_t opcode)
{
	const uint8_t low = (opcode & 7) | (d->rex & 1 ? 8 : 0);

	switch (opcode) {
	case 0x00 ... 0x0e:
	case 0x10 ... 0x25:
	case 0x27 ... 0x2d:
	case 0x2f ... 0x35:
	case 0x37 ... 0x3d:
	case 0x3f:
		decode_arithmetic(d, opcode);
		break;
	case 0x50 ... 0x57:
		push_or_pop(d, low, false);
		break;
	case 0x58 ... 0x5f:
		push_or_pop(d, low, true);
		break;
	case 0x63:
		read_modrm(d);
		writes_reg(d, false);
		break;
	case 0x68:
		d->is_bad |= d->prefixes & HAS_66;
		next_number(d, 4);
		add_to_sp(d, -8);
		break;
	case 0x69:
		read_modrm(d);
		next_immediate(d);
		writes_reg(d, false);
		break;
	case 0x6a:
		d->is_bad |= d->prefixes & HAS_66;
		next_number(d, 1);
		add_to_sp(d, -8);
		break;
	case 0x6b:
		read_modrm(d);
		next_number(d, 1);
		writes_reg(d, false);
		break;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		has_target(d, INSN_BRANCH, 1);
		break;
	case 0x80:
	case 0x81:
	case 0x83:
		decode_group1(d, opcode);
		break;
	case 0x84:
	case 0x85:
	case 0xd8 ... 0xdf:
		read_modrm(d);
		break;
	case 0x86:
	case 0x87:
		read_modrm(d);
		writes_reg(d, !(opcode & 1));
		writes_rm(d, !(opcode & 1));
		break;
	case 0x88 ... 0x8b:
		decode_mov(d, opcode);
		break;
	case 0x8d:
		decode_lea(d);
		break;
	case 0x90 ... 0x97:
		if (low)
			writes_register(d, low, false);
		break;
	case 0x98:
	case 0x99:
	case 0x9e:
	case 0x9f:
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
	case 0xf5:
	case 0xf8 ... 0xf9:
	case 0xfc ... 0xfd:
		break;
	case 0x9c:
	case 0x9d:
		d->is_bad |= d->prefixes & HAS_66;
		add_to_sp(d, opcode == 0x9c ? -8 : 8);
		break;
	case 0xa8:
		next_number(d, 1);
		break;
	case 0xa9:
		next_immediate(d);
		break;
	case 0xb0 ... 0xb7:
		next_number(d, 1);
		writes_register(d, low, true);
		break;
	case 0xb8 ... 0xbf:
		if (d->rex & 8)
			next_number(d, 4);
		if (d->rex & 8)
			next_number(d, 4);
		else
			next_immediate(d);
		writes_register(d, low, false);
		break;
	case 0xc0:
	case 0xc1:
		read_modrm(d);
		next_number(d, 1);
		writes_rm(d, !(opcode & 1));
		break;
	case 0xc2:
		next_number(d, 2);
		d->is_bad = true;
		break;
	case 0xc3:
		d->insn->flow = INSN_RETURN;
		break;
	case 0xc6:
		read_modrm(d);
		next_number(d, 1);
		d->is_bad |= d->reg & 7;
		writes_rm(d, true);
		break;
	case 0xc7:
		read_modrm(d);
		next_immediate(d);
		d->is_bad |= d->reg & 7;
		writes_rm(d, false);
		break;
	case 0xc9:
		d->insn->effect = INSN_LEAVE_FRAME;
		break;
	case 0xcc:
	case 0xf4:
		d->insn->flow = INSN_STOP;
		break;
	case 0xd0 ... 0xd3:
		read_modrm(d);
		writes_rm(d, !(opcode & 1));
		break;
	case 0xe8:
		d->is_bad |= d->prefixes & HAS_66;
		has_target(d, INSN_CALL, 4);
		break;
	case 0xe9:
		d->is_bad |= d->prefixes & HAS_66;
		has_target(d, INSN_JUMP, 4);
		break;
	case 0xeb:
		has_target(d, INSN_JUMP, 1);
		break;
	case 0xf6:
		read_modrm(d);
		if ((d->reg & 7) < 2)
			next_number(d, 1);
		else
			writes_rm(d, true);
		break;
	case 0xf7:
		read_modrm(d);
		if ((d->reg & 7) < 2)
			next_immediate(d);
		else
			writes_rm(d, false);
		break;
	case 0xfe:
		read_modrm(d);
		d->is_bad |= (d->reg & 7) > 1;
		writes_rm(d, true);
		break;
	case 0xff:
		decode_group5(d);
		break;
	default:
		d->is_bad = true;
	}
}

static void decode_opcode(struct decoding *d)
{
	uint8_t opcode = next_byte(d);

	if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62) {
		/* Prefixes in front of these are not allowed. */
		d->is_bad |= d->has_rex || d->prefixes;
		if (opcode == 0x62)
			decode_evex(d);
		else
			decode_vex(d, opcode);
		return;
	}
	if (opcode != 0x0f) {
		decode_one_byte(d, opcode);
		return;
	}
	opcode = next_byte(d);
	if (opcode == 0x38)
		decode_0f38(d, next_byte(d));
	else if (opcode == 0x3a)
		decode_0f3a(d, next_byte(d));
	else
		decode_0f(d, opcode);
}

static void read_prefixes(struct decoding *d)
{
	for (; d->at < d->end; d->at++) {
		switch (*d->at) {
		case 0x66:
			d->prefixes |= HAS_66;
			continue;
		case 0xf2:
			d->prefixes |= HAS_F2;
			continue;
		case 0xf3:
			d->prefixes |= HAS_F3;
			continue;
		case 0xf0:
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			continue;
		}
		break;
	}
	if (d->at < d->end && (*d->at & 0xf0) == 0x40) {
		d->rex = *d->at++ & 15;
		d->has_rex = true;
	}
}

bool sfu_insn_decode(const unsigned char *code, size_t size, struct insn *insn)
{
	struct decoding d = {
		.at = code,
		.end = code + (size < INSN_MAX ? size : INSN_MAX),
		.insn = insn,
	};

	memset(insn, 0, sizeof(*insn));
	read_prefixes(&d);
	decode_opcode(&d);
	if (d.is_bad)
		return false;
	if (d.writes & 1U << SP)
		insn->effect = INSN_WRITE_SP;
	else if (d.writes & 1U << FP && insn->effect == INSN_NONE)
		insn->effect = INSN_WRITE_FP;
	insn->size = d.at - code;
	return true;
}
