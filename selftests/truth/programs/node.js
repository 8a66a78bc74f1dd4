// SPDX-License-Identifier: GPL-2.0
// Never ends; says when it has begun in earnest. Recursion in JavaScript, through sort, replace, JSON, and in the native parts: crypto, zlib, timers.
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');

function depth(n, leaf) { return n === 0 ? leaf() : 1 + depth(n - 1, leaf); }

function nestedSort(n) {
	return [5, 3, 8, 1, 9, 2].sort((a, b) => (n > 0 && a === 5 ? nestedSort(n - 1) * 0 : 0) + a - b)[0];
}

function substitute(n) {
	return 'a1 b22 c333'.replace(/(\w)(\d+)/g, (all, letter) => n > 0 ? substitute(n - 1) : letter.toUpperCase());
}

function fail(n) {
	try {
		if (n === 0)
			throw new Error('bottom');
		return fail(n - 1);
	} catch (error) {
		throw new Error(`at ${n}`, { cause: error });
	}
}

function errors() {
	try { return fail(5); } catch (error) { return String(error.stack).length; }
}

function* generate(n) {
	if (n > 0)
		yield* generate(n - 1);
	yield n;
}

let turns = 0;

function turn() {
	if (++turns === 20)
		console.log('ready');
	depth(50, errors);
	nestedSort(4);
	substitute(2);
	JSON.parse(JSON.stringify(Array.from({ length: 50 }, (_, i) => ({ key: i, list: [i, i * 2] }))), (key, value) => value);
	crypto.createHash('sha256').update('x'.repeat(2000)).digest('hex');
	zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(4000, 'abc')));
	[...generate(10)].map(i => new Map([[i, String(i)]]));
	setImmediate(turn);
}
turn();
