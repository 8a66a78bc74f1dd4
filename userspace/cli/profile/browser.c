// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/browser.h"
#include "cli/profile/common.h"

#ifdef HAVE_NCURSES

#include <curses.h>
#include <locale.h>

#define HEAD_LINES	2	/* head and titles */
#define FOOT_LINES	1

/* Lines fit into 60 columns. */
static const char help_text[] =
"Keys:\n\n"
"  up, down, PgUp, PgDn,   choose a line\n"
"    Home, End, k, j\n"
"  Enter, right or +       open it: who called the function\n"
"  left or -               fold it; on a caller: the line it\n"
"                          belongs to\n"
"  c                       count samples for callers too,\n"
"                          or not\n"
"  /                       only what contains a text;\n"
"                          empty: all\n"
"  t                       only the thread of this line,\n"
"                          or all\n"
"  e                       next event\n";

/**
 * struct browser - the screen
 *
 * @screen: ncurses' own.
 * @options: which lines.
 * @items: the lines.
 * @source: where in the tree they are from.
 * @selected: the chosen line.
 * @first: the line at the top of the screen.
 * @keys: more keys.
 * @filter: text for @options.
 * @thread: name for @options.
 * @messages: what was written to stderr.
 * @stderr_fd: the real stderr.
 */
struct browser {
	SCREEN *screen;
	struct items_options options;
	struct items items;
	uint32_t source;
	uint32_t selected;
	uint32_t first;
	const char *keys;
	char filter[64];
	char thread[64];
	FILE *messages;
	int stderr_fd;
};

bool browser_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && getenv("TERM");
}

/* Messages would be written across the screen. */
static void divert_messages(struct browser *browser)
{
	fflush(stderr);
	browser->messages = tmpfile();
	browser->stderr_fd = dup(STDERR_FILENO);
	if (browser->messages && browser->stderr_fd >= 0)
		dup2(fileno(browser->messages), STDERR_FILENO);
}

static void print_messages(struct browser *browser)
{
	int byte;

	fflush(stderr);
	if (browser->stderr_fd >= 0) {
		dup2(browser->stderr_fd, STDERR_FILENO);
		close(browser->stderr_fd);
	}
	if (!browser->messages)
		return;
	rewind(browser->messages);
	while ((byte = getc(browser->messages)) != EOF)
		putc(byte, stderr);
	fclose(browser->messages);
}

struct browser *browser_open(const struct items_options *options,
			     const char *keys)
{
	struct browser *browser = table_allocate(sizeof(*browser));

	setlocale(LC_CTYPE, "");
	browser->options = *options;
	browser->keys = keys;
	browser->screen = newterm(NULL, stdout, stdin);
	if (!browser->screen) {
		free(browser);
		complain("the terminal '%s' is not known; use --stdio",
			 getenv("TERM"));
		return NULL;
	}
	divert_messages(browser);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return browser;
}

void browser_close(struct browser *browser)
{
	if (!browser)
		return;
	endwin();
	delscreen(browser->screen);
	print_messages(browser);
	items_free(&browser->items);
	free(browser);
}

static const struct item *selected(const struct browser *browser)
{
	return browser->selected < browser->items.nr ?
	       &browser->items.list[browser->selected] : NULL;
}

void browser_set(struct browser *browser, const struct tree *tree,
		 struct load *load, uint32_t source)
{
	const struct item *item = selected(browser);
	const uint64_t key = item ? item->key : 0;
	uint32_t number;

	browser->options.filter = browser->filter[0] ? browser->filter : NULL;
	browser->options.thread = browser->thread[0] ? browser->thread : NULL;
	browser->source = source;
	items_make(&browser->items, tree, load, source, &browser->options);
	/* Keep the selected line, unless the first one is selected: that stays the first. */
	number = item && browser->selected ? items_find(&browser->items, key) :
					     TABLE_NONE;
	if (number != TABLE_NONE)
		browser->selected = number;
	if (browser->selected >= browser->items.nr)
		browser->selected = browser->items.nr ? browser->items.nr - 1 :
							0;
}

static uint32_t page(void)
{
	const int lines = LINES - HEAD_LINES - FOOT_LINES;

	return lines > 0 ? lines : 1;
}

static void scroll_to_selected(struct browser *browser)
{
	if (browser->selected < browser->first)
		browser->first = browser->selected;
	if (browser->selected >= browser->first + page())
		browser->first = browser->selected - page() + 1;
	/* Nothing is left blank below the last line. */
	if (browser->first + page() > browser->items.nr)
		browser->first = browser->items.nr > page() ?
				 browser->items.nr - page() : 0;
}

/* Write one line of the screen, cut to its width. */
static void draw_line(int y, const char *text, chtype attributes)
{
	const size_t length = common_cut(text, COLS);

	attrset(attributes);
	mvaddnstr(y, 0, text, length);
	for (int x = getcurx(stdscr); getcury(stdscr) == y && x < COLS - 1; x++)
		addch(' ');
	attrset(A_NORMAL);
	clrtoeol();
}

static void draw_foot(const struct browser *browser)
{
	char *filter = common_escape(browser->filter);
	char *thread = common_escape(browser->thread);
	char text[1024];

	/* What is chosen comes first, should the screen be narrow. */
	snprintf(text, sizeof(text), "%s%s%s%s%sq quit  ? help  Enter open  / filter  t thread  c callers%s",
		 filter[0] ? "/" : "", filter, thread[0] ? " thread " : "",
		 thread, filter[0] || thread[0] ? "  " : "", browser->keys);
	draw_line(LINES - 1, text, A_REVERSE);
	free(filter);
	free(thread);
}

