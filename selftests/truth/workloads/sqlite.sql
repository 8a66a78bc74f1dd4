-- SPDX-License-Identifier: GPL-2.0
CREATE TABLE IF NOT EXISTS people(id INTEGER PRIMARY KEY, name TEXT, town TEXT, born INTEGER);
CREATE TABLE IF NOT EXISTS orders(id INTEGER PRIMARY KEY, person INTEGER REFERENCES people(id), item TEXT, price REAL);
CREATE INDEX IF NOT EXISTS by_town ON people(town, born);
CREATE TRIGGER IF NOT EXISTS check_price BEFORE INSERT ON orders WHEN new.price < 0
	BEGIN SELECT RAISE(IGNORE); END;
BEGIN;
DELETE FROM orders;
DELETE FROM people;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
	INSERT INTO people SELECT i, printf('name %03d', i * 7919 % 400), 'town ' || (i % 13), 1900 + i % 100 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
	INSERT INTO orders SELECT i, i * 31 % 400 + 1, substr('apples bananas cherries dates', i % 20 + 1, 7),
		(i * 37 % 1000) / 10.0 - 1 FROM n;
COMMIT;
SELECT town, count(*), sum(price), group_concat(DISTINCT item) FROM people JOIN orders ON person = people.id
	GROUP BY town HAVING count(*) > 3 ORDER BY sum(price) DESC;
SELECT name, rank() OVER (PARTITION BY town ORDER BY born, name) FROM people WHERE name LIKE '%1%' ORDER BY 2, 1;
SELECT p.name, (SELECT max(price) FROM orders WHERE person = p.id) AS best FROM people p
	WHERE EXISTS (SELECT 1 FROM orders o WHERE o.person = p.id AND o.item GLOB '*a*') ORDER BY best, p.name LIMIT 20;
SELECT json_extract(value, '$.a[1]'), typeof(value) FROM json_each('[{"a":[1,2,{"b":"c"}]},{"a":[3,4]},{"a":[]}]');
SELECT upper(name), hex(zeroblob(4)), abs(born - 1950), replace(town, 'town', 'city'), date('2020-02-29', '+1 year')
	FROM people ORDER BY random() LIMIT 30;
WITH RECURSIVE fib(a, b, n) AS (VALUES(0, 1, 1) UNION ALL SELECT b, a + b, n + 1 FROM fib WHERE n < 60) SELECT max(a) FROM fib;
UPDATE people SET born = born + 1 WHERE id IN (SELECT person FROM orders GROUP BY person HAVING avg(price) > 50);
DELETE FROM orders WHERE price BETWEEN 10 AND 20;
SELECT count(*) FROM people a, people b WHERE a.born = b.born AND a.id < b.id;
CREATE TEMP VIEW IF NOT EXISTS towns AS SELECT DISTINCT town FROM people UNION SELECT item FROM orders EXCEPT SELECT 'x';
SELECT * FROM towns ORDER BY 1 COLLATE NOCASE;
EXPLAIN QUERY PLAN SELECT * FROM people WHERE town = 'town 3' AND born > 1950;
SELECT json_valid('{"a":'), iif(1 > 2, 'no', strftime('%H', 'nonsense'));
PRAGMA integrity_check;
