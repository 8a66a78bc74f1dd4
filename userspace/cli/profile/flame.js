// SPDX-License-Identifier: GPL-2.0
// Zoom into a flame graph by a click; search by "Search", Ctrl-F or "/".
(function () {
	"use strict";
	var CHARACTER = 7.23, NARROWEST = 0.2;
	var svg = document.querySelector("svg.flame");
	var space = +svg.dataset.space, side = +svg.dataset.side;
	var reset = svg.querySelector("#reset"), search = svg.querySelector("#search");
	var matched = svg.querySelector("#matched");
	var term = null, typing = false;
	var frames = Array.prototype.map.call(svg.querySelectorAll("g[data-l]"), function (g) {
		var title = g.querySelector("title").textContent;
		return { g: g, level: +g.dataset.l, x: +g.dataset.x, w: +g.dataset.w,
			 rects: g.querySelectorAll("rect"), text: g.querySelector("text"),
			 name: Array.from(title).slice(0, +g.dataset.n).join(""), title: title };
	});

	// Characters, not UTF-16 units: none is cut in its middle.
	function label(name, pixels) {
		var all = Array.from(name), room = Math.floor((pixels - 6) / CHARACTER);
		if (room < 3)
			return "";
		return all.length <= room ? name : all.slice(0, room - 2).join("") + "..";
	}

	function draw(frame, from, part) {
		var left = Math.max((frame.x - from) / part, 0);
		var right = Math.min((frame.x + frame.w - from) / part, 1);
		var x = side + left * space, width = Math.max(right - left, 0) * space;
		frame.g.style.display = width < NARROWEST ? "none" : "";
		Array.prototype.forEach.call(frame.rects, function (rect) {
			rect.setAttribute("x", x.toFixed(1));
			rect.setAttribute("width", width.toFixed(1));
		});
		frame.text.setAttribute("x", (x + 3).toFixed(1));
		frame.text.textContent = label(frame.name, width);
	}

	function zoom(to) {
		frames.forEach(function (frame) {
			var inside = frame.x >= to.x - 1e-6 && frame.x + frame.w <= to.x + to.w + 1e-6;
			var around = frame.x <= to.x + 1e-6 && frame.x + frame.w >= to.x + to.w - 1e-6;
			frame.g.classList.toggle("below", around && frame.level < to.level);
			if ((around && frame.level < to.level) || (inside && frame.level >= to.level))
				draw(frame, to.x, to.w);
			else
				frame.g.style.display = "none";
		});
		reset.setAttribute("visibility", to.level ? "visible" : "hidden");
	}

	function show() {
		var sum = 0, end = -1, found = [];
		frames.forEach(function (frame) {
			var is = !!term && frame.title.toLowerCase().indexOf(term.toLowerCase()) >= 0;
			frame.g.classList.toggle("found", is);
			if (is)
				found.push(frame);
		});
		// Each part of the width counts once.
		found.sort(function (a, b) { return a.x - b.x || b.w - a.w; });
		found.forEach(function (frame) {
			var right = frame.x + frame.w;
			if (right > end + 1e-9) {
				sum += right - Math.max(frame.x, end, 0);
				end = right;
			}
		});
		search.textContent = typing ? "Search: " + term + "_" : term ? "Clear search" : "Search";
		matched.textContent = term ? "Matched: " + (sum * 100).toFixed(2) + "%" : "";
		reset.setAttribute("x", typing ? space + side - 210 : space + side - 110);
	}

	function start(on) {
		typing = on;
		term = on ? "" : null;
		show();
	}

	frames.forEach(function (frame) {
		frame.g.addEventListener("click", function () { zoom(frame); });
	});
	reset.addEventListener("click", function () { zoom(frames[0]); });
	search.addEventListener("click", function () { start(!term && !typing); });
	window.addEventListener("keydown", function (event) {
		if (!typing) {
			if (event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
				event.preventDefault();
				start(true);
			} else if (event.key === "Escape") {
				zoom(frames[0]);
				start(false);
			}
			return;
		}
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === "Escape") {
			start(false);
		} else if (event.key === "Enter") {
			typing = false;
			term = term || null;
			show();
		} else if (event.key === "Backspace") {
			term = Array.from(term).slice(0, -1).join("");
			show();
		} else if (Array.from(event.key).length === 1) {
			term += event.key;
			show();
		} else {
			return;
		}
		event.preventDefault();
	});
	search.setAttribute("visibility", "visible");
	// The outermost frames are at the bottom.
	window.scrollTo(0, 1e9);
}());
