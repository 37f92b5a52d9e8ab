#!/usr/bin/env python3
"""Includes run one way: includes.py [ROOT]

Three rules for the C++ and CUDA sources under ROOT (default: the repository):
  direction  a folder includes only itself and what ALLOWED lists for it;
  purity     nothing in model/ but model/io knows protobuf, gRPC or Prometheus;
  cycles     no file, a header and its source taken together, reaches itself.
Prints each violation as file:line and exits 1 if there is one.
"""

import pathlib
import re
import sys

# Folder -> the folders it may include, beside itself. The longest entry that
# holds a file is its folder. Generated headers count as "proto".
ALLOWED = {
    "model/base": [],
    "model/graph": ["model/base"],
    "model/hardware": ["model/base"],
    "model/workload": ["model/base", "model/graph", "model/hardware"],
    "model/ops": ["model/base", "model/graph", "model/hardware",
                  "model/workload"],
    "model/lower": ["model/base", "model/graph", "model/hardware",
                    "model/workload", "model/ops"],
    "model/kernels": ["model/base", "model/hardware"],
    "model/price": ["model/base", "model/graph", "model/hardware",
                    "model/workload", "model/ops", "model/kernels"],
    "model/estimate": ["model/base", "model/graph", "model/hardware",
                       "model/workload", "model/ops", "model/lower",
                       "model/price"],
    "model/serving": ["model/base", "model/graph", "model/hardware",
                      "model/workload", "model/lower", "model/price",
                      "model/estimate"],
    "model/io": ["model/base", "model/graph", "model/hardware", "proto"],
    "server": ["model", "proto"],
    "clients": ["proto", "clients/import", "clients/observe"],
    # Knows no service: words in, an Engine out.
    "clients/import": ["proto"],
    # Pages of metrics in, means out.
    "clients/observe": [],
    "calibrate": ["model"],
    "calibrate/measure": ["model/base"],
    "calibrate/cpu": ["model/base", "calibrate/measure"],
    "calibrate/tables": ["model"],
    "calibrate/fit": ["model", "calibrate/tables"],
    "calibrate/import": ["model", "proto", "calibrate/tables",
                         "calibrate/measure"],
    "calibrate/refresh": ["model", "proto", "calibrate/tables",
                          "calibrate/fit", "calibrate/measure",
                          "calibrate/cpu"],
    "calibrate/revision": ["model", "proto", "calibrate/measure"],
    "calibrate/judge": ["model", "calibrate/tables", "calibrate/fit"],
    "calibrate/serving": ["model", "calibrate/tables", "calibrate/fit",
                          "calibrate/judge"],
    "tests": ["model", "proto", "server", "clients", "calibrate"],
}
# File -> folders that it alone may include besides.
EXCEPTIONS = {
    # The embedded engine: the client starts the server's library in process.
    "clients/cli/local.cc": ["server"],
    # The engine judged on measured rows, which no server does.
    "clients/cli/commands/validate.cc": ["calibrate/judge",
                                         "calibrate/serving",
                                         "calibrate/tables"],
    "clients/cli/output/judgement_text.h": ["calibrate/judge"],
}
# A test beside the code may also use these.
TEST_ALLOWED = ["model", "proto", "tests/support", "tests/toy"]

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
GENERATED = re.compile(r"^(mansard|google)/.*\.pb\.h$")
IMPURE = re.compile(
    r"\.pb\.h$|^(grpc|grpcpp|grpc\+\+|prometheus|google/protobuf)/")


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def folder_of(path):
    """The entry of ALLOWED that holds path, or None."""
    if GENERATED.match(path) or within(path, "proto"):
        return "proto"
    holders = [f for f in ALLOWED if within(path, f)]
    return max(holders, key=len, default=None)


def is_test(path):
    return path.endswith(("_test.cc", "_test.cu"))


def read_includes(root):
    """[(file, line number, header, is ours)], in order."""
    tops = {folder.split("/")[0] for folder in ALLOWED}
    found = []
    for top in sorted(tops):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            name = file.relative_to(root).as_posix()
            lines = file.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                if match := INCLUDE.match(line):
                    header = match[2]
                    ours = bool(GENERATED.match(header)) or any(
                        within(header, t) for t in tops)
                    found.append((name, number, header, ours))
    return found


def direction_violations(includes):
    for name, number, header, ours in includes:
        if not ours:
            continue
        source, target = folder_of(name), folder_of(header)
        if source is None:
            yield (f"{name}:{number}: its folder has no row in ALLOWED "
                   "(scripts/checks/includes.py)")
            continue
        if target is None:
            yield f"{name}:{number}: {header} is in no known folder"
            continue
        allowed = [source, *ALLOWED[source], *EXCEPTIONS.get(name, [])]
        if is_test(name):
            allowed += TEST_ALLOWED
        if not any(within(target, a) or within(header, a) for a in allowed):
            yield (f"{name}:{number}: {source} must not include {header} "
                   f"({target}); allowed: {', '.join(sorted(set(allowed)))}")


def purity_violations(includes):
    for name, number, header, _ in includes:
        if (within(name, "model") and not within(name, "model/io") and
                IMPURE.search(header)):
            yield (f"{name}:{number}: {header}: only model/io may know "
                   "protobuf, gRPC or Prometheus")


def cycle_violations(includes):
    edges = {}
    for name, _, header, ours in includes:
        source, target = (n.rsplit(".", 1)[0] for n in (name, header))
        if ours and source != target:
            edges.setdefault(source, set()).add(target)
    state, path, cycles = {}, [], []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for target in sorted(edges.get(node, ())):
            if state.get(target) == "open":
                cycles.append(path[path.index(target):] + [target])
            elif target not in state:
                visit(target)
        path.pop()
        state[node] = "done"

    for node in sorted(edges):
        if node not in state:
            visit(node)
    for cycle in cycles:
        yield "cycle: " + " -> ".join(cycle)


def violations(root):
    includes = read_includes(root)
    return [*direction_violations(includes), *purity_violations(includes),
            *cycle_violations(includes)]


def main():
    default = pathlib.Path(__file__).resolve().parents[2]
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    found = violations(root)
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
