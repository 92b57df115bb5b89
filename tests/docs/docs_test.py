#!/usr/bin/env python3
"""The pages say what is there: links, files, commands and their options, output, profiles, arguments, annotations.

    tests/docs/docs_test.py SOURCE-DIRECTORY HEADROOM HEADROOMD

Of README.md, the other pages beside it, docs/ and the READMEs below: every relative link has a target; files and
folders that are named are there; every command that is named (headroom, headroomd, a script of ours) exists and takes
the options that it is given; what follows `$ headroom ...` is what that prints (`...`: lines left out); code under a
comment that names its file stands there; every profile that is shown can be read, and the standard profile decides as
none does. docs/configuration.md has every argument that the readers know, asked of the program itself by arguments
that are wrong, and every annotation; docs/limits.md every limit that a header of the product names. Standard library
only.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

PAGES = ["*.md", "docs/*.md", "schema/README.md", "python/README.md", "data/README.md", "examples/*/README.md"]
LINES_MAX = {"README.md": 150}
# Options of a page's commands that belong to what a script runs, not to the script.
SCRIPTS = re.compile(r"(?:tools|bench|tests|deploy|examples)/[\w./-]*[\w-]$")
FILES = re.compile(r"(?:kernels|objects|layout|autoscaling|engine|schema|server|c|client|shim|simulation|workloads|tools|"
                   r"python|bench|tests|data|deploy|examples|cmake|docs)/[\w./-]+")
# Headers with a row of their own in docs/limits.md, and constants that limit nothing a user could meet.
LIMITS = ("objects/limits.h", "schema/limits.h")
INNER = {"kSumMax": "below it arithmetic is exact, above it another one is used",
         "kPackCodesMax": "of a longer list the first ones are looked at",
         "kQuantityNanosMax": "above any quantity that int64 holds, for readers of bytes",
         "kPlainScoreMax": "the greatest score there is",
         "kUpstreamDigitsMax": "of upstream's arithmetic, which conformance compares with"}
PRODUCT = ("kernels", "objects", "layout", "engine", "autoscaling", "c", "schema", "client", "server", "workloads",
           "simulation", "tools", "python")
PROFILE = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: %s, args: %s}]}]
"""
HEADROOM_CONFIGURATION = "apiVersion: headroom/v1alpha1\nkind: HeadroomConfiguration\n"


