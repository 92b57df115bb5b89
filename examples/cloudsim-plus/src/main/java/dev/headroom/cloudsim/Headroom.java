package dev.headroom.cloudsim;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An engine of Headroom over nodes and pods that are numbers: which node is the best for a pod?
 *
 * <p>Nodes are counted from 0 in the order in which they are added, and ties go to the lowest. Pods
 * have the caller's numbers. Amounts are in the order of the resources that the engine was made
 * with; cpu is in thousandths of a core. Every node has a value of one label, by which pods choose.
 *
 * <p>One thread at a time. What a call passes lies in native memory that the next one writes again:
 * only {@link #addNode} allocates any. Every call may throw {@link HeadroomException}; after
 * {@link #close()} IllegalStateException.
 */
public final class Headroom implements AutoCloseable {
    /** What {@link #evaluate} answers where no node takes the pod. */
    public static final int NO_NODE = HeadroomLibrary.NO_NODE;

    private static final int MESSAGE_BYTES = 4096;
    private static final int POD_NAME_BYTES = 24; // a long's digits, its sign and NUL
    private static final long PODS_MAX = 1000;    // of a node; Kubernetes counts them as well

    // Of the pod that is asked for. No other has it: a pod that is there already does not stand in its own way.
    private static final long ASKING = Long.MAX_VALUE;

    private final List<Memory> nodeNames = new ArrayList<>();
    private final Map<String, Memory> texts = new HashMap<>();
    private final HeadroomLibrary.Amount amount = new HeadroomLibrary.Amount();
    private final HeadroomLibrary.Node node = new HeadroomLibrary.Node();
    private final HeadroomLibrary.Pod pod = new HeadroomLibrary.Pod();
    private final HeadroomLibrary.Pair label = new HeadroomLibrary.Pair();
    private final HeadroomLibrary.Decision decision = new HeadroomLibrary.Decision();
    private final Memory amounts;
    private final Memory podName = new Memory(POD_NAME_BYTES);
    private final int resources;

    // Where calls write and read: offsets in the structs above.
    private final int amountValue = amount.offset("value");
    private final int labelValue = label.offset("value");
    private final int selectorCount = pod.offset("node_selector_count");
    private final int boundTo = pod.offset("node_name");
    private final int candidates = decision.offset("candidates");
    private final int candidateCount = decision.offset("candidate_count");
    private final int candidateNode = new HeadroomLibrary.Candidate().offset("node");

    private Pointer engine; // null: closed

    /**
     * @param profile a KubeSchedulerConfiguration as YAML or JSON
     * @param resources names in Kubernetes' form: cpu, memory, example.org/name
     * @param labelKey of the label that every node has
     * @throws UnsatisfiedLinkError if libheadroom is not there or of another version
     */
    public Headroom(final String profile, final List<String> resources, final String labelKey) {
        HeadroomLibrary.load();
        this.resources = resources.size();
        // One entry more than pods have: nodes also say how many pods they take.
        amounts = new Memory((long) amount.size() * (this.resources + 1));
        amounts.clear();
        for (int r = 0; r < this.resources; ++r) writeResource(r, resources.get(r));
        writeResource(this.resources, "pods");

        label.key = text(labelKey);
        label.write();
        node.allocatable = amounts;
        node.allocatable_count = this.resources + 1;
        node.labels = label.getPointer();
        node.label_count = 1;
        node.write();
        pod.name = podName;
        pod.requests = amounts;
        pod.request_count = this.resources;
        pod.node_selector = label.getPointer();
        pod.write();
        decision.write();
        engine = create(profile);
    }

    private static Pointer create(final String profile) {
        final var made = new Memory(Native.POINTER_SIZE);
        final var message = new Memory(MESSAGE_BYTES);
        final int status = HeadroomLibrary.headroom_engine_create(
            utf8(profile), null, made, message, MESSAGE_BYTES);
        if (status != HeadroomLibrary.OK) {
            throw new HeadroomException(status, message.getString(0, "UTF-8"));
        }
        return made.getPointer(0);
    }

    /** A node after all others; its number. */
    public int addNode(final long[] allocatable, final String labelValue) {
        open();
        final int added = nodeNames.size();
        final Memory name = utf8("host-" + added);
        applyNode(name, allocatable, labelValue);
        nodeNames.add(name);
        final int number = HeadroomLibrary.headroom_find_node(engine, name);
        if (number != added) {
            throw new IllegalStateException("node %d has number %d in the engine".formatted(added, number));
        }
        return added;
    }

    /** Other amounts, another label: as if the node had been added so. */
    public void changeNode(final int node, final long[] allocatable, final String labelValue) {
        open();
        applyNode(nodeNames.get(node), allocatable, labelValue);
    }

    /** Its number is not given to another one as long as a pod is bound to it. */
    public void removeNode(final int node) {
        check(HeadroomLibrary.headroom_remove(
            open(), HeadroomLibrary.NODE, null, nodeNames.get(node)));
    }

    /** The best node for a pod among those with that label; {@link #NO_NODE} if none takes it. */
    public int evaluate(final long[] requests, final String labelValue) {
        open();
        writePod(ASKING, requests);
        label.getPointer().setPointer(this.labelValue, text(labelValue));
        pod.getPointer().setLong(selectorCount, 1);
        check(HeadroomLibrary.headroom_evaluate(engine, pod.getPointer(), 1, decision.getPointer()));
        final Pointer answer = decision.getPointer();
        if (answer.getLong(candidateCount) == 0) return NO_NODE;
        return answer.getPointer(candidates).getInt(candidateNode);
    }

    /** The pod counts on the node until {@link #forget}. */
    public void assume(final long number, final long[] requests, final int node) {
        open();
        writePod(number, requests);
        check(HeadroomLibrary.headroom_assume(engine, pod.getPointer(), nodeNames.get(node)));
    }

    /** Takes back {@link #assume} of that pod on that node. */
    public void forget(final long number, final int node) {
        open();
        writeName(number);
        check(HeadroomLibrary.headroom_forget(engine, null, podName, null, nodeNames.get(node)));
    }

    /** The pod is on the node from now on, with these requests in place of former ones. */
    public void bind(final long number, final long[] requests, final int node) {
        open();
        writePod(number, requests);
        pod.getPointer().setPointer(boundTo, nodeNames.get(node));
        check(HeadroomLibrary.headroom_apply_pod(engine, pod.getPointer()));
    }

    /** Has the engine recompute every sum; throws if one is not what it was. O(nodes + pods). */
    public void validate() {
        check(HeadroomLibrary.headroom_validate(open()));
    }

    /** Frees the engine. Again does nothing. */
    @Override
    public void close() {
        if (engine != null) HeadroomLibrary.headroom_engine_destroy(engine);
        engine = null;
    }

    public boolean isClosed() {
        return engine == null;
    }

    private Pointer open() {
        if (engine == null) throw new IllegalStateException("the engine is closed");
        return engine;
    }

    private void check(final int status) {
        if (status == HeadroomLibrary.OK) return;
        throw new HeadroomException(
            status, HeadroomLibrary.headroom_engine_error(engine).getString(0, "UTF-8"));
    }

    private void applyNode(final Memory name, final long[] allocatable, final String value) {
        writeAmounts(allocatable);
        amounts.setLong((long) amount.size() * resources + amountValue, PODS_MAX);
        label.getPointer().setPointer(labelValue, text(value));
        node.getPointer().setPointer(node.offset("name"), name);
        check(HeadroomLibrary.headroom_apply_node(engine, node.getPointer()));
    }

    // No node, no selector.
    private void writePod(final long number, final long[] requests) {
        writeName(number);
        writeAmounts(requests);
        pod.getPointer().setLong(selectorCount, 0);
        pod.getPointer().setPointer(boundTo, null);
    }

    private void writeAmounts(final long[] values) {
        if (values.length != resources) {
            throw new IllegalArgumentException("%d amounts of %d resources".formatted(values.length, resources));
        }
        for (int r = 0; r < resources; ++r) {
            amounts.setLong((long) amount.size() * r + amountValue, values[r]);
        }
    }

    private void writeResource(final int index, final String resource) {
        amounts.setPointer((long) amount.size() * index + amount.offset("resource"), text(resource));
    }

    private void writeName(final long number) {
        final String digits = Long.toString(number);
        for (int d = 0; d < digits.length(); ++d) podName.setByte(d, (byte) digits.charAt(d));
        podName.setByte(digits.length(), (byte) 0);
    }

    // Of labels and resources: a few, kept as long as this.
    private Memory text(final String text) {
        return texts.computeIfAbsent(text, Headroom::utf8);
    }

    private static Memory utf8(final String text) {
        final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        final var memory = new Memory(bytes.length + 1L);
        memory.write(0, bytes, 0, bytes.length);
        memory.setByte(bytes.length, (byte) 0);
        return memory;
    }
}
