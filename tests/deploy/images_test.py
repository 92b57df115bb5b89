#!/usr/bin/env python3
"""The images of deploy/Containerfile: built without a registry, looked through, and run.

  tests/deploy/images_test.py HEADROOM

HEADROOM is the command, which asks the image's headroomd. The base is made by debootstrap from the mirror that apt
uses here, and given by digest, as a release gives its own. Each image holds its program, the libraries that this
loads and its SBOM, which leaves none of it out; a user without rights runs it on a root that is read-only. Takes
root, buildah and debootstrap; else skipped (exit code 77). All it makes is in build/images, some 5 GB.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "images"
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
VERSION = re.search(r"VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1]).group(1)
USER = "65532:65532"
PATIENCE_SECONDS = 30
BUILDAH = ("buildah", "--root", PLACE / "storage", "--runroot", PLACE / "run")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout.strip()


def buildah(*arguments):
    return output(*BUILDAH, *arguments)


def logged(log, *command):
    """For what says much and takes long: its end is printed if it fails."""
    path = PLACE / log
    with open(path, "w") as file:
        if subprocess.run(command, stdout=file, stderr=file, cwd=ROOT).returncode != 0:
            sys.exit(path.read_text()[-5000:] + f"\n{command[0]} failed; all it said is in {path}")


@contextlib.contextmanager
def opened(image):
    """The files of a container made from the image."""
    container = buildah("from", "--pull-never", image)
    yield pathlib.Path(buildah("mount", container))
    buildah("rm", container)


def mirrors():
    """Where apt gets Debian from, by label: Debian, Debian-Security."""
    listed = output("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages",
                    "Origin: Debian")
    return dict(line.split() for line in listed.splitlines())


def make_base(mirror_of):
    """A Debian by the name that the Containerfile asks for; returns its name by digest."""
    name, suite = re.search(r"^ARG BASE=(\S+):(\S+)$", CONTAINERFILE.read_text(), re.MULTILINE).groups()
    container = buildah("from", "scratch")
    root = pathlib.Path(buildah("mount", container))
    logged("debootstrap.log", "debootstrap", "--variant=minbase", suite, root, mirror_of["Debian"])
    sources = [f"{mirror_of['Debian']} {suite}", f"{mirror_of['Debian']} {suite}-updates"]
    if "Debian-Security" in mirror_of:
        sources.append(f"{mirror_of['Debian-Security']} {suite}-security")
    (root / "etc/apt/sources.list").write_text("".join(f"deb {source} main\n" for source in sources))
    # Whom this machine trusts beside the usual, as where a proxy stands before the Go modules.
    certificates = pathlib.Path("/usr/local/share/ca-certificates")
    if certificates.is_dir():
        shutil.copytree(certificates, root / certificates.relative_to("/"), dirs_exist_ok=True)
    buildah("commit", "--quiet", "--rm", container, f"{name}:{suite}")
    return f"{name}@" + json.loads(buildah("inspect", "--type", "image", f"{name}:{suite}"))["FromImageDigest"]


def build(target, base, revision):
    logged(f"{target}.log", *BUILDAH, "build", "--isolation", "chroot", "--layers", "--pull-never",
           "--target", target, "--build-arg", f"BASE={base}", "--build-arg", f"REVISION={revision}",
           "-f", CONTAINERFILE, "-t", target, ROOT)


def config_of(image):
    return json.loads(buildah("inspect", "--type", "image", image))["OCIv1"]["config"]


def check_config(target, revision):
    config = config_of(target)
    assert config["User"] == USER, config
    assert config["Entrypoint"] == [f"/usr/bin/{target}"], config
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
    assert labels.pop("description"), "no description"
    labels.pop("io.buildah.version", None)
    assert labels == {"title": target, "version": VERSION, "revision": revision, "licenses": "Apache-2.0",
                      "authors": "The Headroom authors"}, labels


def files_of(root):
    """Every file, by its path in the image; all are root's, and nobody else may write anything."""
    files = set()
    for path in root.rglob("*"):
        status, name = path.lstat(), "/" + str(path.relative_to(root))
        assert stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode), f"{name} is neither file nor directory"
        assert (status.st_uid, status.st_gid) == (0, 0), f"{name} is not root's"
        assert not status.st_mode & 0o7022, f"{name} has mode {status.st_mode:o}"
        assert "security.capability" not in os.listxattr(path), f"{name} has capabilities"
        if stat.S_ISREG(status.st_mode):
            files.add(name)
    return files


def loaded_by(root, program, files):
    """What the program and its libraries ask the loader for, and the loader: paths in the image."""
    path_of = {os.path.basename(name): name for name in files}
    found, asked = set(), [program]
    while asked:
        said = output("readelf", "--dynamic", "--program-headers", "--wide", f"{root}{asked.pop()}")
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]|interpreter: .*/(.+)\]", said):
            name = "".join(name)
            assert name in path_of, f"{name} is not in the image"
            if path_of[name] not in found:
                found.add(path_of[name])
                asked.append(path_of[name])
    return found


def debian_parts(tools, root, libraries):
    """The Debian packages of the libraries, as the system that they were copied from knows them."""
    parts = set()
    for library in libraries:
        real = output("chroot", tools, "realpath", library)
        assert (tools / real[1:]).read_bytes() == (root / library[1:]).read_bytes(), f"{library} is another"
        # A merged /usr: packages name either path.
        names = {variant for name in (library, real) for variant in (name, name.removeprefix("/usr"), "/usr" + name)}
        owners = subprocess.run(["chroot", tools, "dpkg-query", "-S", *names], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True).stdout
        assert owners, f"{library} is of no package"
        package = owners.split(":")[0]
        version = output("chroot", tools, "dpkg-query", "-W", "-f", "${Version}", package)
        parts.add(f"pkg:deb/debian/{package}@{version}")
    return parts


