package dev.headroom.cloudsim;

import ch.qos.logback.classic.Level;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.cloudsimplus.allocationpolicies.VmAllocationPolicySimple;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostSuitability;
import org.cloudsimplus.util.Log;
import org.cloudsimplus.vms.Vm;

/**
 * The same simulation twice, with CloudSim Plus' own worst fit and with Headroom's: are all
 * placements equal, and what did each cost? Exits with 1 where a placement differs, 2 where the
 * arguments or the library cannot be used.
 */
public final class WorstFitComparison {
    private static final String USAGE = "usage: [HOSTS [VMS [FLAVORS [SEED]]]]   (20000 40000 32 1)";
    private static final Scenario WARM_UP = new Scenario(300, 1000, 32, 1);

    /** One run: what the policy answered, its time, and that of the whole simulation. */
    record Run(AllocationLog log, double simulationSeconds) {
    }

    private WorstFitComparison() {
    }

    private static final class LoggedWorstFit extends VmAllocationPolicySimple {
        final AllocationLog log = new AllocationLog();

        @Override
        public HostSuitability allocateHostForVm(final Vm vm) {
            return log.allocate(vm, () -> super.allocateHostForVm(vm));
        }

        @Override
        protected Optional<Host> defaultFindHostForVm(final Vm vm) {
            return log.choose(() -> super.defaultFindHostForVm(vm));
        }

        @Override
        public void deallocateHostForVm(final Vm vm) {
            log.deallocate(() -> super.deallocateHostForVm(vm));
        }
    }

    private static final class LoggedHeadroom extends VmAllocationPolicyHeadroom {
        final AllocationLog log = new AllocationLog();

        @Override
        public HostSuitability allocateHostForVm(final Vm vm) {
            return log.allocate(vm, () -> super.allocateHostForVm(vm));
        }

        @Override
        protected Optional<Host> defaultFindHostForVm(final Vm vm) {
            return log.choose(() -> super.defaultFindHostForVm(vm));
        }

        @Override
        public void deallocateHostForVm(final Vm vm) {
            log.deallocate(() -> super.deallocateHostForVm(vm));
        }
    }

    static Run runOwn(final Scenario scenario) {
        final var policy = new LoggedWorstFit();
        final long start = System.nanoTime();
        scenario.run(policy);
        return new Run(policy.log, (System.nanoTime() - start) / 1e9);
    }

    static Run runHeadroom(final Scenario scenario) {
        try (var policy = new LoggedHeadroom()) {
            final long start = System.nanoTime();
            scenario.run(policy);
            final double seconds = (System.nanoTime() - start) / 1e9;
            policy.validate();
            return new Run(policy.log, seconds);
        }
    }

    public static void main(final String[] arguments) {
        final Scenario scenario;
        try {
            scenario = scenarioOf(List.of(arguments));
        } catch (final IllegalArgumentException error) {
            System.err.println(error.getMessage() + "\n" + USAGE);
            System.exit(2);
            return;
        }
        Log.setLevel(Level.OFF);
        try {
            runHeadroom(WARM_UP);
        } catch (final UnsatisfiedLinkError error) {
            System.err.println(error.getMessage());
            System.exit(2);
        }
        runOwn(WARM_UP);
        final Run own = runOwn(scenario);
        final Run headroom = runHeadroom(scenario);
        print(scenario, own, headroom);
        final String difference = firstDifference(own.log, headroom.log);
        if (!difference.isEmpty()) {
            System.err.println(difference);
            System.exit(1);
        }
    }

    static Scenario scenarioOf(final List<String> arguments) {
        if (arguments.size() > 4) throw new IllegalArgumentException("%d arguments".formatted(arguments.size()));
        return new Scenario(
            (int) argument(arguments, 0, "hosts", 20_000, Integer.MAX_VALUE),
            (int) argument(arguments, 1, "vms", 40_000, Integer.MAX_VALUE),
            (int) argument(arguments, 2, "flavors", 32, Integer.MAX_VALUE),
            argument(arguments, 3, "seed", 1, Long.MAX_VALUE));
    }

    private static long argument(final List<String> arguments, final int index, final String name,
                                 final long otherwise, final long max) {
        if (index >= arguments.size()) return otherwise;
        try {
            final long value = Long.parseLong(arguments.get(index));
            if (value >= 0 && value <= max) return value;
        } catch (final NumberFormatException error) {
            // Told below.
        }
        throw new IllegalArgumentException(
            "%s: \"%s\" is no number in [0, %d]".formatted(name, arguments.get(index), max));
    }

    /** "" if both answered the same for the same VMs in the same order. */
    static String firstDifference(final AllocationLog own, final AllocationLog headroom) {
        final int count = Math.min(own.placements.size(), headroom.placements.size());
        for (int p = 0; p < count; ++p) {
            final var one = own.placements.get(p);
            final var other = headroom.placements.get(p);
            if (!one.equals(other)) {
                return "allocation %d: CloudSim Plus %s, Headroom %s".formatted(p, one, other);
            }
        }
        if (own.placements.size() == headroom.placements.size()) return "";
        return "CloudSim Plus allocated %d times, Headroom %d".formatted(
            own.placements.size(), headroom.placements.size());
    }

    private static void print(final Scenario scenario, final Run own, final Run headroom) {
        System.out.printf(Locale.ROOT,
            "%d hosts, %d VMs of %d flavors, seed %d: %d placed, %d found no host, %d left%n",
            scenario.hosts(), scenario.vms(), scenario.flavors(), scenario.seed(), own.log.placed(),
            own.log.placements.size() - own.log.placed(), own.log.deallocations);
        printRun("CloudSim Plus", own);
        printRun("Headroom", headroom);
        System.out.printf(Locale.ROOT, "ratio %.1f, of choosing alone %.1f%n",
            own.log.seconds() / headroom.log.seconds(), own.log.choosingSeconds() / headroom.log.choosingSeconds());
    }

    private static void printRun(final String name, final Run run) {
        System.out.printf(Locale.ROOT,
            "%s: %.3f s in the policy (choosing hosts %.3f s, %.1f us each), the whole simulation %.1f s%n",
            name, run.log.seconds(), run.log.choosingSeconds(),
            1e6 * run.log.choosingSeconds() / run.log.placements.size(), run.simulationSeconds);
    }
}
