// SPDX-License-Identifier: GPL-2.0
// Functions that V8 compiles, called by builtins, by the interpreter and by each other. Runs until it is killed.
'use strict';

function depth(n, a) {
	return n === 0 ? a : depth(n - 1, (a * 31 + n) | 0) + n;
}

function compare(a, b) {
	return depth(8, a) - depth(8, b) || a - b;
}

function count(text) {
	const words = new Map();

	for (const word of text.split(/[ ,.]+/))
		words.set(word, (words.get(word) || 0) + 1);
	return JSON.stringify([...words].sort((a, b) => b[1] - a[1]));
}

for (let seed = 1; ; seed++) {
	const numbers = Array.from({ length: 2000 }, (_, i) => (i * 1103515245 + seed) % 65536);

	numbers.sort(compare);
	count('a stack of frames, each with a return address. a frame of a function, '.repeat(20));
}
