package dev.headroom.cloudsim;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostSuitability;
import org.cloudsimplus.vms.Vm;

/**
 * What a policy answered, in order, and the time that it took: all of allocateHostForVm() and
 * deallocateHostForVm(), what the host does about it and CloudSim Plus' log texts included; and of
 * that, what choosing the hosts took.
 */
final class AllocationLog {
    /** Of a VM that found no host. */
    static final long NO_HOST = -1;

    record Placement(long vm, long host) {
    }

    final List<Placement> placements = new ArrayList<>();
    long deallocations;
    private long nanoseconds;
    private long choosingNanoseconds;

    HostSuitability allocate(final Vm vm, final Supplier<HostSuitability> policy) {
        final long start = System.nanoTime();
        final HostSuitability suitability = policy.get();
        nanoseconds += System.nanoTime() - start;
        placements.add(new Placement(vm.getId(), suitability.fully() ? vm.getHost().getId() : NO_HOST));
        return suitability;
    }

    Optional<Host> choose(final Supplier<Optional<Host>> policy) {
        final long start = System.nanoTime();
        final Optional<Host> host = policy.get();
        choosingNanoseconds += System.nanoTime() - start;
        return host;
    }

    void deallocate(final Runnable policy) {
        final long start = System.nanoTime();
        policy.run();
        nanoseconds += System.nanoTime() - start;
        ++deallocations;
    }

    long placed() {
        return placements.stream().filter(placement -> placement.host != NO_HOST).count();
    }

    double seconds() {
        return nanoseconds / 1e9;
    }

    double choosingSeconds() {
        return choosingNanoseconds / 1e9;
    }
}
