package dev.headroom.cloudsim;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.io.File;

/**
 * libheadroom's functions as headroom.h declares them, and its structs; no more than the policy
 * needs. size_t is a long, so this is for 64-bit machines, as Headroom is.
 *
 * <p>The library is the file that the system property {@value #PROPERTY} names; without it, the
 * one that the machine has installed.
 */
final class HeadroomLibrary {
    static final String PROPERTY = "headroom.library";
    /** HEADROOM_ABI_VERSION of the header that this was written against. */
    static final int ABI_VERSION = 2;
    static final int OK = 0;
    static final int NODE = 0; // headroom_kind
    static final int POD = 1;
    static final int NO_NODE = -1; // HEADROOM_NO_NODE

    /** A struct of headroom.h: JNA lays it out as C does. */
    public abstract static class Struct extends Structure {
        int offset(final String field) {
            return fieldOffset(field);
        }
    }

    @Structure.FieldOrder({"key", "value"})
    public static class Pair extends Struct {
        public Pointer key, value;
    }

    @Structure.FieldOrder({"resource", "value"})
    public static class Amount extends Struct {
        public Pointer resource;
        public long value;
    }

    @Structure.FieldOrder({"namespace_name", "name", "uid", "requests", "request_count",
        "limits", "limit_count", "node_selector", "node_selector_count", "node_name", "priority", "json", "json_size"})
    public static class Pod extends Struct {
        public Pointer namespace_name, name, uid, requests;
        public long request_count;
        public Pointer limits;
        public long limit_count;
        public Pointer node_selector;
        public long node_selector_count;
        public Pointer node_name;
        public int priority;
        public Pointer json;
        public long json_size;
    }

    @Structure.FieldOrder({"name", "allocatable", "allocatable_count", "labels", "label_count",
        "unschedulable", "json", "json_size"})
    public static class Node extends Struct {
        public Pointer name, allocatable;
        public long allocatable_count;
        public Pointer labels;
        public long label_count;
        public int unschedulable;
        public Pointer json;
        public long json_size;
    }

    @Structure.FieldOrder({"node", "total", "plugins", "plugin_count"})
    public static class Candidate extends Struct {
        public int node;
        public long total;
        public Pointer plugins;
        public long plugin_count;
    }

    @Structure.FieldOrder({"code", "nodes", "feasible", "candidates", "candidate_count", "message"})
    public static class Decision extends Struct {
        public int code, nodes, feasible;
        public Pointer candidates;
        public long candidate_count;
        public Pointer message;
    }

    static native int headroom_abi_version();

    static native int headroom_engine_create(Pointer profile, Pointer options, Pointer engine,
                                             Pointer message, long messageSize);

    static native void headroom_engine_destroy(Pointer engine);

    static native Pointer headroom_engine_error(Pointer engine);

    static native int headroom_apply_node(Pointer engine, Pointer node);

    static native int headroom_apply_pod(Pointer engine, Pointer pod);

    static native int headroom_remove(Pointer engine, int kind, Pointer namespaceName, Pointer name);

    static native int headroom_assume(Pointer engine, Pointer pod, Pointer nodeName);

    static native int headroom_forget(Pointer engine, Pointer namespaceName, Pointer name,
                                      Pointer uid, Pointer nodeName);

    static native int headroom_evaluate(Pointer engine, Pointer pod, int topK, Pointer decision);

    static native int headroom_find_node(Pointer engine, Pointer name);

    static native int headroom_validate(Pointer engine);

    private static UnsatisfiedLinkError failure;

    static {
        try {
            Native.register(HeadroomLibrary.class, open(System.getProperty(PROPERTY, "")));
            check();
        } catch (final UnsatisfiedLinkError error) {
            failure = error; // thrown by load(): what a static initialiser throws loses its text
        }
    }

    private HeadroomLibrary() {
    }

    /** @throws UnsatisfiedLinkError with what to do, if the library cannot be used */
    static void load() {
        if (failure != null) throw new UnsatisfiedLinkError(failure.getMessage());
    }

    private static NativeLibrary open(final String path) {
        if (!path.isEmpty() && !new File(path).isFile()) {
            throw new UnsatisfiedLinkError("%s: %s is no file; build it with: tools/build release headroom_c"
                .formatted(PROPERTY, path));
        }
        try {
            return NativeLibrary.getInstance(path.isEmpty() ? "headroom" : path);
        } catch (final UnsatisfiedLinkError error) {
            throw new UnsatisfiedLinkError(("%s; build it with: tools/build release headroom_c, and name it with: "
                + "-D%s=build/release/c/libheadroom.so").formatted(error.getMessage(), PROPERTY));
        }
    }

    private static void check() {
        if (Native.POINTER_SIZE != Long.BYTES) {
            throw new UnsatisfiedLinkError("Headroom is for 64-bit machines");
        }
        final int version = headroom_abi_version();
        if (version != ABI_VERSION) {
            throw new UnsatisfiedLinkError("libheadroom has ABI version %d; this was written for version %d"
                .formatted(version, ABI_VERSION));
        }
    }
}
