" SPDX-License-Identifier: GPL-2.0
" Never ends. Recursion, sorting with functions, regular expressions, substitution with expressions.
function Depth(n)
	return a:n == 0 ? len(printf('%d %s', a:n, 'text')) : 1 + Depth(a:n - 1)
endfunction

function Compare(a, b)
	return a:a - a:b + Depth(2) * 0
endfunction

let s:turn = 0
while 1
	let s:turn += 1
	call Depth(20)
	call sort([5, 3, 8, 1, 9, 2], 'Compare')
	call append(0, map(range(20), {i -> 'line ' . i . ' a1 b22 c333'}))
	%s/\(\w\)\(\d\+\)/\=toupper(submatch(1)) . Depth(3)/ge
	g/line/normal! ddp
	sort
	%d _
	try
		throw 'again'
	catch /again/
		let s:x = json_decode(json_encode({'a': [1, 2, {'b': s:turn}]}))
	endtry
endwhile
