package dev.headroom.cloudsim;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.cloudsimplus.hosts.HostSuitability;
import org.cloudsimplus.vms.Vm;

/**
 * What a policy answered, in order, and the time that it took: the whole of allocateHostForVm() and
 * deallocateHostForVm(), what the host itself does about it included.
 */
final class AllocationLog {
    /** Of a VM that found no host. */
    static final long NO_HOST = -1;

    record Placement(long vm, long host) {
    }

    final List<Placement> placements = new ArrayList<>();
    long nanoseconds;
    long deallocations;

    HostSuitability allocate(final Vm vm, final Supplier<HostSuitability> policy) {
        final long start = System.nanoTime();
        final HostSuitability suitability = policy.get();
        nanoseconds += System.nanoTime() - start;
        placements.add(new Placement(vm.getId(), suitability.fully() ? vm.getHost().getId() : NO_HOST));
        return suitability;
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
}
