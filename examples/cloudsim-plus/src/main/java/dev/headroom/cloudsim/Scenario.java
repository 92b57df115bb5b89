package dev.headroom.cloudsim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.cloudsimplus.allocationpolicies.VmAllocationPolicy;
import org.cloudsimplus.brokers.DatacenterBroker;
import org.cloudsimplus.brokers.DatacenterBrokerSimple;
import org.cloudsimplus.core.CloudSimPlus;
import org.cloudsimplus.datacenters.DatacenterSimple;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostSimple;
import org.cloudsimplus.resources.Pe;
import org.cloudsimplus.resources.PeSimple;
import org.cloudsimplus.vms.Vm;
import org.cloudsimplus.vms.VmSimple;

/**
 * A datacenter of varied hosts, and VMs of a number of flavors that come in waves, stay for
 * some, and go. The same for the same values: each policy gets its own copy.
 */
record Scenario(int hosts, int vms, int flavors, long seed) {
    static final int HOSTS_MAX = 1_000_000;
    static final int VMS_MAX = 10_000_000;

    private static final int WAVES = 10;
    private static final int WAVE_SECONDS = 100;
    private static final int[] HOST_PES = {8, 16, 24, 32};
    private static final int[] HOST_MIPS = {1000, 2000};
    private static final int[] VM_PES = {1, 2, 4, 8};

    private record Departure(Vm vm, double seconds) {
    }

    Scenario {
        require("hosts", hosts, HOSTS_MAX);
        require("vms", vms, VMS_MAX);
        require("flavors", flavors, VMS_MAX);
    }

    private static void require(final String field, final int value, final int max) {
        if (value < 1 || value > max) {
            throw new IllegalArgumentException("%s: %d is not in [1, %d]".formatted(field, value, max));
        }
    }

    /** Runs it to its end; what the policy answered, the policy has to remember. */
    void run(final VmAllocationPolicy policy) {
        final var simulation = new CloudSimPlus();
        new DatacenterSimple(simulation, makeHosts(), policy);
        final DatacenterBroker broker = new DatacenterBrokerSimple(simulation);
        broker.setShutdownWhenIdle(false); // which it is between waves
        broker.getVmCreation().setMaxRetries(0);
        final List<Vm> made = makeVms();
        broker.submitVmList(made);
        final Queue<Departure> departures = makeDepartures(made);
        simulation.addOnClockTickListener(tick -> {
            while (!departures.isEmpty() && departures.peek().seconds <= tick.getTime()) {
                final Vm vm = departures.remove().vm;
                if (vm.isCreated()) vm.shutdown();
            }
        });
        simulation.start();
    }

    private List<Host> makeHosts() {
        final var random = new Random(seed);
        final var made = new ArrayList<Host>(hosts);
        for (int h = 0; h < hosts; ++h) {
            final int pes = pick(HOST_PES, random);
            final int mips = pick(HOST_MIPS, random);
            final List<Pe> peList = IntStream.range(0, pes).mapToObj(pe -> (Pe) new PeSimple(mips)).toList();
            made.add(new HostSimple(pes * 1024L * (2 + random.nextInt(3)), 1000L * (1 + random.nextInt(10)),
                100_000L * (1 + random.nextInt(4)), peList));
        }
        return made;
    }

    private List<Vm> makeVms() {
        final var random = new Random(seed + 1);
        final List<long[]> sizes = IntStream.range(0, flavors).mapToObj(f -> flavor(random)).toList();
        final var made = new ArrayList<Vm>(vms);
        for (int v = 0; v < vms; ++v) {
            final long[] size = sizes.get(random.nextInt(flavors));
            final Vm vm = new VmSimple(v, size[0], size[1]);
            vm.setRam(size[2]).setBw(size[3]).setSize(size[4]);
            vm.setSubmissionDelay(WAVE_SECONDS * (double) ((long) v * WAVES / vms));
            made.add(vm);
        }
        return made;
    }

    private Queue<Departure> makeDepartures(final List<Vm> made) {
        final var random = new Random(seed + 2);
        return made.stream()
            .map(vm -> new Departure(vm, vm.getSubmissionDelay() + WAVE_SECONDS * (1.0 + random.nextInt(2 * WAVES))))
            .sorted(Comparator.comparingDouble(Departure::seconds))
            .collect(Collectors.toCollection(ArrayDeque::new));
    }

    // MIPS, PEs, RAM, bandwidth, storage.
    private static long[] flavor(final Random random) {
        final int pes = pick(VM_PES, random);
        return new long[] {random.nextInt(4) == 0 ? 1500 : 1000, pes, pes * (512L + random.nextInt(4096)),
            10 + random.nextInt(500), 1000 + random.nextInt(40_000)};
    }

    private static int pick(final int[] values, final Random random) {
        return values[random.nextInt(values.length)];
    }
}
