#!/usr/bin/env python3
"""The rules of the tree that a compiler does not check. Prints every line that breaks one.

  tests/structure_test.py SOURCE-DIRECTORY

Rooms are folders, or single files of a folder. Each includes itself and, of the rooms above it in the
table, those that its line names; so no arrow runs up, and none in a circle.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

# Room: what it may include. A name stands for all rooms that begin so.
ROOMS = {
    'objects/assert.h': [],
    'kernels': ['objects/assert.h'],
    'objects/error.h': [],
    'objects/int128.h': [],
    'objects/text': ['objects/error.h', 'objects/int128.h'],
    'objects': ['objects'],
    'objects/yaml': ['objects'],
    'objects/reading': ['objects'],
    'objects/writing': ['objects'],
    'layout': ['objects'],
    'engine/limits.h': [],
    'engine/profile': ['objects', 'engine/limits.h'],
    'engine/options.h': ['objects'],
    'engine/answers.h': ['objects', 'engine/limits.h', 'engine/profile'],
    'engine/kept': ['objects', 'engine/limits.h', 'engine/profile'],
    'engine/table': ['kernels', 'objects', 'layout', 'engine'],
    'engine/policies': ['kernels', 'objects', 'layout', 'engine'],
    'engine/quotas': ['objects', 'layout', 'engine'],
    'engine/classes': ['objects', 'layout', 'engine'],
    'engine/domains': ['objects', 'layout', 'engine/kept', 'engine/table'],
    'engine/applications': ['kernels', 'objects', 'layout', 'engine'],
    'engine/cluster': ['kernels', 'objects', 'layout', 'engine'],
    'engine/decide': ['kernels', 'objects', 'layout', 'engine'],
    'engine/state': ['objects', 'engine/profile', 'engine/kept', 'engine/table', 'engine/cluster'],
    'engine/preempt': ['kernels', 'objects', 'layout', 'engine'],
    'engine': ['objects', 'engine'],
    'autoscaling': ['objects', 'layout'],
    'c': ['objects', 'engine', 'autoscaling', 'c/headroom.h'],
    'schema': ['objects'],
    'client': ['objects', 'schema'],
    'server/peer.h': [],
    'server/log_function.h': [],
    'server/frame_handler.h': ['objects/error.h', 'schema', 'server/peer.h'],
    'server/process_metrics.h': [],
    'server/quota_metrics.h': ['engine', 'autoscaling'],
    'server/metrics.h': ['engine', 'autoscaling', 'schema', 'server/process_metrics.h', 'server/quota_metrics.h'],
    'server/requests': ['objects', 'autoscaling', 'schema'],
    'server/answers': ['objects', 'engine', 'autoscaling', 'schema', 'server/peer.h'],
    'server/service': ['objects', 'layout', 'engine', 'autoscaling', 'schema', 'server'],
    'server/sockets': ['objects', 'schema', 'server'],
    'server': ['objects', 'engine', 'autoscaling', 'schema', 'server'],
    'workloads': ['objects'],
    'simulation/text': ['objects'],
    'simulation/autoscaler': ['objects', 'engine', 'autoscaling'],
    'simulation/input': ['objects', 'engine', 'workloads', 'simulation/text'],
    'simulation/figures': ['objects', 'engine', 'workloads', 'simulation/autoscaler'],
    'simulation': ['objects', 'engine', 'autoscaling', 'workloads', 'simulation'],
    'simulation/report': ['kernels', 'objects', 'simulation'],
    'tools/load': ['objects', 'engine', 'autoscaling', 'schema', 'client', 'server/sockets', 'workloads',
                   'simulation/text'],
    'tools/capacity_quota': ['objects', 'autoscaling', 'simulation'],
    'tools/conformance/upstream': ['objects', 'autoscaling'],
    'tools/conformance': ['objects', 'engine', 'autoscaling', 'tools/conformance'],
    'tools/command': ['objects', 'engine', 'workloads', 'simulation', 'tools'],
    'python': ['kernels', 'objects', 'engine', 'autoscaling', 'workloads', 'simulation'],
    # Of the product: plain values, no function.
    'tests/oracle': ['objects/error.h', 'objects/objects.h'],
}
# What knows everything, and is known by nobody.
TOP = ('bench', 'tests')
PRODUCT = ('kernels', 'objects', 'layout', 'engine', 'autoscaling', 'c', 'schema', 'client', 'server', 'workloads',
           'simulation', 'tools', 'python')
# Of other libraries: what only these rooms may include.
LIBRARIES = {
    r'tbb/': ('engine', 'bench', 'tests'),
    r'flatbuffers/': ('schema', 'client', 'server', 'tools/load', 'bench', 'tests'),
    r'(boost/)?asio': ('client', 'server', 'tools/load', 'bench', 'tests'),
    r'(sys/socket|netinet/)': ('schema', 'client', 'server', 'tools/load', 'bench', 'tests'),
    r'CLI/': ('server', 'tools', 'bench', 'tests'),
    r'yaml-cpp/': ('objects/yaml/',),  # by itself it does not end on every text
    r'xsimd/': ('kernels',),
    # All but kernels, which have the standard library and xsimd only.
    r'(fmt|simdjson|tl)[/.]': ('objects', 'layout', 'engine', 'autoscaling', 'c', 'schema', 'client', 'server',
                               'workloads', 'simulation', 'tools', 'python', 'bench', 'tests'),
    r'expected>': (),  # the standard library has none before C++23: use objects/error.h
}

broken = 0


def complain(where, what):
    global broken
    broken += 1
    print(f'{where}: {what}')


def room_of(path):
    """The most particular room that holds the file; a header's .cpp is in its room."""
    if re.fullmatch(r'tests/oracle/(\w+_test|scenarios)\.cpp', path):  # asks the oracle, is none of it
        return None
    names = [path, str(Path(path).with_suffix('.h'))] + [str(p) for p in Path(path).parents]
    return next((name for name in names if name in ROOMS), None)


