/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before module/decode/cache.c, so that cache_race_test and at_once_test see
 * the address of each stack word that is read.
 */
#ifndef SFU_CACHE_RACE_WATCH_H
#define SFU_CACHE_RACE_WATCH_H

#include <stdint.h>

void watch_word(uint64_t asked, uint64_t used);

#define sfu_words_watch(asked, used)	watch_word(asked, used)

#endif /* SFU_CACHE_RACE_WATCH_H */
