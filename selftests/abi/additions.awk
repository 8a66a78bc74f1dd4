# SPDX-License-Identifier: GPL-2.0
# additions.awk: a C program that compiles only if the header that it includes has everything that an older one has.
#
# cc -fpreprocessed -dD -E -P OLD | awk -f additions.awk
#
# Macros are defined again, which is an error with -Werror if they differ. Structures and enums get the prefix old_. Today's
# structure may be longer if its first member tells its size or is the header of a record, else it must have the same size.
function name_of(declaration)
{
	sub(/(\[[^]]*\])?;$/, "", declaration)
	sub(/^.*[ *]/, "", declaration)
	return declaration
}

BEGIN {
	print "#include <stddef.h>"
	print "#include <linux/sframe_unwind.h>"
	print "#define SAME(what) _Static_assert(what, \"not as in the old header: \" #what)"
	print "#define TYPE(type, member) __typeof__(((type *)0)->member)"
}

/^#define / {
	name = $2
	sub(/\(.*/, "", name)
	if (name ~ /_H$/)
		next
	printf "#ifndef %s\n#error %s is not defined any more\n#endif\n%s\n", name, name, $0
	next
}

/^struct [a-z_]+ \{$/ {
	type = $2
	nr = 0
	print "struct old_" type " {"
	next
}

/^enum [a-z_]+ \{$/ {
	enum = 1
	nr = 0
	print "enum old_" $2 " {"
	next
}

type && /^ / {
	nr++
	member[nr] = name_of($0)
	if (nr == 1)
		may_grow = type != "sframe_unwind_record" && /^ (__u32 size|struct sframe_unwind_record record);$/
	print
	next
}

enum && /^ / {
	member[++nr] = $1
	sub(/^ /, " old_")
	print
	next
}

enum && /^\};$/ {
	print
	for (i = 1; i <= nr; i++)
		printf "SAME((int)old_%s == (int)%s);\n", member[i], member[i]
	enum = 0
	next
}

type && /^\};$/ {
	print
	old = "struct old_" type
	new = "struct " type
	printf "SAME(sizeof(%s) %s sizeof(%s));\n", old, may_grow ? "<=" : "==", new
	for (i = 1; i <= nr; i++) {
		printf "SAME(offsetof(%s, %s) == offsetof(%s, %s));\n", old, member[i], new, member[i]
		printf "SAME(__builtin_types_compatible_p(TYPE(%s, %s), TYPE(%s, %s)));\n", old, member[i], new, member[i]
	}
	type = ""
	next
}

/^#(ifndef|endif|include|undef)/ { next }

/./ {
	print "#error additions.awk does not know the line: " $0
}
