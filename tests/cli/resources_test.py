"""The catalog's commands: on a state directory of one's own, and on a server."""

import json
import os
import pathlib
import shutil
import stat
import tempfile

from support import HERE, CliTest, Server, run

SHIPPED = HERE.parent.parent / "model" / "data"
ENGINE = (
    "engine", "create", "prod-a", "--model", "llama-3.1-8b",
    "--hardware", "h100-sxm", "--tp", "2",
)


class ResourcesTest(CliTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mansard-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.state = self.folder / "state"
        self.settings = {"MANSARD_STATE_DIR": str(self.state)}

    def ok(self, *words, **options):
        return self.succeed(*words, settings=self.settings, **options)

    def refused(self, *words, code=1, **options):
        result = run(*words, settings=self.settings, **options)
        self.assertEqual(result.code, code, result.out + result.err)
        self.assertEqual(result.out, "")
        return result.err

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def test_reading_makes_no_state(self):
        self.assertEqual(self.ok("engine", "list").out, "No engines.\n")
        self.ok("model", "list")
        self.ok(*ENGINE, "--dry-run")
        self.assertFalse(self.state.exists())

    def test_the_state_is_private_and_kept(self):
        self.ok(*ENGINE)
        self.assertEqual(stat.S_IMODE(os.stat(self.state).st_mode), 0o700)
        for file in self.state.iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)
        names = [
            one["name"]
            for one in self.ok("engine", "list", "-o", "json").json()["engines"]
        ]
        self.assertEqual(names, ["engines/prod-a"])

    def test_an_engine_is_its_target(self):
        self.ok(*ENGINE)
        work = ("--phase", "decode", "--batch", "8", "--context", "1024")
        named = self.ok("estimate", "--engine", "prod-a", *work, "-o", "json").json()
        target = self.ok(
            "estimate", "--model", "llama-3.1-8b", "--hardware", "h100-sxm",
            "--tp", "2", *work, "-o", "json",
        ).json()
        self.assertTrue(
            named["resolution"].pop("engine_revision").startswith("engines/prod-a@")
        )
        target["resolution"].pop("engine_revision")
        self.assertEqual(named, target)
        self.ok("roofline", "--engine", "prod-a", *work)

    def test_engine_flags_are_checked(self):
        self.assertIn("--model is missing", self.refused("engine", "create", "a", code=2))
        self.assertIn(
            "allowed: mixed, prefill-first",
            self.refused(*ENGINE, "--scheduling", "fair", code=2),
        )
        self.assertIn(
            "allowed: an id",
            self.refused(
                "engine", "create", "a", "--model", "x.json",
                "--hardware", "h100-sxm", code=2,
            ),
        )
        errors = self.refused(
            "engine", "create", "Bad", "--model", "llama-3.1-8b", "--hardware",
            "h100-sxm", "--tp", "3", "--memory-utilization", "1.5",
        )
        self.assertIn("--tp is 3", errors)
        self.assertIn("--memory-utilization is 1.5", errors)
        self.assertIn('ID is "Bad"', errors)
        self.ok(*ENGINE)
        self.assertIn("exists already", self.refused(*ENGINE))
        self.assertIn(
            "allowed: one or the other",
            self.refused(
                "estimate", "--engine", "prod-a", "--tp", "2", "--phase",
                "decode", "--context", "9", code=2,
            ),
        )
        self.assertIn(
            'did you mean "prod-a"?', self.refused("engine", "get", "prod-b")
        )

    def test_apply_creates_updates_and_leaves(self):
        self.ok(*ENGINE, "--max-sequences", "64")
        text = self.ok("engine", "get", "prod-a", "-o", "textproto").out
        self.assertNotIn("etag", text)
        file = self.file("prod-a.textproto", text)
        self.assertTrue(
            self.ok("engine", "apply", "-f", file).out.startswith("unchanged ")
        )
        self.file("prod-a.textproto", text.replace("64", "128"))
        self.assertEqual(
            self.ok("engine", "diff", "prod-a", file).out,
            f"--- prod-a\n+++ {file}\n"
            "- limits.max_sequence_count: 64\n"
            "+ limits.max_sequence_count: 128\n",
        )
        self.assertTrue(
            self.ok("engine", "apply", "-f", file, "--dry-run")
            .out.startswith("would be updated ")
        )
        self.assertTrue(
            self.ok("engine", "apply", "-f", file).out.startswith("updated ")
        )
        self.assertEqual(
            self.ok("engine", "diff", "prod-a", file).out, "No differences.\n"
        )
        self.assertTrue(
            self.ok("engine", "apply", "other", "-f", "-", stdin=text.encode())
            .out.startswith("created engines/other@")
        )
        self.assertIn(
            "is missing", self.refused("engine", "apply", "-f", "-", code=2,
                                       stdin=text.encode())
        )
        self.assertIn("-f is missing", self.refused("engine", "apply", code=2))

    def test_json_carries_the_etag(self):
        self.ok(*ENGINE)
        answer = self.ok("engine", "get", "prod-a", "-o", "json").json()
        answer["display_name"] = "First"
        file = self.file("a.json", json.dumps(answer))
        self.ok("engine", "apply", "-f", file)
        answer["display_name"] = "Second"
        self.file("a.json", json.dumps(answer))
        self.assertIn("has changed", self.refused("engine", "apply", "-f", file))

    def test_models_and_revisions(self):
        file = str(SHIPPED / "models" / "qwen3-0.6b.textproto")
        self.assertTrue(
            self.ok("model", "apply", "own", "-f", file)
            .out.startswith("created modelGraphs/own@")
        )
        first = self.ok("model", "get", "own", "-o", "json").json()
        text = pathlib.Path(file).read_text(encoding="utf-8")
        changed = self.file(
            "own.textproto", text.replace("layer_count: 28", "layer_count: 27")
        )
        self.assertTrue(
            self.ok("model", "apply", "-f", changed).out.startswith("updated ")
        )
        old = self.ok("model", "get", "own@" + first["revision_id"], "-o", "json")
        self.assertEqual(old.json()["layer_count"], 28)
        self.assertIn(
            "layer_count", self.ok("model", "diff", "own", "qwen3-0.6b").out
        )
        self.assertIn("etag", self.refused("model", "delete", "own", "--etag", '"x"'))
        self.assertEqual(
            self.ok("model", "delete", "own").out, "deleted modelGraphs/own\n"
        )
        self.assertIn(
            "comes with the server", self.refused("model", "delete", "qwen3-0.6b")
        )

    def test_hardware_in_use_stays(self):
        text = self.ok("hardware", "get", "h100-pcie", "-o", "textproto").out
        file = self.file("mine.textproto", text)
        self.ok("hardware", "apply", "-f", file)
        self.assertEqual(
            self.ok("hardware", "diff", "mine", "h100-pcie").out,
            "No differences.\n",
        )
        self.ok(
            "engine", "create", "a", "--model", "llama-3.1-8b", "--hardware", "mine"
        )
        self.assertIn("engines/a", self.refused("hardware", "delete", "mine"))
        self.ok("engine", "delete", "a")
        self.ok("hardware", "delete", "mine")

    def test_calibrations(self):
        stack = self.ok("hardware", "get", "h100-pcie", "-o", "json").json()[
            "kernel_stacks"
        ][0]
        file = self.file(
            "c.json",
            json.dumps(
                {
                    "measurements": [{"case": "m", "outcome": "OUTCOME_MEASURED"}],
                    "fitted_stack": {
                        "stack": "mine",
                        "base_stack": stack["stack"],
                        "host": {**stack["host"], "step_seconds": 0.0042},
                    },
                }
            ),
        )
        words = ("calibration", "apply", "h100-pcie/first", "-f", file)
        dry = self.ok(*words, "--dry-run").out
        self.assertTrue(
            dry.startswith(
                "would be applied hardwareProfiles/h100-pcie/calibrations/first\n"
                "--- hardwareProfiles/h100-pcie@"
            ),
            dry,
        )
        self.assertIn("+ host.step_seconds: 0.0042\n", dry)
        self.assertEqual(
            self.ok("calibration", "list", "h100-pcie").out, "No calibrations.\n"
        )
        before = self.ok("hardware", "get", "h100-pcie", "-o", "json").json()
        applied = self.ok(*words).out
        self.assertTrue(applied.startswith("updated hardwareProfiles/h100-pcie@"))
        # What was shown is what was done.
        self.assertEqual(applied.split("\n", 1)[1], dry.split("\n", 1)[1])
        # Cut short and begun again, the same file makes nothing twice.
        again = self.ok(*words).out
        self.assertTrue(again.endswith("No differences.\n"), again)
        stale = self.refused(*words, "--etag", before["etag"])
        after = self.ok("hardware", "get", "h100-pcie", "-o", "json").json()
        self.assertIn(f"its etag is {after['etag']}, not ", stale)
        self.assertNotEqual(after["etag"], before["etag"])
        # The same id with other contents is another calibration.
        other = self.file(
            "d.json", pathlib.Path(file).read_text().replace("0.0042", "0.0043")
        )
        self.assertIn("exists already", self.refused(*words[:-1], other))
        self.ok("calibration", "apply", "h100-pcie/second", "-f", other)
        changed = self.ok(
            "calibration", "apply", "h100-pcie/first", "--dry-run", "-o", "json"
        ).json()
        self.assertEqual(
            changed["differences"],
            [{"field": "host.step_seconds", "a": "0.0043", "b": "0.0042"}],
        )
        self.assertIn("first", self.ok("calibration", "list", "h100-pcie").out)
        self.assertIn("mine", self.ok("calibration", "get", "h100-pcie/first").out)
        self.assertIn("mine", self.ok("hardware", "get", "h100-pcie").out)
        self.ok("calibration", "delete", "h100-pcie/first")
        self.ok("calibration", "delete", "h100-pcie/second")
        self.ok("hardware", "delete", "h100-pcie")

    def test_a_server_is_the_same(self):
        with Server(f"--state_dir={self.state}") as server:
            remote = ("--server", server.address)
            created = self.ok(*remote, *ENGINE, "-o", "json").json()
            # Its folder is read beside it, and not written.
            self.assertEqual(
                self.ok("engine", "get", "prod-a", "-o", "json").json(), created
            )
            self.assertIn(
                "is in use by another process",
                self.refused("engine", "delete", "prod-a"),
            )
        with Server(f"--state_dir={self.state}") as server:
            self.assertEqual(
                self.ok(
                    "--server", server.address, "engine", "get", "prod-a",
                    "-o", "json",
                ).json(),
                created,
            )

    def test_a_damaged_state_is_an_error(self):
        self.state.mkdir()
        (self.state / "catalog.sqlite").write_bytes(b"x" * 5000)
        self.assertIn("is damaged", self.refused("engine", "list"))
