package dev.headroom.cloudsim;

import java.util.stream.LongStream;

/** Of random tests: HEADROOM_SEED=N repeats one. In a report the number in brackets is the seed. */
final class Seeds {
    private Seeds() {
    }

    static LongStream upTo(final long count) {
        final String one = System.getenv("HEADROOM_SEED");
        return one == null ? LongStream.rangeClosed(1, count) : LongStream.of(Long.parseLong(one));
    }
}
