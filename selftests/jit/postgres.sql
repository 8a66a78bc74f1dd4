-- SPDX-License-Identifier: GPL-2.0
SET jit_above_cost = 0;
SET jit_inline_above_cost = -1;
SET jit_optimize_above_cost = -1;
SET max_parallel_workers_per_gather = 0;
CREATE UNLOGGED TABLE IF NOT EXISTS numbers AS SELECT i AS a, i * 7 % 1000 AS b, i::numeric AS c FROM generate_series(1, 500000) AS i;
SELECT sum(a % 17 * b), max(c * b), count(*) FROM numbers WHERE a % 3 <> b % 5 AND a + b > 100;
