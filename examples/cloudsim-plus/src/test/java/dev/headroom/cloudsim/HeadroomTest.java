package dev.headroom.cloudsim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class HeadroomTest {
    private static final String PROFILE = """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles:
        - plugins:
            multiPoint: {disabled: [{name: "*"}], enabled: [{name: NodeAffinity}, {name: NodeResourcesFit}]}
        """;

    private static Headroom engine() {
        return new Headroom(PROFILE, List.of("cpu", "memory"), "zone");
    }

    private static long[] amounts(final long cpu, final long memory) {
        return new long[] {cpu, memory};
    }

    @Test
    void versionIsTheHeaders() {
        HeadroomLibrary.load();
        assertEquals(HeadroomLibrary.ABI_VERSION, HeadroomLibrary.headroom_abi_version());
    }

    @Test
    void theBestNodeAndTheFirstOfEqualOnes() {
        try (var engine = engine()) {
            engine.addNode(amounts(1000, 1000), "a");
            engine.addNode(amounts(4000, 4000), "a");
            engine.addNode(amounts(4000, 4000), "a");
            assertEquals(1, engine.evaluate(amounts(500, 500), "a"));
            engine.assume(7, amounts(500, 500), 1);
            assertEquals(2, engine.evaluate(amounts(500, 500), "a"));
            engine.forget(7, 1);
            assertEquals(1, engine.evaluate(amounts(500, 500), "a"));
            engine.validate();
        }
    }

    @Test
    void everyAmountCounts() {
        try (var engine = engine()) {
            engine.addNode(amounts(1000, 2000), "a");
            assertEquals(0, engine.evaluate(amounts(1000, 2000), "a"));
            assertEquals(Headroom.NO_NODE, engine.evaluate(amounts(1001, 2000), "a"));
            assertEquals(Headroom.NO_NODE, engine.evaluate(amounts(1000, 2001), "a"));
            engine.bind(1, amounts(400, 0), 0);
            assertEquals(0, engine.evaluate(amounts(600, 2000), "a"));
            assertEquals(Headroom.NO_NODE, engine.evaluate(amounts(601, 2000), "a"));
            engine.bind(1, amounts(300, 0), 0);
            assertEquals(0, engine.evaluate(amounts(700, 2000), "a"));
        }
    }

    @Test
    void labelsChoose() {
        try (var engine = engine()) {
            engine.addNode(amounts(1000, 1000), "a");
            engine.addNode(amounts(1000, 1000), "b");
            assertEquals(1, engine.evaluate(amounts(1, 1), "b"));
            engine.changeNode(0, amounts(2000, 2000), "b");
            assertEquals(0, engine.evaluate(amounts(1, 1), "b"));
            assertEquals(Headroom.NO_NODE, engine.evaluate(amounts(1, 1), "a"));
        }
    }

    @Test
    void removedNodesKeepTheirNumberWhileAPodIsBound() {
        try (var engine = engine()) {
            engine.addNode(amounts(1000, 1000), "a");
            engine.bind(1, amounts(0, 0), 0);
            engine.removeNode(0);
            assertEquals(Headroom.NO_NODE, engine.evaluate(amounts(1, 1), "a"));
            assertEquals(1, engine.addNode(amounts(1000, 1000), "a"));
            assertEquals(1, engine.evaluate(amounts(1, 1), "a"));
        }
    }

    @Test
    void errorsHaveTheEnginesText() {
        final var unknown = assertThrows(HeadroomException.class,
            () -> new Headroom(PROFILE.replace("NodeAffinity", "NodeAfinity"), List.of("cpu"), "zone"));
        assertTrue(unknown.getMessage().contains("NodeAfinity"), unknown.getMessage());
        assertEquals(HeadroomException.Status.INVALID, unknown.status());
        try (var engine = engine()) {
            engine.addNode(amounts(1000, 1000), "a");
            final var negative = assertThrows(HeadroomException.class, () -> engine.evaluate(amounts(-1, 1), "a"));
            assertEquals(HeadroomException.Status.INVALID, negative.status());
            assertTrue(negative.getMessage().endsWith("requests[0].value: cpu -1 is below 0"), negative.getMessage());
            assertEquals(0, engine.evaluate(amounts(1, 1), "a"));
        }
    }

    @Test
    void amountsAreOfTheResources() {
        try (var engine = engine()) {
            assertThrows(IllegalArgumentException.class, () -> engine.addNode(new long[3], "a"));
        }
    }

    @Test
    void closed() {
        final var engine = engine();
        engine.addNode(amounts(1000, 1000), "a");
        engine.close();
        engine.close();
        assertTrue(engine.isClosed());
        for (final Runnable call : List.<Runnable>of(
                () -> engine.addNode(amounts(1, 1), "a"), () -> engine.changeNode(0, amounts(1, 1), "a"),
                () -> engine.removeNode(0), () -> engine.evaluate(amounts(1, 1), "a"),
                () -> engine.assume(1, amounts(1, 1), 0), () -> engine.forget(1, 0),
                () -> engine.bind(1, amounts(1, 1), 0), engine::validate)) {
            assertThrows(IllegalStateException.class, call::run);
        }
    }
}
