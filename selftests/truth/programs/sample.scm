;; SPDX-License-Identifier: GPL-2.0
;; Never ends. Recursion, sorting with procedures, regular expressions, exceptions, continuations.
(use-modules (ice-9 regex) (srfi srfi-1))
(define (depth n leaf) (if (= n 0) (leaf) (+ 1 (depth (- n 1) leaf))))
(define (nested n)
  (car (sort (list 5 3 8 1 9 2) (lambda (a b) (if (and (> n 0) (= a 5)) (nested (- n 1))) (< a b)))))
(define (substitute n)
  (regexp-substitute/global #f "([a-z])([0-9]+)" "a1 b22 c333" 'pre
    (lambda (m) (if (> n 0) (substitute (- n 1)) (string-upcase (match:substring m 1)))) 'post))
(let loop ()
  (depth 40 (lambda () (string-length (substitute 2))))
  (nested 3)
  (catch #t (lambda () (depth 6 (lambda () (error "bottom")))) (lambda args 0))
  (call-with-prompt 'ask (lambda () (depth 5 (lambda () (abort-to-prompt 'ask 3)))) (lambda (k n) (k n)))
  (eval '(let ((f (lambda (x) (* x x)))) (map f (iota 20))) (interaction-environment))
  (string-length (with-output-to-string (lambda () (write (map number->string (iota 50))))))
  (loop))
