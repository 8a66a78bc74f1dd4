# SPDX-License-Identifier: GPL-2.0
# Never ends.
set terminal svg
set output "/dev/null"
f(x, n) = n == 0 ? sin(x) : f(x + 0.1, n - 1) * 0.9
set samples 200
set isosamples 30
i = 0
while (1) {
	plot [-10:10] f(x, 8), besj0(x), gamma(abs(x) + 1)
	splot sin(x) * cos(y) with pm3d
	i = i + strlen(sprintf("%d %g", i, sqrt(i)))
}
