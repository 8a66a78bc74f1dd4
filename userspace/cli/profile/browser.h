/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A report on the terminal's whole screen: lines that can be folded, chosen by keys.
 */
#ifndef CLI_PROFILE_BROWSER_H
#define CLI_PROFILE_BROWSER_H

#include "cli/profile/items.h"

/* What a key asks the command to do. */
enum browser_wish {
	BROWSER_NOTHING,	/* there was no key */
	BROWSER_DRAW,		/* draw again */
	BROWSER_MAKE,		/* browser_set() again, and draw */
	BROWSER_QUIT,
	BROWSER_PAUSE,
	BROWSER_CLEAR,
	BROWSER_NEXT,		/* the next event */
};

struct browser;

/* Whether there is a terminal, and this program was built for it. */
bool browser_is_possible(void);

/*
 * Begin to use the screen. Messages to stderr are printed at the end. @keys: keys of
 * the command's own that are shown, or "". Returns NULL if the terminal cannot be
 * used; a message has been printed.
 */
struct browser *browser_open(const struct items_options *options,
			     const char *keys);

/* Leave the screen; NULL does nothing. */
void browser_close(struct browser *browser);

/* Show what is below node @source of the tree. All stay the caller's. */
void browser_set(struct browser *browser, const struct tree *tree,
		 struct load *load, uint32_t source);

/* Draw everything; @head: the first line, not escaped yet. */
void browser_draw(struct browser *browser, const char *head);

/* Handle a key; if there is none, wait for one, or if not @waits return. */
enum browser_wish browser_key(struct browser *browser, bool waits);

#endif /* CLI_PROFILE_BROWSER_H */
