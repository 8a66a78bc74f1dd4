// SPDX-License-Identifier: GPL-2.0
// A server, and with the argument "client" a client that keeps it busy. Both run until they are killed.
'use strict';
const http = require('http');
const path = process.cwd() + '/node.socket';

function answer(request, response) {
	let body = '';

	request.on('data', (part) => { body += part; });
	request.on('end', () => {
		const items = JSON.parse(body).items.map((n) => ({ n, name: 'item ' + n, square: n * n }));

		items.sort((a, b) => b.square % 97 - a.square % 97);
		response.setHeader('Content-Type', 'application/json');
		response.end(JSON.stringify(items));
	});
}

function ask(agent) {
	const request = http.request({ socketPath: path, path: '/', method: 'POST', agent }, (response) => {
		response.resume();
		response.on('end', () => ask(agent));
	});

	request.on('error', () => setTimeout(() => ask(agent), 100));
	request.end(JSON.stringify({ items: Array.from({ length: 200 }, (_, i) => i) }));
}

if (process.argv[2] === 'client')
	ask(new http.Agent({ keepAlive: true }));
else
	http.createServer(answer).listen(path);
