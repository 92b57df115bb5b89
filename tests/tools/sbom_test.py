#!/usr/bin/env python3
"""The software bill of materials is SPDX 2.3, names the program by its checksum, and forgets nothing.

    tests/tools/sbom_test.py SBOM HEADROOMD

Every Debian package whose library the loader finds for headroomd is in it, and every component of NOTICE
that is installed and linked. With the package spdx-tools (pip) its validator reads it as well.
"""
import hashlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main() -> None:
    sbom, program = (pathlib.Path(argument) for argument in sys.argv[1:])
    document = json.loads(sbom.read_text())
    assert document["spdxVersion"] == "SPDX-2.3" and document["SPDXID"] == "SPDXRef-DOCUMENT"
    packages = {package["SPDXID"]: package for package in document["packages"]}
    assert len(packages) == len(document["packages"]), "an id comes twice"
    for relation in document["relationships"]:
        for end in (relation["spdxElementId"], relation["relatedSpdxElement"]):
            assert end in packages or end == "SPDXRef-DOCUMENT", end

    own = packages["SPDXRef-program-headroomd"]
    assert own["checksums"][0]["checksumValue"] == hashlib.sha256(program.read_bytes()).hexdigest()
    parts = {packages[relation["relatedSpdxElement"]]["name"]: packages[relation["relatedSpdxElement"]]
             for relation in document["relationships"] if relation["spdxElementId"] == own["SPDXID"]}
    loaded = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for library, package in (("libtbb.so", "libtbb"), ("libssl.so", "libssl"), ("libfmt.so", "libfmt")):
        if library in loaded:
            assert any(name.startswith(package) for name in parts), f"{package} is not named"
    # Of what NOTICE names, all that was compiled in has a licence here.
    for name in ("libxsimd-dev", "robin-map-dev", "libflatbuffers-dev"):
        assert parts[name]["licenseConcluded"] != "NOASSERTION", name
    # A component of NOTICE that tools/setup does not install would be a row about nothing.
    setup = (ROOT / "tools" / "setup").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in (ROOT / "NOTICE").read_text().splitlines()]
    for row in rows:
        if len(row) == 4 and row[1].endswith("-dev"):
            assert row[1] in setup, f"NOTICE: {row[1]} is not installed by tools/setup"
    try:
        from spdx_tools.spdx.parser.parse_anything import parse_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        print("not held against spdx-tools, which is not installed")
        return
    messages = validate_full_spdx_document(parse_file(str(sbom)))
    assert not messages, messages


if __name__ == "__main__":
    main()
