// SPDX-License-Identifier: GPL-2.0
/*
 * jit_plugin_test JIT.SO PLUGIN.SO: a program without an unwinder loads a plugin that brings one
 * for itself. With jit.so preloaded the plugin's calls still arrive there.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

static const char *plugin_name;

static void private_unwinder(void)
{
	static unsigned char empty[4];
	unsigned int *(*get_number)(void);
	void (*announce)(void *begin);
	void *plugin;

	for (int round = 0; round < 3; round++) {
		plugin = dlopen(plugin_name, RTLD_NOW | RTLD_LOCAL);
		EXPECT(plugin);
		announce = dlsym(plugin, "announce");
		get_number = dlsym(plugin, "get_number");
		EXPECT(announce && get_number);
		announce(empty);
		EXPECT_EQ(*get_number(), 1);
		announce(NULL);
		EXPECT_EQ(*get_number(), 2);
		/* Nothing keeps it loaded. */
		EXPECT(!dlclose(plugin));
		EXPECT(!dlopen(plugin_name, RTLD_NOW | RTLD_NOLOAD));
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP_TEST(private_unwinder) };

	if (argc != 3)
		return 2;
	if (!getenv("LD_PRELOAD")) {
		setenv("LD_PRELOAD", argv[1], 1);
		execv("/proc/self/exe", argv);
		return 2;
	}
	plugin_name = argv[2];
	tap_run(tests, 1);
	return tap_done();
}