def go_parts(program):
    """The modules that Go finds in the program, and Go's own library."""
    said = output("tools/go", "version", "-m", program)
    modules = re.findall(r"^\s+(?:dep|=>)\s+(\S+)\s+(v\S+)", said, re.MULTILINE)
    return {f"pkg:golang/{module}@{version}" for module, version in modules} | {
        "pkg:golang/stdlib@" + re.search(r": go(\S+)", said).group(1)}


def check_contents(target, root, tools):
    program, sbom = f"/usr/bin/{target}", f"/usr/share/sbom/{target}.spdx.json"
    files = files_of(root)
    libraries = loaded_by(root, program, files)
    more = files - libraries - {program, sbom}
    assert not more, f"more than the program needs: {more}"

    document = json.loads((root / sbom[1:]).read_text())
    own, = (package for package in document["packages"] if package["name"] == target)
    binary = root / program[1:]
    assert own["checksums"][0]["checksumValue"] == hashlib.sha256(binary.read_bytes()).hexdigest()
    listed = {reference["referenceLocator"].partition("?")[0] for package in document["packages"]
              for reference in package.get("externalRefs", [])}
    parts = debian_parts(tools, root, libraries) if libraries else go_parts(binary)
    assert parts <= listed, f"not in the SBOM: {parts - listed}"
    mebibytes = sum((root / name[1:]).stat().st_size for name in files) / 2**20
    print(f"{target}: {mebibytes:.0f} MiB, {len(libraries)} libraries; the SBOM has {len(listed)} parts, among them "
          f"all {len(parts)} that its files are of")


def command_in(root, sockets, program, *arguments):
    """As the chart runs it: the image's user without capabilities, a read-only root, a directory for the socket."""
    return ["unshare", "--mount", "sh", "-euc", """
        user=$0 root=$1 sockets=$2
        shift 2
        mount --bind "$root" "$root"
        mount --bind "$sockets" "$root/run/headroom"
        mount -t proc proc "$root/proc"
        mount -o remount,bind,ro "$root"
        exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" "$@"
        """, USER, root, sockets, program, *arguments]


def is_answered(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status == 200
    except OSError:
        return False


def serve(root, sockets, headroom):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = subprocess.Popen(command_in(root, sockets, "/usr/bin/headroomd", "--metrics", f"127.0.0.1:{port}",
                                         "--listen", "unix:///run/headroom/headroom.sock"))
    try:
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_answered(port, "/healthz"):
            assert daemon.poll() is None and time.monotonic() < end, "headroomd is not healthy"
            time.sleep(0.05)
        status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
        for line in (r"Uid:(\s65532){4}$", r"Gid:(\s65532){4}$", r"Groups:\s*$", r"CapEff:\s0+$", r"NoNewPrivs:\s1$"):
            assert re.search(f"^{line}", status, re.MULTILINE), f"{line} is not in {status}"
        # Facts of a cluster, and answers that an engine in process gives as well.
        subprocess.run([headroom, "load", "--endpoint", f"unix://{sockets}/headroom.sock", "--replace-facts",
                        "--no-echo", "--nodes", "500", "--seconds", "1"], check=True)
        assert is_answered(port, "/metrics")
        daemon.terminate()
        assert daemon.wait(PATIENCE_SECONDS) == 0
    finally:
        daemon.kill()


def run(target, root, headroom):
    # What a runtime mounts upon.
    for mount in ("proc", "run/headroom"):
        (root / mount).mkdir(parents=True)
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        sockets = pathlib.Path(directory) / "sockets"
        sockets.mkdir()
        os.chown(sockets, *map(int, USER.split(":")))
        program = config_of(target)["Entrypoint"][0]
        print(output(*command_in(root, sockets, program, "--version")))
        assert "--config" in output(*command_in(root, sockets, program, "--help"))
        if target == "headroomd":
            serve(root, sockets, headroom)
        assert not list(sockets.iterdir()), "it left something behind"
    assert before == {path: path.lstat().st_mtime_ns for path in root.rglob("*")}, "it wrote into its root"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    headroom = pathlib.Path(sys.argv[1]).resolve()
    if os.geteuid() != 0:
        skip("not root")
    for program in ("buildah", "debootstrap"):
        if not shutil.which(program):
            skip(f"no {program}")
    mirror_of = mirrors()
    if "Debian" not in mirror_of:
        skip("apt's lists name no mirror of Debian")

    # What buildah mounts is gone when this ends, however it ends.
    if sys.argv[2:] != ["apart"]:
        os.execvp("unshare", ["unshare", "--mount", sys.executable, __file__, sys.argv[1], "apart"])

    # Anew each time: images of yesterday's packages say nothing of today's.
    shutil.rmtree(PLACE, ignore_errors=True)
    os.environ["TMPDIR"] = str(PLACE / "tmp")
    (PLACE / "tmp").mkdir(parents=True)
    seconds_before = time.monotonic()

    def lap(what):
        nonlocal seconds_before
        now = time.monotonic()
        print(f"{what}: {now - seconds_before:.0f} s")
        seconds_before = now

    base = make_base(mirror_of)
    lap(f"{base} made")
    revision = output("git", "rev-parse", "HEAD")
    # Both programs are built in this one; the layers of it are kept.
    build("tools", base, revision)
    lap("tools built")
    with opened("tools") as tools:
        for target in ("headroomd", "kube-scheduler-headroom"):
            build(target, base, revision)
            lap(f"{target} built")
            check_config(target, revision)
            with opened(target) as root:
                check_contents(target, root, tools)
                run(target, root, headroom)
            lap(f"{target} looked through and run")


if __name__ == "__main__":
    main()
