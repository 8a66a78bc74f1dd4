-- SPDX-License-Identifier: GPL-2.0
-- What one backend is given again and again: recursion in PL/pgSQL and SQL, sorts, joins, aggregates, errors.
CREATE OR REPLACE FUNCTION fib(n int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF n < 2 THEN RETURN n; END IF;
	RETURN fib(n - 1) + fib(n - 2);
END $$;
CREATE OR REPLACE FUNCTION safely(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF n = 0 THEN RAISE EXCEPTION 'bottom'; END IF;
	PERFORM safely(n - 1);
	RAISE EXCEPTION 'at %', n;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
CREATE TEMP TABLE IF NOT EXISTS people AS
	SELECT i AS id, 'name ' || (i * 7919 % 400) AS name, i % 13 AS town, 1900 + i % 100 AS born FROM generate_series(1, 2000) i;
SELECT fib(9);
SELECT safely(6);
SELECT town, count(*), string_agg(name, ',' ORDER BY born DESC) FROM people GROUP BY town HAVING count(*) > 3 ORDER BY 2, 1;
SELECT name, rank() OVER (PARTITION BY town ORDER BY born, name) FROM people WHERE name ~ '1+[0-9]$' ORDER BY 2, 1 LIMIT 50;
SELECT count(*) FROM people a JOIN people b USING (town, born) WHERE a.id < b.id AND a.name LIKE '%1%';
WITH RECURSIVE t(n, text) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, text || n FROM t WHERE n < 60) SELECT max(length(text)) FROM t;
SELECT jsonb_agg(jsonb_build_object('a', id, 'b', ARRAY[name, md5(name)])) -> 3 #>> '{b,1}' FROM people WHERE id < 50;
SELECT sum(fib(id % 6)) FROM people WHERE id < 100 AND EXISTS (SELECT 1 FROM people p WHERE p.town = people.town AND p.id > 1990);
UPDATE people SET born = born + 1 WHERE id IN (SELECT id FROM people ORDER BY md5(name) LIMIT 40);
