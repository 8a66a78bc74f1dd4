// SPDX-License-Identifier: GPL-2.0
/*
 * Draw flame graphs. The picture is complete without scripts; flame.js, which is
 * put into the file, adds zooming and searching.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/common.h"
#include "cli/profile/flame.h"

#define FRAME_HEIGHT	16
#define TOP		48	/* above the frames */
#define BOTTOM		40	/* below them */
#define SIDE		10
#define CHARACTER	7.23	/* width of one, of 12 px */
#define NARROWEST	0.2	/* pixels of a frame that is drawn */

extern const char flame_script[], flame_script_end[];

__asm__(".pushsection .rodata\n"
	".global flame_script, flame_script_end\n"
	"flame_script: .incbin \"cli/profile/flame.js\"\n"
	"flame_script_end: .byte 0\n"
	".popsection");

/* Write escaped text as character data of XML, at most @width characters. */
static void put_xml(FILE *to, const char *escaped, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		const unsigned char *at = (const unsigned char *)escaped + i;

		/* U+FFFE and U+FFFF are no characters of XML. */
		if (length - i >= 3 && at[0] == 0xef && at[1] == 0xbf &&
		    at[2] >= 0xbe) {
			fprintf(to, "\\xef\\xbf\\x%02x", at[2]);
			i += 2;
			continue;
		}
		switch (*at) {
		case '&':	fputs("&amp;", to); break;
		case '<':	fputs("&lt;", to); break;
		case '>':	fputs("&gt;", to); break;
		case '"':	fputs("&quot;", to); break;
		default:	putc(*at, to); break;
		}
	}
}

static void put_text(FILE *to, const char *text)
{
	char *escaped = common_escape(text);

	put_xml(to, escaped, strlen(escaped));
	free(escaped);
}

/* What fits into @pixels, between characters, with dots for what does not. */
static void put_label(FILE *to, const char *text, double pixels)
{
	const int room = (pixels - 6) / CHARACTER;
	char *escaped;

	if (room < 3)
		return;
	escaped = common_escape(text);
	if (common_width(escaped) <= room) {
		put_xml(to, escaped, strlen(escaped));
	} else {
		put_xml(to, escaped, common_cut(escaped, room - 2));
		fputs("..", to);
	}
	free(escaped);
}

static const char *code_class(enum code code)
{
	switch (code) {
	case CODE_KERNEL:	return "k";
	case CODE_JIT:		return "j";
	case CODE_MARK:		return "m";
	default:		return "u";
	}
}

/* Red for more than before, blue for less. */
static void put_difference(const struct flame_frame *frame, double total,
			   FILE *to)
{
	const double change = total > 0 ?
			      (frame->total - frame->before) / total : 0;
	/*
	 * A change by 10 % of all samples has the full colour, on which black text can
	 * still be read.
	 */
	const int other = 235 - (int)(fmin(fabs(change) * 10, 1) * 125);

	if (fabs(change) < 0.0005)
		fputs(" style=\"fill:#ebebeb\"", to);
	else if (change > 0)
		fprintf(to, " style=\"fill:rgb(255,%d,%d)\"", other, other);
	else
		fprintf(to, " style=\"fill:rgb(%d,%d,255)\"", other, other);
}

static void put_title(const struct flame *flame,
		      const struct flame_frame *frame, FILE *to)
{
	const double total = flame->frames[0].total;

	put_text(to, flame->texts.texts[frame->name]);
	if (frame->object) {
		fputs(" (", to);
		put_text(to, flame->texts.texts[frame->object]);
		putc(')', to);
	}
	fprintf(to, " %.2f%%", total > 0 ? 100 * frame->total / total : 0);
	if (flame->is_diff)
		fprintf(to, ", before %.2f%%",
			total > 0 ? 100 * frame->before / total : 0);
	fputs(", ", to);
	common_events(to, flame->unit, frame->total);
	if (frame->is_unsure)
		fputs(", unsure: found by a guess", to);
}

/* Colours vary a little, so that neighbours can be told apart. */
static unsigned int shade(uint32_t name)
{
	return name * 2654435761U >> 30;
}

/* Whether a frame that is @wide pixels wide is drawn. */
static bool is_drawn(const struct flame *flame, const struct flame_frame *frame,
		     double wide)
{
	return wide >= NARROWEST &&
	       (double)frame->total >= flame->least * flame->frames[0].total;
}

static void put_frame(const struct flame *flame,
		      const struct flame_frame *frame, FILE *to,
		      unsigned int width, unsigned int height)
{
	const double total = flame->frames[0].total;
	const double space = width - 2 * SIDE;
	const double x = SIDE + frame->x * space;
	const double wide = total > 0 ? frame->total / total * space : space;
	const int y = height - BOTTOM - (frame->level + 1) * FRAME_HEIGHT;
	char *escaped;

	if (!is_drawn(flame, frame, wide))
		return;
	escaped = common_escape(flame->texts.texts[frame->name]);
	fprintf(to, "<g class=\"%s%u\" data-l=\"%" PRIu32 "\" data-n=\"%d\" data-x=\"%.6g\" data-w=\"%.6g\"><title>",
		code_class(frame->code), shade(frame->name), frame->level,
		common_width(escaped), frame->x,
		total > 0 ? frame->total / total : 1);
	free(escaped);
	put_title(flame, frame, to);
	fprintf(to, "</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"",
		x, y, wide, FRAME_HEIGHT - 1);
	if (flame->is_diff)
		put_difference(frame, total, to);
	fputs("/>", to);
	if (frame->is_unsure)
		fprintf(to, "<rect class=\"h\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
			x, y, wide, FRAME_HEIGHT - 1);
	fprintf(to, "<text x=\"%.1f\" y=\"%d\">", x + 3, y + 12);
	put_label(to, flame->texts.texts[frame->name], wide);
	fputs("</text></g>\n", to);
}

