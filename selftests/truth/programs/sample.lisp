;; SPDX-License-Identifier: GPL-2.0
;; Never ends. Recursion, sorting with functions, conditions, compilation.
(defun depth (n leaf) (if (= n 0) (funcall leaf) (1+ (depth (1- n) leaf))))
(defun nested (n)
  (first (sort (list 5 3 8 1 9 2) (lambda (a b) (when (and (> n 0) (= a 5)) (nested (1- n))) (< a b)))))
(loop
  (depth 30 (lambda () (length (format nil "~d ~a ~f" 1 "text" 1.5))))
  (nested 3)
  (handler-case (depth 5 (lambda () (error "bottom"))) (error () 0))
  (funcall (compile nil '(lambda (x) (loop for i below x sum (* i i)))) 20)
  (parse-integer (coerce (loop for i below 8 collect (code-char (+ 49 i))) 'string)))
