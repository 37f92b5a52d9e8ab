#!/usr/bin/env python3
"""The include check finds what it is there to find."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/checks"))
import includes  # noqa: E402  The path is set above.

# {file: what it includes}, and what the one violation must say; None: clean.
CASES = {
    "a layer below": ({"model/ops/op.h": ['"model/base/units.h"']}, None),
    "a layer above": ({"model/base/units.h": ['"model/ops/op.h"']},
                      "model/base/units.h:1: model/base must not include"),
    "siblings": ({"model/graph/graph.h": ['"model/hardware/device.h"']},
                 "model/graph must not include"),
    "the engine knows the server": (
        {"model/estimate/estimate.cc": ['"server/server.h"']},
        "model/estimate must not include"),
    "a client knows the model": (
        {"clients/cli/main.cc": ['"model/base/units.h"']},
        "clients must not include"),
    "the embedded engine": (
        {"clients/cli/local.cc": ['"server/server.h"']}, None),
    "another client file knows the server": (
        {"clients/cli/remote.cc": ['"server/server.h"']},
        "clients must not include"),
    "a client knows the messages": (
        {"clients/cli/main.cc": ['"mansard/v1/estimate.pb.h"']}, None),
    "calibrate knows the messages": (
        {"calibrate/main.cc": ['"mansard/v1/catalog.pb.h"']},
        "calibrate must not include"),
    "a test of calibrate does": (
        {"calibrate/main_test.cc": ['"mansard/v1/catalog.pb.h"']}, None),
    "the command that judges": (
        {"clients/cli/commands/validate.cc": [
            '"calibrate/judge/validation.h"']}, None),
    "it knows what it judges with": (
        {"clients/cli/commands/validate.cc": ['"calibrate/fit/map_fit.h"']},
        "clients must not include"),
    "a fit knows its judge": (
        {"calibrate/fit/map_fit.cc": ['"calibrate/judge/judge.h"']},
        "calibrate/fit must not include"),
    "a folder without a row": (
        {"model/plan/batch.h": ['"model/base/units.h"']}, "no row in ALLOWED"),
    "protobuf in the engine": (
        {"model/price/price.cc": ["<google/protobuf/message.h>"]},
        "only model/io may know"),
    "gRPC in the engine's door": (
        {"model/io/graph_io.cc": ["<google/protobuf/message.h>"]}, None),
    "Prometheus in a test of the engine": (
        {"model/price/price_test.cc": ['"prometheus/counter.h"']},
        "only model/io may know"),
    "a cycle": ({"server/a.h": ['"server/b.h"'],
                 "server/b.cc": ['"server/c.h"'],
                 "server/c.h": ['"server/a.h"']},
                "cycle: server/a -> server/b -> server/c -> server/a"),
    "a source and its header": ({"server/a.cc": ['"server/a.h"']}, None),
}


class IncludesTest(unittest.TestCase):

    def test_cases(self):
        for title, (files, expected) in CASES.items():
            with self.subTest(title), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for name, headers in files.items():
                    path = root / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(
                        "".join(f"#include {h}\n" for h in headers))
                found = includes.violations(root)
                if expected is None:
                    self.assertEqual(found, [])
                else:
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(expected, found[0])

    def test_the_table_has_no_cycle(self):
        done = set()
        while len(done) < len(includes.ALLOWED):
            ready = [f for f, targets in includes.ALLOWED.items()
                     if f not in done and all(
                         t == "proto" or any(includes.within(d, t)
                                             for d in done)
                         for t in targets)]
            self.assertTrue(ready, set(includes.ALLOWED) - done)
            done.update(ready)


if __name__ == "__main__":
    unittest.main()
