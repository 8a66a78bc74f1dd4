/* SPDX-License-Identifier: GPL-2.0 */
/* PID namespaces are up to the test. */
#ifndef UNIT_KERNEL_PID_NAMESPACE_H
#define UNIT_KERNEL_PID_NAMESPACE_H

#endif /* UNIT_KERNEL_PID_NAMESPACE_H */
