cat >A.java <<'J'
import java.util.*;
public class A {
	public static void main(String[] a) throws Exception {
		Map<Object, Integer> m = new HashMap<>();
		for (int i = 0; i < 5; i++) m.put("k" + i, i);
		System.out.println(m + " " + new Random().nextInt(1000) + " " + UUID.randomUUID());
		System.out.println(System.currentTimeMillis() + " " + new Date() + " " + new Object().hashCode());
	}
}
J
java -Xshare:auto -XX:+UseSerialGC -Xmx128m A.java