def may_include(room, included):
    target = room_of(included)
    if target is None or target == room:
        return target == room
    rooms = list(ROOMS)
    return rooms.index(target) < rooms.index(room) and any(
        included == name or target == name or target.startswith(name + '/') for name in ROOMS[room])


def check_includes(path, text):
    top = path.split('/')[0]
    room = room_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        where = f'{path}:{number}'
        own = re.match(r'#include "([^"]+)"', line)
        if own and '/' in own[1] and own[1].split('/')[0] in PRODUCT + TOP:
            if room and not may_include(room, own[1]):
                complain(where, f'{room} may not include {own[1]}')
            elif not room and top not in TOP:
                complain(where, f'{path} is in no room')
        other = re.match(r'#include <(.*)', line)
        if other and top in PRODUCT + TOP:
            for library, rooms in LIBRARIES.items():
                if re.match(library, other[1]) and not path.startswith(rooms or ('nobody',)):
                    complain(where, f'{other[1].rstrip(">")} is not for {top}')
        if own and own[1] in ('headroom.h', 'c/headroom.h') and top not in ('c', 'bench', 'tests', 'examples'):
            complain(where, 'nothing includes c')


def check_opening(path, text):
    """Headers say that they are read once; every file opens with its purpose, a .cpp maybe in its header."""
    if not text.startswith('// ') and not (path.endswith('.cpp') and Path(path).with_suffix('.h').is_file()):
        complain(path, 'the first line does not say what the file is for')
    if path.endswith('.h') and '\n#pragma once\n' not in text:
        complain(path, 'no #pragma once')


TYPES = {}  # by namespace and name: the files that define one that other files could link


def note_types(path, text):
    """Two types of one name corrupt memory in silence where both are linked."""
    spaces = []
    for line in text.splitlines():
        opened = re.match(r'(?:inline )?namespace ([\w:]*) ?\{', line)
        if opened:
            spaces.append(opened[1])
        elif line.startswith('}  // namespace') and spaces:
            spaces.pop()
        else:
            made = re.match(r'(?:class|struct|enum class|enum) (\w+)(?!\w|::)[^;()]*$', line)
            if made and '' not in spaces:
                TYPES.setdefault('::'.join([*spaces, made[1]]), set()).add(path)


def check_go(path, text):
    """The plugin compiles into any kube-scheduler, and the client knows no plugin."""
    if path.startswith(('shim/plugin/', 'shim/client/')) and '"k8s.io/kubernetes/' in text:
        complain(path, 'imports k8s.io/kubernetes')
    if path.startswith('shim/client/') and re.search(r'"headroom\.dev/shim/(plugin|lab|bench)', text):
        complain(path, 'the client knows no plugin')


# A file of ours, below a folder of ours.
NAMED = re.compile(r'(?<![\w./-])((?:' + '|'.join((*PRODUCT, *TOP, 'shim')) + r')/[\w./-]*\w\.(?:h|cpp|go|py|md|fbs))\b')


def check_comments(path, text):
    """A file that a comment names is there."""
    for number, line in enumerate(text.splitlines(), 1):
        for name in NAMED.findall(line.partition('//')[2]):
            if not Path(name).is_file():
                complain(f'{path}:{number}', f'there is no {name}')


# No leftovers and no paths of one machine in what is committed.
LEFTOVERS = re.compile(r'(TO' r'DO|FIX' r'ME|XX' r'X)([^A-Za-z]|$)')
MACHINE = re.compile(r'(^|[^A-Za-z0-9_.$}])/(ho' r'me|ro' r'ot|wo' r'rk)/[a-z]')


def files():
    git = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                         capture_output=True, text=True)
    if git.returncode == 0:
        return [name for name in git.stdout.split('\0') if name and Path(name).is_file()]
    return [str(p) for p in Path('.').rglob('*') if p.is_file() and p.parts[0] != 'build']


def main():
    os.chdir(sys.argv[1])
    for path in files():
        try:
            text = Path(path).read_text()
        except UnicodeDecodeError:
            continue
        if path.endswith(('.h', '.cpp', '.in')) and path.split('/')[0] in PRODUCT + TOP:
            check_includes(path, text)
        if path.endswith(('.h', '.cpp')) and path != 'c/headroom.h':
            check_opening(path, text)
            note_types(path, text)
        if path.endswith('.go'):
            check_go(path, text)
        if path.endswith(('.h', '.cpp', '.go')):
            check_comments(path, text)
        for number, line in enumerate(text.splitlines(), 1):
            if LEFTOVERS.search(line) or MACHINE.search(line):
                complain(f'{path}:{number}', 'leftovers and paths of one machine do not belong into the tree')
    for name, paths in TYPES.items():
        if len(paths) > 1:
            complain(', '.join(sorted(paths)), f'each has a {name}')
    sys.exit(1 if broken else 0)


main()
