package dev.headroom.cloudsim;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.cloudsimplus.allocationpolicies.VmAllocationPolicyAbstract;
import org.cloudsimplus.autoscaling.VerticalVmScaling;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostSuitability;
import org.cloudsimplus.listeners.EventListener;
import org.cloudsimplus.listeners.HostEventInfo;
import org.cloudsimplus.provisioners.ResourceProvisionerSimple;
import org.cloudsimplus.resources.Pe;
import org.cloudsimplus.schedulers.MipsShare;
import org.cloudsimplus.schedulers.vm.VmSchedulerSpaceShared;
import org.cloudsimplus.vms.Vm;
import org.cloudsimplus.vms.VmGroup;

/**
 * Places VMs where Headroom's engine says. Hosts are its nodes, VMs its pods.
 *
 * <p>Powered-on hosts come before others, as with CloudSim Plus' own policies; among them the
 * profile decides, and ties go to the host that stands first in the datacenter's list.
 *
 * <p>Hosts have VmSchedulerSpaceShared and ResourceProvisionerSimple (the defaults), at most
 * {@value #HOST_PES_MAX} PEs, all of the same MIPS; others are refused when a VM is asked for first.
 * README.md says which changes of hosts are followed. One thread, one datacenter. Close it after
 * the simulation: the engine's memory is not Java's.
 */
public class VmAllocationPolicyHeadroom extends VmAllocationPolicyAbstract implements AutoCloseable {
    public static final int HOST_PES_MAX = 100;

    private static final String POWER = "cloudsimplus.org/power";
    private static final String ON = "on";
    private static final String OFF = "off";
    private static final int MILLI = 1000;

    // A VM asks for its PEs' MIPS, but does not use them up: see held().
    private static final List<String> RESOURCES = List.of(
        "cloudsimplus.org/bandwidth", "cloudsimplus.org/mips", "cpu", "ephemeral-storage", "memory");

    /** A host and what the engine knows of it. */
    private static final class Row {
        final Host host;
        final int node;
        final Map<Vm, Long> pods = new IdentityHashMap<>(); // those that are assumed
        int freePes;
        boolean active;

        Row(final Host host, final int node) {
            this.host = host;
            this.node = node;
        }

        /** Does the engine know the host as it is? Of RAM, bandwidth and storage the host's own filter tells. */
        boolean isCurrent() {
            return freePes == host.getFreePesNumber() && active == host.isActive();
        }
    }

    private final Headroom engine;
    private final List<Row> rows = new ArrayList<>();                    // by node
    private final Map<Host, Row> rowOf = new IdentityHashMap<>();        // of hosts that are there
    private final EventListener<HostEventInfo> powerListener = info -> follow(info.getHost());
    private Host lastHost; // of the list, when it was looked at
    private int hostsOff;
    private long podsMade;

    /** @param profile a KubeSchedulerConfiguration; it has to have NodeAffinity and NodeResourcesFit */
    public VmAllocationPolicyHeadroom(final String profile) {
        engine = new Headroom(profile, RESOURCES, POWER);
    }

    /** The hosts that CloudSim Plus' VmAllocationPolicySimple, which is its worst fit, would choose. */
    public VmAllocationPolicyHeadroom() {
        this(worstFit());
    }

