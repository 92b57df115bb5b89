package dev.headroom.cloudsim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import java.util.List;
import java.util.Random;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.cloudsimplus.allocationpolicies.VmAllocationPolicySimple;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostAbstract;
import org.cloudsimplus.hosts.HostSimple;
import org.cloudsimplus.util.Log;
import org.cloudsimplus.vms.Vm;
import org.cloudsimplus.vms.VmGroup;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Two clouds, one with each policy, and the same random things done to both. */
class WorstFitPropertyTest {
    private static final int STEPS = 200;

    @BeforeAll
    static void quiet() {
        Log.setLevel(Level.OFF);
    }

    static LongStream seeds() {
        return Seeds.upTo(100);
    }

    private Cloud own;
    private Cloud headroom;
    private Random random;
    private int found;
    private int notFound;

    @ParameterizedTest(name = "HEADROOM_SEED={0}")
    @MethodSource("seeds")
    void sameHosts(final long seed) {
        random = new Random(seed);
        try (var policy = new VmAllocationPolicyHeadroom()) {
            final int count = 1 + random.nextInt(12);
            final long hostSeed = random.nextLong();
            own = new Cloud(new VmAllocationPolicySimple(), hosts(hostSeed, count));
            headroom = new Cloud(policy, hosts(hostSeed, count));
            for (int step = 0; step < STEPS; ++step) {
                final String what = "seed %d, step %d: ".formatted(seed, step) + step();
                assertSameHosts(what);
            }
            policy.validate();
        }
        // The scenario is worth its time: VMs were placed, and some were not.
        assertTrue(found > 0, "nothing was placed");
        assertTrue(notFound > 0, "everything was placed");
    }

    private String step() {
        final int die = random.nextInt(100);
        if (die < 50) return allocate();
        if (die < 75) return deallocate();
        if (die < 80) return "found " + both(cloud -> cloud.find(vm(cloud)));
        if (die < 84) return power();
        if (die < 87) return addHost();
        if (die < 89) return removeHost();
        if (die < 91) return fail();
        if (die < 95) return takeSecretly();
        return allocateGroup();
    }

    // The same with both, from the same random numbers; the answer.
    private int both(final ToIntFunction<Cloud> action) {
        final long seed = random.nextLong();
        final Random outer = random;
        random = new Random(seed);
        final int expected = action.applyAsInt(own);
        random = new Random(seed);
        final int actual = action.applyAsInt(headroom);
        random = outer;
        assertEquals(expected, actual);
        return actual;
    }

    private static List<Host> hosts(final long seed, final int count) {
        final var random = new Random(seed);
        return IntStream.range(0, count).mapToObj(h -> host(random)).toList();
    }

    private static Host host(final Random random) {
        final int pes = random.nextInt(8) == 0 ? VmAllocationPolicyHeadroom.HOST_PES_MAX : 1 + random.nextInt(16);
        return new HostSimple(1000 + random.nextInt(3000), 100 + random.nextInt(500), 5000 + random.nextInt(5000),
            Cloud.pes(pes, 1000 * (1 + random.nextInt(2))), random.nextInt(4) != 0);
    }

    private Vm vm(final Cloud cloud) {
        // Some larger than any host, some that ask for nothing but PEs, MIPS between two numbers.
        final int pes = random.nextInt(40) == 0 ? 101 : 1 + random.nextInt(6);
        return cloud.vm(pes, 500 + random.nextInt(16) * 100.25, random.nextInt(900), random.nextInt(120),
            random.nextInt(1500));
    }

    private String allocate() {
        final int position = both(cloud -> cloud.allocate(vm(cloud)));
        if (position == Cloud.NOWHERE) ++notFound;
        else ++found;
        return "allocated " + position;
    }

    private String allocateGroup() {
        return "group " + both(cloud -> {
            final List<Vm> members = List.of(vm(cloud), vm(cloud));
            return cloud.policy.allocateHostForVm(new VmGroup(members)).fully()
                ? cloud.positionOf(members.get(0).getHost())
                : Cloud.NOWHERE;
        });
    }

    private String deallocate() {
        return "deallocated " + both(cloud -> {
            final List<Vm> created = cloud.vms.stream().filter(Vm::isCreated).toList();
            if (created.isEmpty()) return 0;
            final Vm vm = created.get(random.nextInt(created.size()));
            cloud.policy.deallocateHostForVm(vm);
            return (int) vm.getId();
        });
    }

    private String power() {
        return "power " + both(cloud -> {
            final int position = position(cloud);
            final Host host = cloud.at(position);
            if (!host.isFailed()) host.setActive(!host.isActive());
            return position;
        });
    }

    private String addHost() {
        return "host added " + both(cloud -> {
            cloud.datacenter.addHost(host(random));
            return (int) cloud.datacenter.size();
        });
    }

    // Its VMs stay on it and are deallocated later.
    private String removeHost() {
        return "host removed " + both(cloud -> {
            if (cloud.datacenter.size() < 3) return 0;
            final int position = position(cloud);
            // Not by Host.equals(): ids are given again after a removal.
            cloud.datacenter.removeHost(first(cloud, cloud.at(position)));
            return position;
        });
    }

    // removeHost() removes the first that is equal: have both policies see the same one go.
    private static Host first(final Cloud cloud, final Host equal) {
        return cloud.datacenter.getHostList().stream().filter(equal::equals).findFirst().orElseThrow();
    }

    private String fail() {
        return "host failed " + both(cloud -> {
            final int position = position(cloud);
            final Host host = cloud.at(position);
            host.setFailed(true);
            // The temporary ones on it are no VM's; its own are destroyed, as HostFaultInjection does.
            cloud.vms.stream().filter(vm -> vm.isCreated() && vm.getHost() == host)
                .forEach(cloud.policy::deallocateHostForVm);
            return position;
        });
    }

    // What takes of a host without the policy: it is noticed when the host is the best.
    private String takeSecretly() {
        return "taken " + both(cloud -> {
            final int position = position(cloud);
            final boolean taken = ((HostAbstract) cloud.at(position)).createTemporaryVm(vm(cloud)).fully();
            if (taken) cloud.vms.remove(cloud.vms.size() - 1);
            return taken ? position : Cloud.NOWHERE;
        });
    }

    private int position(final Cloud cloud) {
        return random.nextInt((int) cloud.datacenter.size());
    }

    private void assertSameHosts(final String what) {
        assertEquals(own.datacenter.size(), headroom.datacenter.size(), what);
        for (int position = 0; position < own.datacenter.size(); ++position) {
            final Host one = own.at(position);
            final Host other = headroom.at(position);
            assertEquals(one.getFreePesNumber(), other.getFreePesNumber(), what + ", free PEs of " + one);
            assertEquals(one.isActive(), other.isActive(), what + ", power of " + one);
        }
    }
}
