// SPDX-License-Identifier: GPL-2.0
/* Never ends. Throws through frames with destructors, rethrows, and sorts. */
#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static volatile long sink;

struct Guard {
	std::string name;

	explicit Guard(int n) : name("a guard with a name that is long " + std::to_string(n)) {}
	~Guard() { sink = sink + name.size(); }
};

struct Shape {
	virtual ~Shape() = default;
	virtual long area(int n) const = 0;
};

struct Nested : Shape {
	std::unique_ptr<Shape> inner;

	long area(int n) const override { return inner ? inner->area(n + 1) : throw std::out_of_range("no inner shape"); }
};

[[gnu::noinline]] static void dive(int n)
{
	Guard guard(n);

	if (n == 0)
		throw std::runtime_error("bottom");
	try {
		dive(n - 1);
	} catch (const std::logic_error &) {
		sink = n;
	} catch (const std::runtime_error &error) {
		if (n % 3 == 0)
			std::throw_with_nested(std::runtime_error(error.what() + std::to_string(n)));
		throw;
	}
}

[[gnu::noinline]] static long unnest(const std::exception &error)
{
	try {
		std::rethrow_if_nested(error);
	} catch (const std::exception &inner) {
		return 1 + unnest(inner);
	}
	return 0;
}

static long apply(int n, const std::function<long(int)> &function)
{
	return n == 0 ? function(n) : 1 + apply(n - 1, [&](int i) { return function(i + 1); });
}

static void on_signal(int)
{
	try {
		dive(4);
	} catch (const std::exception &error) {
		sink = unnest(error);
	}
}

int main()
{
	std::signal(SIGUSR1, on_signal);
	for (int turn = 0;; turn++) {
		std::map<std::string, long> map;
		std::vector<int> numbers;
		std::ostringstream text;
		auto outer = std::make_unique<Nested>();

		try {
			dive(10 + turn % 5);
		} catch (const std::exception &error) {
			sink = unnest(error);
		}
		for (int i = 0; i < 60; i++)
			numbers.push_back(i * 37 % 61);
		std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
			return apply(2, [&](int) { return a < b; }) > 2;
		});
		for (int n : numbers)
			map[std::to_string(n % 7)] += n;
		for (const auto &entry : map)
			text << entry.first << '=' << entry.second << ' ' << 1.5 * entry.second;
		outer->inner = std::make_unique<Nested>();
		try {
			sink = outer->area(0) + text.str().size();
		} catch (const std::logic_error &error) {
			sink = std::string(error.what()).size();
		}
	}
}