    private static String worstFit() {
        try (InputStream file = VmAllocationPolicyHeadroom.class.getResourceAsStream("/worst-fit.yaml")) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (final IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    protected Optional<Host> defaultFindHostForVm(final Vm vm) {
        followHostList();
        final MipsShare mips = vm.getCurrentRequestedMips();
        if (mips.isEmpty() || mips.pes() > HOST_PES_MAX) return Optional.empty();
        final long[] asked = asked(vm, mips);
        final Optional<Host> on = find(vm, asked, ON);
        return on.isPresent() || hostsOff == 0 ? on : find(vm, asked, OFF);
    }

    private Optional<Host> find(final Vm vm, final long[] asked, final String power) {
        Row followed = null;
        while (true) {
            final int node = engine.evaluate(asked, power);
            if (node == Headroom.NO_NODE) return Optional.empty();
            final Row row = rows.get(node);
            if (row.isCurrent() && row.host.isSuitableForVm(vm)) return Optional.of(row.host);
            if (row == followed) {
                throw new IllegalStateException("%s does not take %s, for a reason that is not its PEs, MIPS, RAM, "
                    .formatted(row.host, vm) + "bandwidth or storage");
            }
            // Something took of the host and nobody told; now it has less than the engine thought.
            follow(row);
            followed = row;
        }
    }

    @Override
    public HostSuitability allocateHostForVm(final Vm vm, final Host host) {
        followHostList();
        final HostSuitability suitability = super.allocateHostForVm(vm, host);
        final Row row = rowOf.get(host);
        if (row == null) return suitability;
        if (suitability.fully() && !(vm instanceof VmGroup)) {
            final long pod = podsMade++;
            engine.assume(pod, held(vm), row.node);
            row.pods.put(vm, pod);
            row.freePes -= (int) vm.getPesNumber();
        }
        if (!row.isCurrent()) follow(row);
        return suitability;
    }

    @Override
    public void deallocateHostForVm(final Vm vm) {
        final Host host = vm.getHost();
        final long pes = vm.getPesNumber();
        super.deallocateHostForVm(vm);
        final Row row = rowOf.get(host);
        if (row == null || engine.isClosed()) return;
        final Long pod = vm.isCreated() ? null : row.pods.remove(vm);
        if (pod == null) {
            follow(row);
            return;
        }
        engine.forget(pod, row.node);
        row.freePes += (int) pes;
        if (!row.isCurrent()) follow(row);
    }

    @Override
    public boolean scaleVmVertically(final VerticalVmScaling scaling) {
        final boolean scaled = super.scaleVmVertically(scaling);
        follow(scaling.getVm().getHost());
        return scaled;
    }

    /**
     * Has the engine read the host again: for changes that the framework tells no policy. A host
     * that is not the datacenter's is passed over.
     */
    public final void follow(final Host host) {
        final Row row = rowOf.get(host);
        if (row != null && !engine.isClosed()) follow(row);
    }

    // One bound pod has all of the host that is not free; the VMs' own pods go.
    private void follow(final Row row) {
        row.pods.values().forEach(pod -> engine.forget(pod, row.node));
        row.pods.clear();
        final Host host = row.host;
        if (row.active != host.isActive()) hostsOff += host.isActive() ? -1 : 1;
        row.active = host.isActive();
        row.freePes = host.getFreePesNumber();
        engine.changeNode(row.node, allocatable(host), power(host));
        engine.bind(restOf(row.node), inUse(host), row.node);
    }

    // Through a datacenter hosts are appended or removed; a list with the same end and size is the same.
    private void followHostList() {
        final List<Host> hosts = getHostList();
        final Host last = hosts.isEmpty() ? null : hosts.get(hosts.size() - 1);
        if (hosts.size() == rowOf.size() && last == lastHost) return;
        final Set<Host> present = Collections.newSetFromMap(new IdentityHashMap<>());
        present.addAll(hosts);
        rows.forEach(row -> {
            if (rowOf.get(row.host) == row && !present.contains(row.host)) remove(row);
        });
        hosts.forEach(host -> {
            if (!rowOf.containsKey(host)) add(host);
        });
        lastHost = last;
    }

    private void add(final Host host) {
        requireSupported(host);
        final Row row = new Row(host, engine.addNode(allocatable(host), power(host)));
        row.freePes = host.getFreePesNumber();
        row.active = host.isActive();
        if (!row.active) ++hostsOff;
        rows.add(row);
        rowOf.put(host, row);
        engine.bind(restOf(row.node), inUse(host), row.node);
        host.addOnStartupListener(powerListener);
        host.addOnShutdownListener(powerListener);
    }

    // The bound pod stays, so that no later host gets the number and with it a place further ahead.
    private void remove(final Row row) {
        engine.removeNode(row.node);
        rowOf.remove(row.host);
        if (!row.active) --hostsOff;
        stopListening(row.host);
    }

    private void stopListening(final Host host) {
        host.removeOnStartupListener(powerListener);
        host.removeOnShutdownListener(powerListener);
    }

    private static void requireSupported(final Host host) {
        final long pes = host.getPesNumber();
        if (pes > HOST_PES_MAX) {
            throw new IllegalArgumentException("%s has %d PEs; the limit is %d".formatted(host, pes, HOST_PES_MAX));
        }
        requireClass(host, "VmScheduler", host.getVmScheduler(), VmSchedulerSpaceShared.class);
        requireClass(host, "RAM provisioner", host.getRamProvisioner(), ResourceProvisionerSimple.class);
        requireClass(host, "bandwidth provisioner", host.getBwProvisioner(), ResourceProvisionerSimple.class);
        final long kinds = host.getPeList().stream().mapToLong(Pe::getCapacity).distinct().count();
        if (kinds != 1) {
            throw new IllegalArgumentException("%s has PEs of %d different MIPS; accepted: one".formatted(host, kinds));
        }
    }

    private static void requireClass(final Host host, final String what, final Object has, final Class<?> accepted) {
        if (has.getClass() == accepted) return;
        throw new IllegalArgumentException("%s has %s %s; accepted: %s".formatted(
            host, what, has.getClass().getSimpleName(), accepted.getSimpleName()));
    }

    private static String power(final Host host) {
        return host.isActive() ? ON : OFF;
    }

    // The number of the pod that has what VMs' pods do not account for.
    private static long restOf(final int node) {
        return -1L - node;
    }

    private static long[] amounts(final long bandwidth, final long mips, final long pes, final long storage,
                                  final long ram) {
        return new long[] {bandwidth, mips, pes * MILLI, storage, ram};
    }

    private static long[] allocatable(final Host host) {
        return amounts(host.getBw().getCapacity(), (long) host.getMips(), HOST_PES_MAX,
            host.getStorage().getCapacity(), host.getRam().getCapacity());
    }

    private static long[] inUse(final Host host) {
        return amounts(
            host.getBw().getAllocatedResource(), 0, HOST_PES_MAX - host.getFreePesNumber(),
            host.getStorage().getAllocatedResource(), host.getRam().getAllocatedResource());
    }

    // What Host.isSuitableForVm() compares: a VM that is somewhere already (it migrates) has its RAM and bandwidth.
    private static long[] asked(final Vm vm, final MipsShare mips) {
        return amounts(
            vm.getBw().getCapacity() - vm.getBw().getAllocatedResource(), (long) Math.ceil(mips.mips()), mips.pes(),
            vm.getStorage().getCapacity(), vm.getRam().getCapacity() - vm.getRam().getAllocatedResource());
    }

    private static long[] held(final Vm vm) {
        return amounts(vm.getBw().getCapacity(), 0, vm.getPesNumber(), vm.getStorage().getCapacity(),
            vm.getRam().getCapacity());
    }

    /** For tests: {@link Headroom#validate}. */
    final void validate() {
        engine.validate();
    }

    @Override
    public void close() {
        rowOf.keySet().forEach(this::stopListening);
        engine.close();
    }
}
