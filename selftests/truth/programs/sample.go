// SPDX-License-Identifier: GPL-2.0

// Never ends. Recursion, sorting with functions, regular expressions, panics, goroutines, maps, garbage collection.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sort"
	"strings"
	"syscall"
)

// Replaced if the program calls C.
var inC = func(n int) int { return n }

var expression = regexp.MustCompile(`(\w)(\d+)`)

func depth(n int, leaf func() int) int {
	if n == 0 {
		return leaf()
	}
	return 1 + depth(n-1, leaf)
}

func nested(n int) int {
	list := []int{5, 3, 8, 1, 9, 2}
	sort.Slice(list, func(a, b int) bool {
		if n > 0 && list[a] == 5 {
			nested(n - 1)
		}
		return list[a] < list[b]
	})
	return list[0]
}

func substitute(n int) string {
	return expression.ReplaceAllStringFunc("a1 b22 c333", func(s string) string {
		if n > 0 {
			return substitute(n - 1)
		}
		return strings.ToUpper(s)
	})
}

func fail(n int) {
	defer func() {
		if e := recover(); e != nil {
			panic(fmt.Sprint(n, len(fmt.Sprint(e))))
		}
	}()
	if n == 0 {
		panic("bottom")
	}
	fail(n - 1)
}

func safely() {
	defer func() { recover() }()
	fail(5)
}

func turn() int {
	depth(40, func() int { return len(substitute(2)) })
	nested(3)
	safely()
	data, _ := json.Marshal(map[string]any{"a": []int{1, 2, 3}, "b": "text", "c": 1.5})
	var back map[string]any
	json.Unmarshal(data, &back)
	sum := sha256.Sum256(data)
	return int(sum[0]) + inC(int(sum[0]))
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	results := make(chan int)
	for i := 0; i < 20; i++ {
		go func() {
			for {
				results <- turn()
			}
		}()
	}
	for {
		select {
		case <-results:
			turn()
		case <-signals:
			nested(2)
		}
	}
}
