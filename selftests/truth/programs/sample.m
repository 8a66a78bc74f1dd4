% SPDX-License-Identifier: GPL-2.0
% Never ends. Matrices, recursion, cells, strings, errors.
1;
% Killed at the end of each run: write no octave-workspace.
crash_dumps_octave_core (false); sigterm_dumps_octave_core (false); sighup_dumps_octave_core (false);
function r = depth (n), if n == 0, r = sum (svd (rand (6))); else r = 1 + depth (n - 1); end, end
while true
  a = rand (40); b = a * a' + eye (40); c = b \ a; [q, r] = qr (b); e = eig (b);
  depth (15);
  x = cellfun (@(t) numel (t) + depth (2), {"one", "two", "three"});
  s = regexprep (sprintf ("%d,", x), '\d', '<$0>'); f = abs (fft (rand (1, 300)));
  try error ("x:y", "wrong %d", x(1)); catch err, t = err.message; end
  y = sort (e); z = quad (@(t) t .^ 2, 0, 1);
end
