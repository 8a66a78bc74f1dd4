;; SPDX-License-Identifier: GPL-2.0 -*- lexical-binding: t -*-
;; Never ends. Recursion, sorting with functions, regular expressions, byte compilation, conditions.
(defun depth (n leaf) (if (= n 0) (funcall leaf) (1+ (depth (1- n) leaf))))
(defun nested (n)
  (car (sort (list 5 3 8 1 9 2) (lambda (a b) (when (and (> n 0) (= a 5)) (nested (1- n))) (< a b)))))
(defun fail (n) (condition-case e (if (= n 0) (error "bottom") (fail (1- n))) (error (signal 'error (list n e)))))
(while t
  (depth 30 (lambda () (length (format "%d %s %f" 1 "text" 1.5))))
  (nested 3)
  (condition-case nil (fail 5) (error nil))
  (with-temp-buffer
    (emacs-lisp-mode)
    (dotimes (i 50) (insert (format "(defun f%d (x) \"Text.\" (let ((y %d)) (+ x y)))\n" i i)))
    (goto-char (point-min))
    (while (re-search-forward "\\(f\\)\\([0-9]+\\)" nil t) (replace-match "\\1-\\2"))
    (indent-region (point-min) (point-max))
    (font-lock-ensure))
  (byte-compile '(lambda (x) (let ((y 0)) (dolist (z x) (setq y (+ y z))) y)))
  (json-parse-string (json-serialize '((a . [1 2 3]) (b . "text"))))
  (garbage-collect))
