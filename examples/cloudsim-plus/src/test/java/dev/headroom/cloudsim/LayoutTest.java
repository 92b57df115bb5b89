package dev.headroom.cloudsim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.jna.Structure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JNA's structs against the C compiler's, of the header in this repository. */
class LayoutTest {
    private static final Path HEADER = Path.of("../../c/headroom.h").toAbsolutePath().normalize();
    private static final Map<String, HeadroomLibrary.Struct> STRUCTS = Map.of(
        "headroom_pair", new HeadroomLibrary.Pair(), "headroom_amount", new HeadroomLibrary.Amount(),
        "headroom_pod", new HeadroomLibrary.Pod(), "headroom_node", new HeadroomLibrary.Node(),
        "headroom_candidate", new HeadroomLibrary.Candidate(), "headroom_decision", new HeadroomLibrary.Decision());

    @Test
    void offsetsAndSizesAreThoseOfC(@TempDir final Path directory) throws IOException, InterruptedException {
        final String cc = System.getenv().getOrDefault("CC", "cc");
        assumeTrue(run(directory, cc, "--version").status == 0, "skipped: no C compiler (" + cc + ")");
        final var program = new StringBuilder(
            "#include <stddef.h>\n#include <stdio.h>\n#include \"%s\"\nint main(void) {\n".formatted(HEADER));
        final var expected = new StringBuilder("ABI %d\n".formatted(HeadroomLibrary.ABI_VERSION));
        program.append("printf(\"ABI %d\\n\", HEADROOM_ABI_VERSION);\n");
        STRUCTS.forEach((name, struct) -> {
            for (final String field : fields(struct)) {
                program.append("printf(\"%1$s.%2$s %%zu\\n\", offsetof(%1$s, %2$s));\n".formatted(name, field));
                expected.append("%s.%s %d%n".formatted(name, field, struct.offset(field)));
            }
            program.append("printf(\"%1$s %%zu\\n\", sizeof(%1$s));\n".formatted(name));
            expected.append("%s %d%n".formatted(name, struct.size()));
        });
        program.append("}\n");
        Files.writeString(directory.resolve("layout.c"), program);
        final Ran compiled = run(directory, cc, "layout.c", "-o", "layout");
        assertEquals(0, compiled.status, compiled.output);
        assertEquals(expected.toString(), run(directory, directory.resolve("layout").toString()).output);
    }

    private static List<String> fields(final Structure struct) {
        return List.of(struct.getClass().getAnnotation(Structure.FieldOrder.class).value());
    }

    private record Ran(int status, String output) {
    }

    private static Ran run(final Path directory, final String... command) throws InterruptedException, IOException {
        try {
            final Process process = new ProcessBuilder(command).directory(directory.toFile())
                .redirectErrorStream(true).start();
            final String output = process.inputReader().lines().collect(Collectors.joining("\n", "", "\n"));
            return new Ran(process.waitFor(), output);
        } catch (final IOException error) {
            if (Stream.of(command).anyMatch("--version"::equals)) return new Ran(-1, error.getMessage());
            throw error;
        }
    }
}
