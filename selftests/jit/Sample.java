// SPDX-License-Identifier: GPL-2.0
// Methods that the JVM compiles, called by library code and by each other. Runs until it is killed.
import java.util.Arrays;

public class Sample {
	static int depth(int n, int a) {
		return n == 0 ? a : depth(n - 1, a * 31 + n) + n;
	}

	static int compare(Integer a, Integer b) {
		return Integer.compare(depth(8, a), depth(8, b));
	}

	public static void main(String[] args) {
		for (int seed = 1; ; seed++) {
			Integer[] numbers = new Integer[5000];

			for (int i = 0; i < numbers.length; i++)
				numbers[i] = (i * 1103515245 + seed) % 65536;
			Arrays.sort(numbers, Sample::compare);
		}
	}
}
