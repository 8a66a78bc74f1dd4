#lang racket/base
; SPDX-License-Identifier: GPL-2.0
; Never ends. Recursion, sorting with a function, continuations, exceptions, regular expressions.
(define (depth n) (if (zero? n) (string-length (regexp-replace* #rx"[a-z]" "some text" "<&>")) (+ 1 (depth (- n 1)))))
(let loop ([sum 0])
  (define sorted (sort '(5 3 8 1 9) (lambda (a b) (and (positive? (depth 5)) (< a b)))))
  (define caught (with-handlers ([exn:fail? (lambda (e) (string-length (exn-message e)))]) (error "wrong" sorted)))
  (define early (call/cc (lambda (k) (for-each (lambda (x) (when (> x 4) (k x))) sorted) 0)))
  (loop (modulo (+ sum (depth 60) caught early (hash-count (for/hash ([i 50]) (values i (number->string i))))) 1000)))
