// SPDX-License-Identifier: GPL-2.0
/*
 * The library's reader of netlink messages: each attribute, messages that are cut at any
 * place or changed in any byte, and the count of what is missing.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include <sframe_unwind_monitor.h>

#include "selftests/include/random.h"
#include "tap.h"

struct made {
	unsigned char bytes[1024];
	size_t size;
};

static void begin(struct made *made, unsigned int command)
{
	struct genlmsghdr genl = { .cmd = command, .version = 1 };

	memset(made, 0, sizeof(*made));
	memcpy(made->bytes + NLMSG_HDRLEN, &genl, sizeof(genl));
	made->size = NLMSG_HDRLEN + GENL_HDRLEN;
}

static void put(struct made *made, unsigned int type, const void *from, size_t size)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + size, .nla_type = type };

	memcpy(made->bytes + made->size, &attr, sizeof(attr));
	memcpy(made->bytes + made->size + NLA_HDRLEN, from, size);
	made->size += NLA_ALIGN(attr.nla_len);
}

static void put32(struct made *made, unsigned int type, uint32_t value)
{
	put(made, type, &value, sizeof(value));
}

static void put64(struct made *made, unsigned int type, uint64_t value)
{
	put(made, type, &value, sizeof(value));
}

static void put_text(struct made *made, unsigned int type, const char *text)
{
	put(made, type, text, strlen(text) + 1);
}

/* Parse it, in memory that ends with it, so that ASan sees what is outside. */
static int parse(struct made *made, size_t size, struct sframe_unwind_monitor_event *event)
{
	unsigned char *exact = malloc(size + 1) + 1;
	struct nlmsghdr head = { .nlmsg_len = made->size, .nlmsg_type = 30 };
	int ret;

	memcpy(made->bytes, &head, sizeof(head));
	memcpy(exact, made->bytes, size);
	ret = sframe_unwind_monitor_parse(exact, size, event);
	free(exact - 1);
	return ret;
}

static void make_corrupt(struct made *made)
{
	begin(made, SFRAME_UNWIND_COMMAND_SECTION_CORRUPT);
	put64(made, SFRAME_UNWIND_ATTR_NUMBER, 1ULL << 40);
	put(made, SFRAME_UNWIND_ATTR_PAD, "", 0);
	put64(made, SFRAME_UNWIND_ATTR_TIME, 2);
	put32(made, SFRAME_UNWIND_ATTR_PID, 3);
	put_text(made, SFRAME_UNWIND_ATTR_COMM, "123456789012345");
	put64(made, SFRAME_UNWIND_ATTR_SPACE, 4);
	put64(made, SFRAME_UNWIND_ATTR_ID, 5);
	put64(made, SFRAME_UNWIND_ATTR_TEXT_START, 6);
	put64(made, SFRAME_UNWIND_ATTR_TEXT_SIZE, 7);
	put64(made, SFRAME_UNWIND_ATTR_SFRAME_START, 8);
	put64(made, SFRAME_UNWIND_ATTR_SFRAME_SIZE, 9);
	put32(made, SFRAME_UNWIND_ATTR_REASON, SFRAME_UNWIND_NETLINK_CORRUPT);
	put64(made, SFRAME_UNWIND_ATTR_IP, 10);
	put64(made, SFRAME_UNWIND_ATTR_OFFSET, 11);
	put_text(made, SFRAME_UNWIND_ATTR_DEFECT, "a defect");
	put_text(made, SFRAME_UNWIND_ATTR_FILE, "\033[31m\n\377");
}

static void all_of_a_section(void)
{
	struct sframe_unwind_monitor_event event;
	struct made made;

	make_corrupt(&made);
	EXPECT_EQ(parse(&made, made.size, &event), 0);
	EXPECT_EQ(event.command, SFRAME_UNWIND_COMMAND_SECTION_CORRUPT);
	EXPECT_EQ(event.number, 1LL << 40);
	EXPECT_EQ(event.time, 2);
	EXPECT_EQ(event.pid, 3);
	EXPECT(!strcmp(event.comm, "123456789012345"));
	EXPECT_EQ(event.space, 4);
	EXPECT_EQ(event.id, 5);
	EXPECT_EQ(event.text_start, 6);
	EXPECT_EQ(event.text_size, 7);
	EXPECT_EQ(event.sframe_start, 8);
	EXPECT_EQ(event.sframe_size, 9);
	EXPECT_EQ(event.reason, SFRAME_UNWIND_NETLINK_CORRUPT);
	EXPECT_EQ(event.ip, 10);
	EXPECT_EQ(event.offset, 11);
	EXPECT(!strcmp(event.defect, "a defect"));
	EXPECT(!strcmp(event.file, "\033[31m\n\377"));
	EXPECT(event.has & 1U << SFRAME_UNWIND_ATTR_FILE);
	EXPECT(!(event.has & 1U << SFRAME_UNWIND_ATTR_CLIENT));
}

static void the_other_attributes(void)
{
	struct sframe_unwind_monitor_event event;
	struct made made;

	begin(&made, SFRAME_UNWIND_COMMAND_LOSSES);
	put32(&made, SFRAME_UNWIND_ATTR_LOSS, SFRAME_UNWIND_LOSS_NMI);
	put64(&made, SFRAME_UNWIND_ATTR_COUNT, 21);
	put64(&made, SFRAME_UNWIND_ATTR_TOTAL, 22);
	put64(&made, SFRAME_UNWIND_ATTR_CLIENT, 23);
	put32(&made, SFRAME_UNWIND_ATTR_UID, 24);
	put32(&made, SFRAME_UNWIND_ATTR_SOURCE, 25);
	put32(&made, SFRAME_UNWIND_ATTR_NR_SECTIONS, 26);
	/* Of a newer module. */
	put_text(&made, SFRAME_UNWIND_ATTR_TOTAL + 1, "whatever");
	put_text(&made, 0x1fff, "whatever");
	EXPECT_EQ(parse(&made, made.size, &event), 0);
	EXPECT_EQ(event.loss, SFRAME_UNWIND_LOSS_NMI);
	EXPECT_EQ(event.count, 21);
	EXPECT_EQ(event.total, 22);
	EXPECT_EQ(event.client, 23);
	EXPECT_EQ(event.uid, 24);
	EXPECT_EQ(event.source, 25);
	EXPECT_EQ(event.nr_sections, 26);
}

