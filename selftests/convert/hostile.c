// SPDX-License-Identifier: GPL-2.0
/* The table of constructions. */
#include <errno.h>

#include "hostile_kinds.h"

#define KIB(n)	((uint64_t)(n) << 10)
#define MIB(n)	((uint64_t)(n) << 20)
#define GIB(n)	((uint64_t)(n) << 30)

/* Exit statuses: sound, has defects, not accepted. */
#define OK		0
#define DEFECTS		1
#define UNSUITABLE	4

const struct hostile hostiles[] = {
	{ "sparse-text", "hole that is code", "convert",
	  GIB(1), GIB(4), GIB(4), false, hostile_make_sparse_text, 0 },
	{ "sparse-cfi", "hole that is .eh_frame", "convert",
	  GIB(1), GIB(4), GIB(4), false, hostile_make_sparse_cfi, -EFBIG },
	{ "sparse-segment", "hole that .eh_frame may be in", "convert",
	  GIB(1), GIB(4), GIB(4), false, hostile_make_sparse_segment, -EFBIG },
	{ "overlapping", "executable segments, 64 MiB, the same hole",
	  "convert", 6, 24, 24, false, hostile_make_overlapping, 0 },
	{ "large-function", "code of one function, none of it in the file",
	  "convert", 1ULL << 50, 1ULL << 62, 1ULL << 62,
	  false, hostile_make_large_function, -ENODATA },
	{ "large-functions", ".eh_frame with functions of 4 GiB", "convert",
	  KIB(64), KIB(256), MIB(4), true, hostile_make_large_functions, 0 },
	{ "no-cfi", "code without CFI", "convert",
	  MIB(1), MIB(4), MIB(395), false, hostile_make_no_cfi, -ENODATA },
	{ "sections", "section headers in a hole", "convert",
	  MIB(8), MIB(32), MIB(64), false, hostile_make_sections, -EFBIG },
	{ "cies-descending", ".debug_frame", "convert",
	  KIB(64), KIB(256), KIB(4813), true, hostile_make_descending_cies, 0 },
	{ "cies-in-cies", ".debug_frame", "convert",
	  KIB(64), KIB(256), KIB(1024), true, hostile_make_inner_cies, -EINVAL },
	{ "expression", ".eh_frame, half of it one expression", "convert",
	  KIB(64), KIB(256), KIB(1024), true, hostile_make_expression, 0 },
	{ "dense-rows", ".eh_frame, two bytes a row", "convert",
	  KIB(64), KIB(256), MIB(16), true, hostile_make_dense_rows, 0 },
	{ "zlib", "zeroes that are .debug_frame", "convert",
	  MIB(32), MIB(128), MIB(90), true, hostile_make_zlib, -EFBIG },
	{ "zstd", "zeroes that are .debug_frame", "convert",
	  MIB(32), MIB(128), MIB(9000), true, hostile_make_zstd, -EFBIG },
	{ "code-hole", "functions of 64 KiB, all the same hole", "convert",
	  KIB(1), KIB(4), KIB(64), true, hostile_make_code_hole, -ENODATA },
	{ "marked-code", "code, functions in functions", "convert",
	  KIB(64), KIB(256), MIB(4), true, hostile_make_marked_code, -ENODATA },
	{ "stub-hole", "hole that is .plt", "convert",
	  MIB(64), MIB(256), GIB(4), false, hostile_make_stub_hole, -ENODATA },
	{ "calls", "calls of a function with its CFA in a register", "convert",
	  KIB(64), KIB(256), MIB(1), true, hostile_make_calls, 0 },
	{ "call-bytes", "code of 60 segments with their CFA in a register",
	  "convert", KIB(256), MIB(1), MIB(4), true, hostile_make_call_bytes,
	  0 },
	{ "calls-without-cfi", "calls of functions without CFI", "convert", KIB(64),
	  KIB(256), MIB(4), true, hostile_make_calls_without_cfi, 0 },
	{ "go-search", ".gopclntab, half of it functions", "convert",
	  KIB(64), KIB(256), MIB(4), true, hostile_make_go_search, -ENODATA },
	{ "go-numbers", ".gopclntab, half of it one number", "convert",
	  KIB(64), KIB(256), MIB(4), true, hostile_make_go_numbers, 0 },
	{ "v2-blocks", "code with SFrame 2, blocks of 2 bytes", "convert",
	  MIB(64), MIB(256), MIB(64), false, hostile_make_v2_blocks, -EFBIG },
	{ "v2-shared-rows", ".sframe of version 2, every function has all rows",
	  "convert", KIB(64), KIB(256), KIB(256),
	  true, hostile_make_v2_shared_rows, -EFBIG },
	{ "raw-hole", "hole behind a section", "check",
	  GIB(2), GIB(8), GIB(8), false, hostile_make_raw_hole, UNSUITABLE },
	{ "shared-rows", "sound section, every function has all rows", "check",
	  KIB(64), KIB(256), KIB(713), true, hostile_make_shared_rows, OK },
	{ "rows-in-rows", "section, each row begins a function", "check",
	  KIB(64), KIB(256), KIB(713), true, hostile_make_rows_in_rows,
	  UNSUITABLE },
	{ "verify-blocks", "code with .sframe, blocks of 2 bytes", "verify",
	  MIB(64), MIB(256), MIB(64), false, hostile_make_verify_blocks,
	  UNSUITABLE },
	{ "verify-shared-rows", ".sframe, every function has all rows", "verify",
	  KIB(64), KIB(256), KIB(256), true, hostile_make_verify_shared_rows,
	  UNSUITABLE },
	{ "verify-symbols", "hole that is .symtab", "verify",
	  GIB(1), GIB(4), GIB(4), false, hostile_make_verify_symbols, OK },
};

const unsigned int nr_hostiles = sizeof(hostiles) / sizeof(hostiles[0]);