void browser_draw(struct browser *browser, const char *head)
{
	char *text = common_escape(head);

	scroll_to_selected(browser);
	erase();
	draw_line(0, text, A_BOLD);
	free(text);
	text = items_text(&browser->items, NULL, &browser->options, COLS);
	draw_line(1, text, A_REVERSE);
	free(text);
	for (uint32_t i = 0; i < page() && browser->first + i < browser->items.nr;
	     i++) {
		const uint32_t number = browser->first + i;
		const struct item *item = &browser->items.list[number];

		text = items_text(&browser->items, item, &browser->options,
				  COLS);
		draw_line(HEAD_LINES + i, text,
			  number == browser->selected ? A_STANDOUT :
			  item->depth ? A_DIM : A_NORMAL);
		free(text);
	}
	if (!browser->items.nr)
		draw_line(HEAD_LINES, "  no samples", A_NORMAL);
	draw_foot(browser);
	refresh();
}

/* Ask for a text, in the last line. */
static void ask(char *text, size_t size)
{
	timeout(-1);
	draw_line(LINES - 1, "only what contains: ", A_BOLD);
	move(LINES - 1, 20);
	echo();
	curs_set(1);
	if (getnstr(text, size - 1) == ERR)
		text[0] = '\0';
	curs_set(0);
	noecho();
}

static void show_help(const struct browser *browser)
{
	erase();
	mvaddstr(0, 0, help_text);
	if (browser->keys[0])
		printw("\nAnd:%s\n", browser->keys);
	addstr("\n  q                       quit\n\nAny key goes back.");
	refresh();
	timeout(-1);
	getch();
}

static enum browser_wish move_to(struct browser *browser, int64_t number)
{
	const int64_t last = (int64_t)browser->items.nr - 1;

	browser->selected = number > last ? last < 0 ? 0 : last :
			    number < 0 ? 0 : number;
	return BROWSER_DRAW;
}

static enum browser_wish toggle(struct browser *browser, bool opens)
{
	const struct item *item = selected(browser);

	if (!item)
		return BROWSER_DRAW;
	if (!opens && !item->is_open && item->depth) {
		uint32_t number = browser->selected;

		while (browser->items.list[number].depth >= item->depth)
			number--;
		return move_to(browser, number);
	}
	if (opens == item->is_open || (opens && !item->can_open))
		return BROWSER_DRAW;
	items_toggle(&browser->items, item->key);
	return BROWSER_MAKE;
}

static enum browser_wish filter_thread(struct browser *browser)
{
	const struct item *item = selected(browser);

	if (browser->thread[0] || !item ||
	    !(browser->options.columns & ROW_COMM))
		browser->thread[0] = '\0';
	else
		snprintf(browser->thread, sizeof(browser->thread), "%s",
			 browser->items.tree->comms.texts[
				browser->items.rows.list[item->row].comm]);
	return BROWSER_MAKE;
}

static enum browser_wish handle(struct browser *browser, int key)
{
	const int64_t at = browser->selected;
	const struct item *item = selected(browser);

	switch (key) {
	case KEY_UP: case 'k':
		return move_to(browser, at - 1);
	case KEY_DOWN: case 'j':
		return move_to(browser, at + 1);
	case KEY_PPAGE:
		return move_to(browser, at - page());
	case KEY_NPAGE: case ' ':
		return move_to(browser, at + page());
	case KEY_HOME: case 'g':
		return move_to(browser, 0);
	case KEY_END: case 'G':
		return move_to(browser, browser->items.nr);
	case '\n': case '\r': case KEY_ENTER:
		return toggle(browser, !(item && item->is_open));
	case KEY_RIGHT: case '+':
		return toggle(browser, true);
	case KEY_LEFT: case '-':
		return toggle(browser, false);
	case 'c':
		browser->options.children = !browser->options.children;
		return BROWSER_MAKE;
	case '/':
		ask(browser->filter, sizeof(browser->filter));
		return BROWSER_MAKE;
	case 't':
		return filter_thread(browser);
	case '?': case 'h':
		show_help(browser);
		return BROWSER_DRAW;
	case 'p':
		return BROWSER_PAUSE;
	case 'z':
		return BROWSER_CLEAR;
	case 'e': case '\t':
		return BROWSER_NEXT;
	case 'q': case 3:
		return BROWSER_QUIT;
	default:
		return BROWSER_DRAW;	/* also KEY_RESIZE */
	}
}

enum browser_wish browser_key(struct browser *browser, bool waits)
{
	int key;

	timeout(waits ? -1 : 0);
	key = getch();
	if (key == ERR)
		/* Waiting fails at the end of input. */
		return waits ? BROWSER_QUIT : BROWSER_NOTHING;
	return handle(browser, key);
}

#else /* HAVE_NCURSES */

bool browser_is_possible(void)
{
	return false;
}

struct browser *browser_open(const struct items_options *options,
			     const char *keys)
{
	(void)options;
	(void)keys;
	complain("this program was built without ncurses; use --stdio");
	return NULL;
}

void browser_close(struct browser *browser)
{
	(void)browser;
}

void browser_set(struct browser *browser, const struct tree *tree,
		 struct load *load, uint32_t source)
{
	(void)browser;
	(void)tree;
	(void)load;
	(void)source;
}

void browser_draw(struct browser *browser, const char *head)
{
	(void)browser;
	(void)head;
}

enum browser_wish browser_key(struct browser *browser, bool waits)
{
	(void)browser;
	(void)waits;
	return BROWSER_QUIT;
}

#endif /* HAVE_NCURSES */