class Pages:
    def __init__(self, source, headroom, headroomd):
        self.source, self.faults, self.checked = source, [], {}
        self.programs = {"headroom": headroom, "headroomd": headroomd}
        self.helps = {}
        self.texts = {path: path.read_text() for pattern in PAGES for path in sorted(source.glob(pattern))}
        self.anchors = {path: headings(text) for path, text in self.texts.items()}

    def fault(self, path, text):
        self.faults.append(f"{path.relative_to(self.source)}: {text}")

    def count(self, what):
        self.checked[what] = self.checked.get(what, 0) + 1

    # --- Links ---

    def check_links(self, path, text):
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"[a-z]+:", link):
                continue
            self.count("links")
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                self.fault(path, f"the link {link} leads nowhere")
            elif anchor and anchor not in self.anchors.get(target, ()):
                self.fault(path, f"the link {link}: no such heading")

    # --- Commands ---

    def help(self, words):
        """What the command says of itself, or None where it does not know the words."""
        if words not in self.helps:
            done = subprocess.run([self.programs[words[0]], *words[1:], "--help"], capture_output=True, text=True)
            self.helps[words] = done.stdout if done.returncode == 0 else None
        return self.helps[words]

    def check_program(self, path, words):
        command = (words[0],)
        rest = words[1:]
        # Subcommands are what its help lists, as long as there are any.
        while rest and (listed := re.search(r"^Subcommands:\n((?: .*\n)+)", self.help(command), re.M)):
            names = re.findall(r"^  (\S+)", listed[1], re.M)
            if rest[0] not in names:
                if re.fullmatch(r"[a-z][a-z-]*", rest[0]):
                    self.fault(path, f"`{' '.join(words)}`: {command[-1]} has no command {rest[0]}")
                break
            command, rest = (*command, rest[0]), rest[1:]
        self.count("commands")
        for option in rest:
            if option.startswith("--"):
                self.count("options")
                if not re.search(rf"(?<![\w-]){re.escape(option.partition('=')[0])}(?![\w-])", self.help(command)):
                    self.fault(path, f"`{' '.join(words)}`: {' '.join(command)} has no option {option}")

    def check_script(self, path, words):
        script = self.source / words[0]
        self.count("commands")
        if not script.exists():
            self.fault(path, f"`{' '.join(words)}`: there is no {words[0]}")
            return
        if words[0] == "tools/test":
            steps = re.findall(r"^step_([\w-]+)\(\)", script.read_text(), re.M)
            for step in words[1:]:
                if step not in steps:
                    self.fault(path, f"`{' '.join(words)}`: tools/test has no step {step}")
        elif script.is_file():
            for option in words[1:]:
                # headroom_bench reads the options of bench/run, and Go's flags are not declared with dashes.
                known = script.read_text() + (self.source / "bench/main.cpp").read_text() * (words[0] == "bench/run")
                if option.startswith("--") and words[0] != "tools/go" and option.partition("=")[0] not in known:
                    self.fault(path, f"`{' '.join(words)}`: {words[0]} knows no {option}")

    def check_command(self, path, line):
        for words in commands_of(line):
            name = words[0].removeprefix("build/release/bin/").removeprefix("build/dev/bin/")
            if name in self.programs:
                self.check_program(path, [name, *words[1:]])
            elif SCRIPTS.fullmatch(words[0]):
                self.check_script(path, words)

    def check_commands(self, path, text):
        for language, block in code_blocks(text):
            if language in ("", "sh", "console"):
                joined = block.replace("\\\n", " ")
                for line in joined.split("\n"):
                    self.check_command(path, line.removeprefix("$ "))
            if language in ("", "console") and block.startswith("$ headroom "):
                self.check_output(path, block)
            if quoted := re.match(r"(?://|#) ([\w./-]+\.(?:cpp|h|cmake)|data/[\w-]+\.yaml)\n", block):
                self.count("quotations")
                quoted_file = self.source / quoted[1]
                if not quoted_file.exists():
                    self.fault(path, f"there is no {quoted[1]}")
                elif block[quoted.end():] not in quoted_file.read_text():
                    self.fault(path, f"{quoted[1]} does not have what is quoted of it")
        for span in re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", without_blocks(text)):
            self.check_command(path, span.replace("\n", " "))
            # A file or folder of ours; a pair of header and source goes without its ending.
            if FILES.fullmatch(span):
                self.count("files")
                if not (self.source / span).exists() and not list(self.source.glob(f"{span}.*")):
                    self.fault(path, f"there is no {span}")

    def check_output(self, path, block):
        for command, said in re.findall(r"^\$ (headroom .*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            self.count("outputs")
            words = shlex.split(command)
            done = subprocess.run([self.programs["headroom"], *words[1:]], capture_output=True, text=True,
                                  cwd=self.source)
            printed, wanted = plain(done.stdout + done.stderr), plain(said)
            if "..." in wanted:  # an excerpt: these lines, in this order
                rest = iter(printed)
                missing = [line for line in wanted if line != "..." and line not in rest]
                if missing:
                    self.fault(path, f"`{command}` does not print, or not there: {missing[0]}")
            elif printed != wanted:
                self.fault(path, f"`{command}` prints something else:\n{done.stdout}{done.stderr}")

    # --- Profiles ---

    def simulate(self, directory, *arguments):
        out = pathlib.Path(directory) / "decisions.jsonl"
        done = subprocess.run([self.programs["headroom"], "simulate", "--nodes", "60", "--pods", "2000",
                               "--no-departures", "--metrics-every", "60", *arguments, "--out", out],
                              capture_output=True, text=True)
        return done.stderr if done.returncode else None, out.read_text() if out.exists() else ""

    def check_header_profiles(self, directory):
        for path in sorted(self.source.glob("engine/**/*.h")):
            for lines in re.findall(r"^//   apiVersion: .*\n(?://   .*\n)+", path.read_text(), re.M):
                block = re.sub(r"^//   ", "", lines, flags=re.M)
                self.check_profiles(path, f"```yaml\n{block}```\n", directory)

    def check_profiles(self, path, text, directory):
        config = pathlib.Path(directory) / "profile.yaml"
        for language, block in code_blocks(text):
            if language != "yaml" or "kind: KubeSchedulerConfiguration" not in block or "name: Headroom" in block:
                continue
            # simulate takes one profile a file.
            head, *profiles = re.split(r"^(?=- schedulerName:)", block, flags=re.M)
            for one in [head + profile for profile in profiles] if len(profiles) > 1 else [block]:
                self.count("profiles")
                config.write_text(one)
                error, decisions = self.simulate(directory, "--config", str(config))
                if error:
                    self.fault(path, f"a profile cannot be used: {error}")
                elif "schedulerName: default-scheduler" in one and decisions != self.simulate(directory)[1]:
                    self.fault(path, "the standard profile decides otherwise than no profile")

    # --- Arguments and annotations ---

    def refused(self, directory, profile, what="unknown field"):
        """What would be accepted in the place of what is wrong in the profile."""
        config = pathlib.Path(directory) / "wrong.yaml"
        config.write_text(profile)
        error, _ = self.simulate(directory, "--config", str(config))
        found = re.search(f"{what}; accepted: (.*)", error or "")
        return found[1].split(", ") if found else []

    def arguments(self, directory, plugin):
        """Every field that the reader of the plugin's arguments knows, below others with a dot."""
        known = []

        def ask(prefix, wrap):
            for name in self.refused(directory, PROFILE % (plugin, json.dumps(wrap({"wrong": 1})))):
                if not prefix and name in ("apiVersion", "kind"):
                    continue
                known.append(prefix + name)
                for inner in ({"wrong": 1}, [{"wrong": 1}]):
                    deeper = self.refused(directory, PROFILE % (plugin, json.dumps(wrap({name: inner}))))
                    if not deeper:
                        continue
                    if isinstance(inner, dict):
                        ask(f"{prefix}{name}.", lambda value, name=name: wrap({name: value}))
                    else:
                        known.extend(f"{prefix}{name}.{field}" for field in deeper)

        ask("", lambda value: value)
        return known

    def check_arguments(self, directory):
        path = self.source / "docs/configuration.md"
        sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", self.texts[path], re.M | re.S))
        plugins = self.refused(directory, PROFILE % ("wrong", "{}"), "is not known")
        asked = {plugin: self.arguments(directory, plugin) for plugin in plugins}
        if sum(map(bool, asked.values())) < 10:
            self.fault(path, "too few plugins with arguments were found by asking")
        for plugin, known in asked.items():
            rows = set(re.findall(r"^\| `([\w.]+)` \|", sections.get(plugin, ""), re.M))
            for name in known:
                self.count("arguments")
                # One row for what stands in one list or object, and for what has fields of its own.
                parts = name.split(".")
                within = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
                shown = within & rows or any(row.startswith(f"{name}.") for row in rows)
                if not shown:
                    self.fault(path, f"{plugin}: the argument {name} is not there")
            for row in rows - set(known):
                self.fault(path, f"{plugin} has no argument {row}")
        known = self.refused(directory, HEADROOM_CONFIGURATION + "wrong: 1\n")
        for name in set(known) - {"apiVersion", "kind"}:
            if f"| `{name}` |" not in sections.get("HeadroomConfiguration", ""):
                self.fault(path, f"HeadroomConfiguration: {name} is not there")
        if "mode" not in known:
            self.fault(path, "HeadroomConfiguration: no fields were found by asking")
        args = (self.source / "shim/plugin/args.go").read_text()
        for name in re.findall(r'`json:"(\w+),omitempty"`', args):
            self.count("arguments")
            if f"| `{name}` |" not in self.texts[self.source / "docs/scheduling.md"]:
                self.fault(self.source / "docs/scheduling.md", f"the plugin's argument {name} is not there")

    def check_annotations(self):
        path = self.source / "docs/configuration.md"
        source = (self.source / "objects/annotations.h").read_text()
        names = re.findall(r'"([\w.-]+/[\w-]+)"', source)
        for file in self.source.glob("engine/**/load_estimate.*"):
            names += re.findall(r'"(koordinator\.sh/[\w-]+)"', file.read_text())
        for name in names:
            self.count("annotations and labels")
            if f"| `{name}` |" not in self.texts[path]:
                self.fault(path, f"{name} is not there")
        if len(names) < 10:
            self.fault(path, "too few annotations were found in objects/annotations.h")

    def check_limits(self):
        path = self.source / "docs/limits.md"
        for header in (header for folder in PRODUCT for header in sorted((self.source / folder).rglob("*.h"))):
            if str(header.relative_to(self.source)) in LIMITS:
                continue
            for name in re.findall(r"^inline constexpr .*?\b(k\w+Max)\b(?= =|\{)", header.read_text(), re.M):
                self.count("limits")
                if f"`{name}`" not in self.texts[path] and name not in INNER:
                    self.fault(path, f"{name} of {header.relative_to(self.source)} is not there")

    def check_manifests(self):
        path = self.source / "docs/scheduling.md"
        if (self.source / "deploy/rbac.yaml").read_text() not in self.texts[path]:
            self.fault(path, "deploy/rbac.yaml is not shown as it is")
        rules = [re.findall(r"- apiGroups: .*\n  resources: .*\n(?:  resourceNames: .*\n)?  verbs: .*",
                            re.sub(r"\{\{ \$name \}\}", "headroom", (self.source / file).read_text()))
                 for file in ("deploy/rbac.yaml", "deploy/chart/templates/rbac.yaml")]
        if not rules[0] or rules[0] != rules[1]:
            self.fault(path, "deploy/rbac.yaml and the chart give other rights")

    def check(self):
        with tempfile.TemporaryDirectory() as directory:
            for path, text in self.texts.items():
                lines = LINES_MAX.get(str(path.relative_to(self.source)))
                if lines and text.count("\n") > lines:
                    self.fault(path, f"{text.count(chr(10))} lines, and at most {lines} are wanted")
                self.check_links(path, text)
                if path.name != "CHANGELOG.md":  # says what was
                    self.check_commands(path, text)
                self.check_profiles(path, text, directory)
            self.check_header_profiles(directory)
            self.check_arguments(directory)
        self.check_annotations()
        self.check_limits()
        self.check_manifests()
        for what in ("links", "commands", "options", "outputs", "profiles", "quotations", "arguments", "limits"):
            if not self.checked.get(what):
                self.faults.append(f"no {what} were found")


def headings(text):
    """Anchors, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()).strip().replace(" ", "-")
            for title in re.findall(r"^#+ (.*)", without_blocks(text), re.M)}


def code_blocks(text):
    """[(language, code)]; blocks of a list are set in."""
    return [(language, textwrap.dedent(code))
            for _, language, code in re.findall(r"^( *)```(\w*)\n(.*?)^\1```", text, re.M | re.S)]


def without_blocks(text):
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.M | re.S)


def without_code(text):
    return re.sub(r"`[^`]*`", "", without_blocks(text))


def plain(text):
    return [line.rstrip() for line in text.strip().split("\n")]


def commands_of(line):
    """Its simple commands, as words, without redirections; comments and what is set before them left out."""
    line = re.split(r"\s#\s|\s{3,}", line, maxsplit=1)[0]
    for part in re.split(r"\s*(?:\||&&|;)\s*", line):
        part = re.sub(r"\s[12]?>>?\s*\S+|\s<\s*\S+", "", part)
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]
        if words:
            yield words


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, *programs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    pages = Pages(source, *programs)
    pages.check()
    for fault in pages.faults:
        print(fault)
    if pages.faults:
        sys.exit(1)
    print(f"{len(pages.texts)} pages: " + ", ".join(f"{count} {what}" for what, count in pages.checked.items()))


if __name__ == "__main__":
    main()
