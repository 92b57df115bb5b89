package dev.headroom.cloudsim;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.cloudsimplus.allocationpolicies.VmAllocationPolicyAbstract;
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

/** A simulation that runs, with one datacenter whose policy a test asks directly. */
final class Cloud {
    /** Position of a host that there is not. */
    static final int NOWHERE = -1;

    final VmAllocationPolicyAbstract policy;
    final DatacenterSimple datacenter;
    final List<Vm> vms = new ArrayList<>();
    private final DatacenterBroker broker;

    Cloud(final VmAllocationPolicyAbstract policy, final List<Host> hosts) {
        this.policy = policy;
        final var simulation = new CloudSimPlus();
        datacenter = new DatacenterSimple(simulation, new ArrayList<>(hosts), policy);
        broker = new DatacenterBrokerSimple(simulation);
        simulation.startSync();
    }

    static Host host(final int pes, final int mips, final long ram, final long bandwidth, final long storage) {
        return new HostSimple(ram, bandwidth, storage, pes(pes, mips));
    }

    static Host host(final int pes) {
        return host(pes, 1000, 100_000, 100_000, 100_000);
    }

    static List<Pe> pes(final int count, final int mips) {
        return IntStream.range(0, count).mapToObj(pe -> (Pe) new PeSimple(mips)).toList();
    }

    Vm vm(final int pes, final double mips, final long ram, final long bandwidth, final long storage) {
        final Vm vm = new VmSimple(vms.size(), mips, pes);
        vm.setRam(ram).setBw(bandwidth).setSize(storage).setBroker(broker);
        vms.add(vm);
        return vm;
    }

    Vm vm(final int pes) {
        return vm(pes, 1000, 1, 1, 1);
    }

    Host at(final int position) {
        return datacenter.getHostList().get(position);
    }

    int positionOf(final Host host) {
        return IntStream.range(0, (int) datacenter.size()).filter(p -> at(p) == host).findFirst().orElse(NOWHERE);
    }

    /** Asks the policy; where the VM is now. */
    int allocate(final Vm vm) {
        return policy.allocateHostForVm(vm).fully() ? positionOf(vm.getHost()) : NOWHERE;
    }

    int allocate(final int pes) {
        return allocate(vm(pes));
    }

    int find(final Vm vm) {
        return policy.findHostForVm(vm).map(this::positionOf).orElse(NOWHERE);
    }
}
