/* SPDX-License-Identifier: GPL-2.0 */
/* The constructions for the table in hostile.c, which names the unit of @size. */
#ifndef SFU_CONVERT_HOSTILE_KINDS_H
#define SFU_CONVERT_HOSTILE_KINDS_H

#include "hostile.h"

/* hostile_cfi.c */
void hostile_make_sparse_text(int fd, uint64_t size);
void hostile_make_sparse_cfi(int fd, uint64_t size);
void hostile_make_sparse_segment(int fd, uint64_t size);
void hostile_make_overlapping(int fd, uint64_t count);
void hostile_make_large_function(int fd, uint64_t size);
void hostile_make_large_functions(int fd, uint64_t size);
void hostile_make_no_cfi(int fd, uint64_t size);
void hostile_make_sections(int fd, uint64_t count);
void hostile_make_descending_cies(int fd, uint64_t size);
void hostile_make_inner_cies(int fd, uint64_t size);
void hostile_make_expression(int fd, uint64_t size);
void hostile_make_dense_rows(int fd, uint64_t size);
void hostile_make_zlib(int fd, uint64_t size);
void hostile_make_zstd(int fd, uint64_t size);

/* hostile_code.c */
void hostile_make_code_hole(int fd, uint64_t count);
void hostile_make_marked_code(int fd, uint64_t size);
void hostile_make_stub_hole(int fd, uint64_t size);
void hostile_make_calls(int fd, uint64_t size);
void hostile_make_call_bytes(int fd, uint64_t size);
void hostile_make_calls_without_cfi(int fd, uint64_t size);
void hostile_make_go_search(int fd, uint64_t size);
void hostile_make_go_numbers(int fd, uint64_t size);

/* hostile_sframe.c */
void hostile_make_v2_blocks(int fd, uint64_t size);
void hostile_make_v2_shared_rows(int fd, uint64_t size);
void hostile_make_raw_hole(int fd, uint64_t size);
void hostile_make_shared_rows(int fd, uint64_t size);
void hostile_make_rows_in_rows(int fd, uint64_t size);
void hostile_make_verify_blocks(int fd, uint64_t size);
void hostile_make_verify_shared_rows(int fd, uint64_t size);
void hostile_make_verify_symbols(int fd, uint64_t size);

#endif /* SFU_CONVERT_HOSTILE_KINDS_H */