static void refused(void)
{
	static const unsigned int commands[] = { 0, SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED + 1, 255 };
	struct sframe_unwind_monitor_event event;
	char text[200];
	struct made made;

	for (unsigned int i = 0; i < 3; i++) {
		begin(&made, commands[i]);
		EXPECT_EQ(parse(&made, made.size, &event), -EOPNOTSUPP);
	}
	begin(&made, SFRAME_UNWIND_COMMAND_CLIENT_OPENED);
	put32(&made, SFRAME_UNWIND_ATTR_NUMBER, 1);
	EXPECT_EQ(parse(&made, made.size, &event), -EBADMSG);
	begin(&made, SFRAME_UNWIND_COMMAND_CLIENT_OPENED);
	put64(&made, SFRAME_UNWIND_ATTR_PID, 1);
	EXPECT_EQ(parse(&made, made.size, &event), -EBADMSG);
	/* Strings that are too long, empty, or have no end. */
	memset(text, 'x', sizeof(text));
	text[16] = '\0';
	begin(&made, SFRAME_UNWIND_COMMAND_CLIENT_OPENED);
	put_text(&made, SFRAME_UNWIND_ATTR_COMM, text);
	EXPECT_EQ(parse(&made, made.size, &event), -EBADMSG);
	begin(&made, SFRAME_UNWIND_COMMAND_CLIENT_OPENED);
	put(&made, SFRAME_UNWIND_ATTR_COMM, text, 16);
	EXPECT_EQ(parse(&made, made.size, &event), -EBADMSG);
	begin(&made, SFRAME_UNWIND_COMMAND_CLIENT_OPENED);
	put(&made, SFRAME_UNWIND_ATTR_COMM, text, 0);
	EXPECT_EQ(parse(&made, made.size, &event), -EBADMSG);
}

/* A message that is cut is refused, and none of it is written. */
static void cut(void)
{
	struct sframe_unwind_monitor_event event = { .command = 99 };
	struct made made;

	make_corrupt(&made);
	for (size_t size = 0; size < made.size; size++)
		EXPECT_EQ(parse(&made, size, &event), -EBADMSG);
	EXPECT_EQ(event.command, 99);
}

/* Any bytes: ASan and UBSan watch, and strings have an end. */
static void changed(void)
{
	struct sframe_unwind_monitor_event event;
	struct made made;
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 200000; i++) {
		make_corrupt(&made);
		for (unsigned int n = 0; n < 1 + i % 4; n++)
			made.bytes[NLMSG_HDRLEN + random_below(&seed, made.size - NLMSG_HDRLEN)] =
				random_below(&seed, 256);
		if (parse(&made, made.size, &event))
			continue;
		EXPECT(strlen(event.comm) < sizeof(event.comm));
		EXPECT(strlen(event.defect) < sizeof(event.defect));
		EXPECT(strlen(event.file) < sizeof(event.file));
	}
}

static void missing(void)
{
	struct sframe_unwind_monitor_event event = {
		.command = SFRAME_UNWIND_COMMAND_SECTION_ADDED,
		.number = 100,
	};
	uint64_t last = 0;

	/* Nobody knows what was before the first one. */
	EXPECT_EQ(sframe_unwind_monitor_missing(&last, &event), 0);
	event.number = 101;
	EXPECT_EQ(sframe_unwind_monitor_missing(&last, &event), 0);
	event.number = 105;
	EXPECT_EQ(sframe_unwind_monitor_missing(&last, &event), 3);
	event.command = SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED;
	event.number = 110;
	event.count = 5;
	EXPECT_EQ(sframe_unwind_monitor_missing(&last, &event), 0);
	event.number = 120;
	EXPECT_EQ(sframe_unwind_monitor_missing(&last, &event), 5);
	EXPECT_EQ(last, 120);
	/* Nonsense does not become a huge number. */
	event.number = 3;
	event.count = ~0ULL;
	EXPECT_EQ(sframe_unwind_monitor_missing(&last, &event), 0);
}

static void names(void)
{
	EXPECT(!strcmp(sframe_unwind_monitor_added_name(SFRAME_UNWIND_NETLINK_FORK), "fork"));
	EXPECT(!strcmp(sframe_unwind_monitor_removed_name(SFRAME_UNWIND_NETLINK_GONE), "gone"));
	EXPECT(!strcmp(sframe_unwind_monitor_loss_name(SFRAME_UNWIND_LOSS_REMOVAL), "removal"));
	EXPECT(!strcmp(sframe_unwind_monitor_added_name(0), "unknown"));
	EXPECT(!strcmp(sframe_unwind_monitor_removed_name(8), "unknown"));
	EXPECT(!strcmp(sframe_unwind_monitor_loss_name(~0U), "unknown"));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_of_a_section),
		TAP_TEST(the_other_attributes),
		TAP_TEST(refused),
		TAP_TEST(cut),
		TAP_TEST(changed),
		TAP_TEST(missing),
		TAP_TEST(names),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
