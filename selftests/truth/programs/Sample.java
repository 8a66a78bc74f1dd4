// SPDX-License-Identifier: GPL-2.0
// Never ends. Recursion, sorting with functions, regular expressions, exceptions, threads, compression, reflection.
import java.util.*;
import java.util.function.*;
import java.util.regex.*;
import java.util.stream.*;

public class Sample {
	static int depth(int n, IntSupplier leaf) { return n == 0 ? leaf.getAsInt() : 1 + depth(n - 1, leaf); }

	static int nested(int n) {
		List<Integer> list = new ArrayList<>(List.of(5, 3, 8, 1, 9, 2));
		list.sort((a, b) -> (n > 0 && a == 5 ? nested(n - 1) * 0 : 0) + a - b);
		return list.get(0);
	}

	static String substitute(int n) {
		return Pattern.compile("(\\w)(\\d+)").matcher("a1 b22 c333")
			.replaceAll(m -> n > 0 ? substitute(n - 1) : m.group(1).toUpperCase());
	}

	static void fail(int n) {
		try {
			if (n == 0)
				throw new IllegalStateException("bottom");
			fail(n - 1);
		} finally {
			depth(3, () -> 1);
		}
	}

	static void turn() throws Exception {
		depth(40, () -> substitute(2).length());
		nested(3);
		try { fail(6); } catch (IllegalStateException e) { e.getStackTrace(); }
		IntStream.range(0, 100).mapToObj(Integer::toString).collect(Collectors.joining(","));
		var deflater = new java.util.zip.Deflater();
		deflater.setInput(new byte[5000]);
		deflater.finish();
		deflater.deflate(new byte[500]);
		deflater.end();
		Sample.class.getDeclaredMethod("nested", int.class).invoke(null, 2);
		java.security.MessageDigest.getInstance("SHA-256").digest(new byte[1000]);
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 2; i++) {
			new Thread(() -> {
				try {
					for (;;)
						turn();
				} catch (Exception e) {
					e.printStackTrace();
				}
			}).start();
		}
		for (;;)
			turn();
	}
}
