package dev.headroom.cloudsim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import java.util.List;
import java.util.stream.Stream;
import org.cloudsimplus.autoscaling.VerticalVmScaling;
import org.cloudsimplus.autoscaling.VerticalVmScalingSimple;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostAbstract;
import org.cloudsimplus.hosts.HostSimple;
import org.cloudsimplus.provisioners.ResourceProvisionerSimple;
import org.cloudsimplus.resources.Pe;
import org.cloudsimplus.resources.Ram;
import org.cloudsimplus.resources.ResourceManageable;
import org.cloudsimplus.schedulers.vm.VmSchedulerTimeShared;
import org.cloudsimplus.util.Log;
import org.cloudsimplus.vms.Vm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class VmAllocationPolicyHeadroomTest {
    private final VmAllocationPolicyHeadroom policy = new VmAllocationPolicyHeadroom();

    @BeforeAll
    static void quiet() {
        Log.setLevel(Level.OFF);
    }

    @AfterEach
    void close() {
        policy.close();
    }

    private Cloud cloud(final Host... hosts) {
        return new Cloud(policy, List.of(hosts));
    }

    @Test
    void mostFreePesAndTheFirstOfEqualHosts() {
        final var cloud = cloud(Cloud.host(4), Cloud.host(8), Cloud.host(8));
        assertEquals(List.of(1, 2, 1, 2, 0, 1), Stream.of(1, 1, 3, 3, 1, 1).map(cloud::allocate).toList());
    }

    @Test
    void freePesAndNotTheirShareCount() {
        // 90 of 100 in use and 10 free, against a smaller host that is empty with 9.
        final var cloud = cloud(Cloud.host(9), Cloud.host(100));
        assertEquals(1, cloud.allocate(90));
        assertEquals(1, cloud.allocate(1));
        assertEquals(0, cloud.allocate(1));
    }

    @Test
    void everyResourceOfTheHostFilters() {
        final var cloud = cloud(Cloud.host(8, 1000, 500, 500, 500));
        assertEquals(Cloud.NOWHERE, cloud.allocate(cloud.vm(9, 1000, 1, 1, 1)));
        assertEquals(Cloud.NOWHERE, cloud.allocate(cloud.vm(1, 1001, 1, 1, 1)));
        assertEquals(Cloud.NOWHERE, cloud.allocate(cloud.vm(1, 1000, 501, 1, 1)));
        assertEquals(Cloud.NOWHERE, cloud.allocate(cloud.vm(1, 1000, 1, 501, 1)));
        assertEquals(Cloud.NOWHERE, cloud.allocate(cloud.vm(1, 1000, 1, 1, 501)));
        assertEquals(0, cloud.allocate(cloud.vm(8, 1000, 500, 500, 500)));
        assertEquals(Cloud.NOWHERE, cloud.allocate(1));
    }

    @Test
    void mipsAreNotUsedUp() {
        final var cloud = cloud(Cloud.host(8));
        assertEquals(0, cloud.allocate(4));
        assertEquals(0, cloud.allocate(4));
    }

    @Test
    void askingHoldsNothing() {
        final var cloud = cloud(Cloud.host(8), Cloud.host(8));
        assertEquals(0, cloud.find(cloud.vm(4)));
        assertEquals(0, cloud.find(cloud.vm(4)));
    }

    @Test
    void deallocatedVmsMakeRoom() {
        final var cloud = cloud(Cloud.host(2));
        final Vm vm = cloud.vm(2);
        assertEquals(0, cloud.allocate(vm));
        assertEquals(Cloud.NOWHERE, cloud.allocate(2));
        policy.deallocateHostForVm(vm);
        assertEquals(0, cloud.allocate(2));
        policy.validate();
    }

    @Test
    void hostsThatAreOffComeLast() {
        final var cloud = cloud(
            new HostSimple(1000, 1000, 1000, Cloud.pes(8, 1000), false), Cloud.host(2));
        assertEquals(1, cloud.allocate(2));
        assertEquals(0, cloud.allocate(2));
        assertTrue(cloud.at(0).isActive());
        assertEquals(0, cloud.allocate(2));
    }

    @Test
    void hostsThatComeAndGo() {
        final var cloud = cloud(Cloud.host(2), Cloud.host(4));
        assertEquals(1, cloud.allocate(1));
        cloud.datacenter.addHost(Cloud.host(8));
        assertEquals(2, cloud.allocate(1));
        cloud.datacenter.removeHost(cloud.at(2));
        assertEquals(1, cloud.allocate(1));
        // A new host stands last: of equal ones it is not the first.
        cloud.datacenter.removeHost(cloud.at(0));
        cloud.datacenter.addHost(Cloud.host(2));
        assertEquals(0, cloud.allocate(1));
        assertEquals(1, cloud.allocate(1));
        policy.validate();
    }

    @Test
    void whatTakesOfTheBestHostUntoldIsNoticed() {
        final var cloud = cloud(Cloud.host(8), Cloud.host(6));
        assertEquals(0, cloud.allocate(1));
        ((HostAbstract) cloud.at(0)).createTemporaryVm(cloud.vm(4));
        assertEquals(1, cloud.allocate(1));
        cloud.at(1).setFailed(true);
        assertEquals(0, cloud.allocate(1));
    }

    @Test
    void whatGivesBackUntoldNeedsFollow() {
        final var cloud = cloud(Cloud.host(4));
        final Vm vm = cloud.vm(4);
        assertEquals(0, cloud.allocate(vm));
        ((HostAbstract) cloud.at(0)).destroyVm(vm);
        assertEquals(Cloud.NOWHERE, cloud.allocate(1));
        policy.follow(cloud.at(0));
        assertEquals(0, cloud.allocate(1));
    }

    @Test
    void scaledVmsAreFollowed() {
        final var cloud = cloud(Cloud.host(8, 1000, 1000, 1000, 1000));
        final Vm vm = cloud.vm(1, 1000, 600, 1, 1);
        assertEquals(0, cloud.allocate(vm));
        assertEquals(Cloud.NOWHERE, cloud.allocate(cloud.vm(1, 1000, 500, 1, 1)));
        // Down to half of its RAM: it uses little of it.
        final VerticalVmScaling scaling = new VerticalVmScalingSimple(Ram.class, 0.5);
        scaling.setLowerThresholdFunction(any -> 0.5).setUpperThresholdFunction(any -> 0.9).setVm(vm);
        ((ResourceManageable) vm.getRam()).setAllocatedResource(100);
        assertTrue(policy.scaleVmVertically(scaling));
        assertEquals(0, cloud.allocate(cloud.vm(1, 1000, 500, 1, 1)));
    }

    @Test
    void hostsThatItCannotTellApartAreRefused() {
        assertRefused("101 PEs; the limit is 100", Cloud.host(101));
        final Host shared = Cloud.host(1);
        shared.setVmScheduler(new VmSchedulerTimeShared());
        assertRefused("VmScheduler VmSchedulerTimeShared; accepted: VmSchedulerSpaceShared", shared);
        final Host provisioner = Cloud.host(1);
        provisioner.setRamProvisioner(new ResourceProvisionerSimple() {
        });
        assertRefused("RAM provisioner", provisioner);
        final List<Pe> mixed = Stream.of(Cloud.pes(1, 1000), Cloud.pes(1, 2000)).flatMap(List::stream).toList();
        assertRefused("PEs of 2 different MIPS; accepted: one", new HostSimple(1, 1, 1, mixed));
    }

    private static void assertRefused(final String text, final Host host) {
        try (var policy = new VmAllocationPolicyHeadroom()) {
            final var cloud = new Cloud(policy, List.of(Cloud.host(1), host));
            final var error = assertThrows(IllegalArgumentException.class, () -> cloud.allocate(1));
            assertTrue(error.getMessage().contains(text), error.getMessage());
        }
    }

    @Test
    void aHostWithAFilterOfItsOwnIsAnErrorAndNoLoop() {
        final var cloud = cloud(new HostSimple(1000, 1000, 1000, Cloud.pes(8, 1000)) {
            @Override
            public boolean isSuitableForVm(final Vm vm) {
                return false;
            }
        });
        final var error = assertThrows(IllegalStateException.class, () -> cloud.allocate(1));
        assertTrue(error.getMessage().contains("does not take"), error.getMessage());
    }

    @Test
    void noHosts() {
        assertEquals(Cloud.NOWHERE, cloud().allocate(1));
    }

    @Test
    void anotherProfile() {
        final String profile = """
            apiVersion: kubescheduler.config.k8s.io/v1
            kind: KubeSchedulerConfiguration
            profiles:
            - plugins:
                multiPoint: {disabled: [{name: "*"}], enabled: [{name: NodeAffinity}, {name: NodeResourcesFit}]}
              pluginConfig:
              - name: NodeResourcesFit
                args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
            """;
        try (var bestFit = new VmAllocationPolicyHeadroom(profile)) {
            final var cloud = new Cloud(bestFit, List.of(Cloud.host(8), Cloud.host(2), Cloud.host(4)));
            assertEquals(List.of(1, 2, 2, 0), Stream.of(2, 3, 1, 1).map(cloud::allocate).toList());
        }
    }

    @Test
    void closed() {
        final var cloud = cloud(Cloud.host(8));
        final Vm vm = cloud.vm(1);
        assertEquals(0, cloud.allocate(vm));
        policy.close();
        policy.close();
        assertThrows(IllegalStateException.class, () -> cloud.allocate(1));
        // What a simulation does at its end still works.
        cloud.at(0).setActive(false);
        policy.deallocateHostForVm(vm);
        assertFalse(vm.isCreated());
    }
}
