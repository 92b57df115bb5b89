package dev.headroom.cloudsim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.cloudsimplus.util.Log;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whole simulations, and the program. */
class WorstFitComparisonTest {
    @BeforeAll
    static void quiet() {
        Log.setLevel(Level.OFF);
    }

    static LongStream seeds() {
        return Seeds.upTo(10);
    }

    @ParameterizedTest(name = "HEADROOM_SEED={0}")
    @MethodSource("seeds")
    void wholeSimulations(final long seed) {
        // So many VMs that some find no host, as many flavors as VMs.
        final var scenario = new Scenario(20, 300, 300, seed);
        final var own = WorstFitComparison.runOwn(scenario).log();
        final var headroom = WorstFitComparison.runHeadroom(scenario).log();
        assertEquals("", WorstFitComparison.firstDifference(own, headroom), () -> "seed " + seed);
        assertTrue(own.placed() > 50, "placed " + own.placed());
        assertTrue(own.placed() < own.placements.size(), "all VMs were placed");
        assertEquals(own.placed(), own.deallocations);
    }

    @Test
    void differencesAreFound() {
        final var one = new AllocationLog();
        final var other = new AllocationLog();
        assertEquals("", WorstFitComparison.firstDifference(one, other));
        one.placements.add(new AllocationLog.Placement(1, 5));
        assertEquals("CloudSim Plus allocated 1 times, Headroom 0", WorstFitComparison.firstDifference(one, other));
        other.placements.add(new AllocationLog.Placement(1, 6));
        assertEquals("allocation 0: CloudSim Plus Placement[vm=1, host=5], Headroom Placement[vm=1, host=6]",
            WorstFitComparison.firstDifference(one, other));
    }

    @Test
    void argumentsHaveLimits() {
        assertEquals(new Scenario(20_000, 40_000, 32, 1), WorstFitComparison.scenarioOf(List.of()));
        assertEquals(new Scenario(5, 6, 7, 8), WorstFitComparison.scenarioOf(List.of("5", "6", "7", "8")));
        assertArgumentError("hosts: 0 is not in [1, 1000000]", "0");
        assertArgumentError("vms: 10000001 is not in [1, 10000000]", "1", "10000001");
        assertArgumentError("flavors: \"many\" is no number in [0, 2147483647]", "1", "1", "many");
        assertArgumentError("seed: \"-1\" is no number in [0, 9223372036854775807]", "1", "1", "1", "-1");
        assertArgumentError("5 arguments", "1", "1", "1", "1", "1");
    }

    private static void assertArgumentError(final String text, final String... arguments) {
        final var error = assertThrows(IllegalArgumentException.class,
            () -> WorstFitComparison.scenarioOf(List.of(arguments)));
        assertEquals(text, error.getMessage());
    }

    @Test
    void theProgram() throws IOException, InterruptedException {
        final String library = System.getProperty(HeadroomLibrary.PROPERTY);
        final Ran ran = run(library, "20", "40");
        assertEquals(0, ran.status, ran.output);
        assertTrue(ran.output.startsWith("20 hosts, 40 VMs of 32 flavors, seed 1: "), ran.output);
        assertTrue(ran.output.contains("ratio "), ran.output);

        final Ran bad = run(library, "x");
        assertEquals(2, bad.status, bad.output);
        assertTrue(bad.output.contains("usage:"), bad.output);

        final Ran none = run("no-such-file.so", "20", "40");
        assertEquals(2, none.status, none.output);
        assertEquals("headroom.library: no-such-file.so is no file; build it with: tools/build release headroom_c\n",
            none.output);
    }

    private record Ran(int status, String output) {
    }

    private static Ran run(final String library, final String... arguments) throws IOException, InterruptedException {
        final String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        final Process process = new ProcessBuilder(Stream.concat(
            Stream.of(java, "-D%s=%s".formatted(HeadroomLibrary.PROPERTY, library), "-cp",
                System.getProperty("java.class.path"), WorstFitComparison.class.getName()),
            Stream.of(arguments)).toList()).redirectErrorStream(true).start();
        final String output = process.inputReader().lines().collect(Collectors.joining("\n", "", "\n"));
        return new Ran(process.waitFor(), output);
    }
}