static void put_style(FILE *to)
{
	static const struct {
		char class;
		int hue;
		int saturation;
	} colours[] = {
		{ 'u', 42, 85 }, { 'k', 12, 75 }, { 'j', 110, 45 },
		{ 'm', 0, 0 },
	};

	fputs("<style>\n"
	      ".flame text{font:12px 'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace;fill:#000}\n"
	      ".flame g[data-l] text{pointer-events:none}\n"
	      ".flame g[data-l]{cursor:pointer}\n"
	      ".flame g[data-l]:hover rect{stroke:#000;stroke-width:.7}\n"
	      ".flame .h{fill:url(#hatch)!important;pointer-events:none}\n"
	      ".flame .found rect{fill:#e455e4!important}\n"
	      ".flame .below{opacity:.5}\n"
	      ".flame .b{cursor:pointer;fill:#03c}\n", to);
	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		for (int j = 0; j < 4; j++)
			fprintf(to, ".flame .%c%d rect{fill:hsl(%d,%d%%,%d%%)}\n",
				colours[i].class, j, colours[i].hue + j * 3,
				colours[i].saturation, 66 + j * 4);
	fputs("</style>\n<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"6\" fill=\"#000\" fill-opacity=\".35\"/></pattern></defs>\n",
	      to);
}

static void put_legend(const struct flame *flame, FILE *to, unsigned int height)
{
	static const struct {
		const char *class;
		const char *text;
		int width;
	} entries[] = {
		{ "u0", "user", 60 }, { "k0", "kernel", 75 }, { "j0", "JIT", 55 },
		{ "m0", "thread, or why a stack is cut", 245 },
	};
	int x = SIDE;

	if (flame->is_diff) {
		fprintf(to, "<text x=\"%d\" y=\"%u\">red: more than before; blue: less; full colour: by 10%% of all samples or more</text>\n",
			SIDE, height - 12);
		return;
	}
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		fprintf(to, "<g class=\"%s\"><rect x=\"%d\" y=\"%u\" width=\"12\" height=\"12\"/><text x=\"%d\" y=\"%u\">%s</text></g>\n",
			entries[i].class, x, height - 22, x + 17, height - 12,
			entries[i].text);
		x += entries[i].width;
	}
	fprintf(to, "<g class=\"u0\"><rect x=\"%d\" y=\"%u\" width=\"12\" height=\"12\"/><rect class=\"h\" x=\"%d\" y=\"%u\" width=\"12\" height=\"12\"/><text x=\"%d\" y=\"%u\">found by a guess</text></g>\n",
		x, height - 22, x, height - 22, x + 17, height - 12);
}

static void put_head(const struct flame *flame, FILE *to, unsigned int width)
{
	const double total = flame->frames[0].total;

	fprintf(to, "<text x=\"%d\" y=\"20\" style=\"font-weight:bold\">", SIDE);
	put_label(to, flame->title, width - 220);
	fprintf(to, "</text>\n<text x=\"%d\" y=\"38\">", SIDE);
	common_number(to, flame->samples);
	fputs(" samples of ", to);
	put_xml(to, flame->unit, strlen(flame->unit));
	if (common_is_time(flame->unit)) {
		fputs(", ", to);
		common_events(to, flame->unit, flame->frames[0].total);
	}
	if (flame->cut)
		fprintf(to, "; %.2f%% of the stacks are cut",
			100 * flame->cut / total);
	fprintf(to, "</text>\n"
		"<text id=\"reset\" class=\"b\" x=\"%u\" y=\"20\" text-anchor=\"end\" visibility=\"hidden\">Reset zoom</text>\n"
		"<text id=\"search\" class=\"b\" x=\"%u\" y=\"20\" text-anchor=\"end\" visibility=\"hidden\">Search</text>\n"
		"<text id=\"matched\" x=\"%u\" y=\"38\" text-anchor=\"end\"></text>\n",
		width - SIDE - 110, width - SIDE, width - SIDE);
}

static uint32_t highest_level(const struct flame *flame, double width)
{
	const double total = flame->frames[0].total;
	uint32_t level = 0;

	for (uint32_t i = 0; i < flame->keys.nr; i++)
		if (flame->frames[i].level > level &&
		    is_drawn(flame, &flame->frames[i],
			     flame->frames[i].total / total * width))
			level = flame->frames[i].level;
	return level;
}

void flame_write(const struct flame *flame, FILE *to, unsigned int width,
		 bool is_html)
{
	const unsigned int height = TOP + BOTTOM + FRAME_HEIGHT *
				    (highest_level(flame, width - 2 * SIDE) + 1);

	if (is_html) {
		fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
		      to);
		put_xml(to, flame->title, strlen(flame->title));
		fputs("</title><style>body{margin:0;background:#fff}</style></head><body>\n",
		      to);
	} else {
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
	}
	fprintf(to, "<svg class=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" data-space=\"%u\" data-side=\"%d\">\n",
		width, height, width, height, width - 2 * SIDE, SIDE);
	put_style(to);
	fprintf(to, "<rect width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n", width,
		height);
	put_head(flame, to, width);
	for (uint32_t i = 0; i < flame->keys.nr; i++)
		put_frame(flame, &flame->frames[i], to, width, height);
	put_legend(flame, to, height);
	fputs(is_html ? "</svg>\n<script>\n" : "<script><![CDATA[\n", to);
	fwrite(flame_script, 1, flame_script_end - flame_script, to);
	fputs(is_html ? "</script></body></html>\n" : "]]></script></svg>\n", to);
}
