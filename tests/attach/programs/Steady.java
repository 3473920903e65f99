// SPDX-License-Identifier: MIT
// Fills maps and arrays, lets the collector work, and adds up what must come
// out. Prints "right" or "wrong".
import java.util.ArrayList;
import java.util.HashMap;

public class Steady {
    static long mix(long x) {
        x ^= x >>> 31;
        x *= 0x9e3779b97f4a7c15L;
        return x ^ x >>> 29;
    }

    public static void main(String[] words) {
        final int rounds = Integer.parseInt(words[0]);
        long sum = 0;
        long expected = 0;
        System.out.println("ready");
        System.out.flush();
        for (int round = 0; round < rounds; round++) {
            HashMap<Integer, long[]> map = new HashMap<>();
            ArrayList<Long> list = new ArrayList<>();
            for (int i = 0; i < 60000; i++) {
                long[] array = new long[64];
                array[i & 63] = mix(i + round);
                map.put(i, array);
                list.add(mix(i + round));
                expected += mix(i + round);
            }
            for (int i = 0; i < 60000; i++) {
                long value = map.get(i)[i & 63];
                sum += value == list.get(i) ? value : 0;
            }
        }
        System.out.println(sum == expected ? "right" : "wrong");
    }
}
