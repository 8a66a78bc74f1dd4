# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, functions as arguments, regular expressions, conditions, linear algebra.
depth <- function(n, leaf) if (n == 0) leaf() else 1 + depth(n - 1, leaf)
nested <- function(n) Reduce(function(a, b) if (n > 0 && b == 2) a + nested(n - 1) else a + b, 1:4)
fail <- function(n) tryCatch(if (n == 0) stop("bottom") else fail(n - 1), error = function(e) stop(conditionMessage(e)))
repeat {
	depth(30, function() nchar(sprintf("%d %s %f", 1L, "text", 1.5)))
	nested(3)
	try(fail(4), silent = TRUE)
	a <- matrix(rnorm(900), 30)
	solve(a, a %*% t(a))
	gsub("([a-z])([0-9]+)", "\\1", rep("a1 b22 c333", 50))
	sapply(split(1:100, 1:100 %% 7), function(x) sum(sort(x, decreasing = TRUE)))
	summary(lm(y ~ x, data.frame(x = 1:30, y = rnorm(30))))
}
