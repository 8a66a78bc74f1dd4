// SPDX-License-Identifier: GPL-2.0
/*
 * The table of scenarios.
 *
 * To add one, write its functions in the scenario_*.c of its subject, declare
 * them in scenario.h, which describes them, and add a line here. The maximum is
 * 64, see site->reached.
 */
#include "scenario.h"

const struct scenario scenarios[] = {
	{ "open", NULL, run_open, undo_open },
	{ "open as another user", NULL, run_open_as_other, undo_open_as_other },
	{ "query", NULL, run_query, NULL },
	{ "query by a newer program", NULL, run_query_newer, NULL },
	{ "counters", NULL, run_counters, NULL },
	{ "register", NULL, run_register, undo_register },
	{ "register a bad section", NULL, run_refused, NULL },
	{ "register a batch", NULL, run_batch, undo_batch },
	{ "unregister", setup_shared, run_unregister, undo_unregister },
	{ "unregister all of a section", setup_batch, run_unregister_all,
	  undo_unregister_all },
	{ "unregister a batch", setup_batch, run_unregister_batch,
	  undo_unregister_all },
	{ "end of many sections", setup_many, run_end_of_many,
	  undo_end_of_many },
	{ "request", setup_registered, run_request, NULL },
	{ "request in a signal frame", setup_signal, run_request, NULL },
	{ "request of a sleeping thread", setup_thread, run_request_thread, NULL },
	{ "request once more of a sleeping thread", NULL, run_request_again,
	  NULL },
	{ "request while another walk waits", NULL, run_two_walks, NULL },
	{ "request through the vDSO", setup_stack_switch, run_vdso, NULL },
	{ "request with a return address in no code", setup_stack_switch,
	  run_no_code, NULL },
	{ "own stack, at once", setup_registered, run_own_stack, NULL },
	{ "read", setup_waiting, run_read, undo_read },
	{ "read around the ring's end", setup_wrapped, run_read,
	  undo_read },
	{ "read asleep", setup_reader, run_read_asleep, NULL },
	{ "events", NULL, run_events, undo_events },
	{ "removal of a corrupt section", setup_events, run_corrupt, NULL },
	{ "removal of an unreadable section", NULL, run_unreadable, NULL },
	{ "discover", NULL, run_discover, map_anew },
	{ "discover what is not mapped", setup_unmapped, run_discover,
	  undo_unmapped },
	{ "discover what is attached", setup_attached, run_discover, map_anew },
	{ "attach", setup_bare, run_attach, undo_attach },
	{ "attach for all", setup_bare_system, run_attach, undo_attach },
	{ "attach to an inode", setup_bare_inode, run_attach, undo_attach },
	{ "share", setup_share, run_attach, undo_attach },
	{ "attach a large section", setup_bare_large, run_attach, undo_attach },
	{ "detach", setup_attached, run_detach, undo_detach },
	{ "list", setup_discovered, run_list, NULL },
	{ "list what is attached", setup_attached, run_list_attached, NULL },
	{ "sampler", NULL, run_sampler, undo_sampler },
	{ "ring", setup_sampler, run_ring, NULL },
	{ "stack map and files", setup_sampler, run_stack_map, NULL },
	{ "event", setup_sampler, run_event, NULL },
	{ "sample", setup_event, run_sample, NULL },
	{ "sample with build IDs", setup_event_in_files, run_sample, NULL },
	{ "clear the stack map", setup_event, run_clear, NULL },
	{ "control and statistics of samples", setup_event, run_sample_calls,
	  NULL },
	{ "timer", NULL, run_timer, undo_timer },
	{ "fork", setup_registered, run_fork, NULL },
	{ "exec", setup_registered, run_exec, NULL },
};

const unsigned int nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
