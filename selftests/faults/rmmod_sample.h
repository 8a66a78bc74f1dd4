/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Removal of the module: processes that take samples.
 */
#ifndef FAULTS_RMMOD_SAMPLE_H
#define FAULTS_RMMOD_SAMPLE_H

#include <stdbool.h>

/*
 * Take samples of this process and its future children for the client @fd. The events
 * go on, and the rings stay mapped. Returns whether there was a sample.
 */
bool take_samples(int fd);

#endif /* FAULTS_RMMOD_SAMPLE_H */
