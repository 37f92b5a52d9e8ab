"""The scheduled calibration, against a real server: run -> diff -> apply.

What measures takes minutes and a quiet machine: here it hands out a profile
that is ready. Everything else is as deployed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from support import HERE, CliTest, Server, environment

JOB = HERE.parent.parent / "deploy" / "calibrate" / "mansard-calibrate-job"
HARDWARE = "cpu-avx512"
# `run` copies what is ready; all else is the program itself.
STUB = """#!/bin/sh
if [ "$1" != run ]; then exec "$MANSARD_CALIBRATE" "$@"; fi
for word in "$@"; do case "$word" in --out=*) out="${word#--out=}" ;; esac; done
[ -n "${TOO_NOISY:-}" ] && { echo "too noisy" >&2; exit 1; }
cp "$READY"/*.textproto "$out"
"""


class CalibrateJobTest(CliTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mansard-job-"))
        self.addCleanup(shutil.rmtree, self.folder)
        programs = self.folder / "bin"
        programs.mkdir()
        stub = programs / "mansard-calibrate"
        stub.write_text(STUB)
        stub.chmod(0o755)
        (programs / "mansard").symlink_to(os.environ["MANSARD"])
        (self.folder / "ready").mkdir()
        self.work = self.folder / "work"
        self.settings = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "READY": str(self.folder / "ready"),
            "MANSARD_CALIBRATE": os.environ["MANSARD_CALIBRATE"],
            "MANSARD_HARDWARE": HARDWARE,
            "MANSARD_BACKEND": "cpu",
            "MANSARD_WORK": str(self.work),
        }

    def job(self, **settings):
        result = subprocess.run(
            [JOB],
            capture_output=True,
            timeout=120,
            env=environment(**{**self.settings, **settings}),
            check=False,
        )
        return result.returncode, result.stdout.decode(), result.stderr.decode()

    def hardware(self, server, output):
        return self.succeed(
            "--server", server.address, "hardware", "get", HARDWARE, "-o", output
        )

    def prepare(self, server, step_seconds):
        """A run that found the first stack with another host, as calibrated."""
        text = self.hardware(server, "textproto").out
        stack = re.search(r"^kernel_stacks \{\n(.*?)^\}\n", text, re.M | re.S)[1]
        stack = re.sub(r'^  stack: ".*"', '  stack: "calibrated"', stack, flags=re.M)
        stack = re.sub(r"^ +step_seconds: .*\n", "", stack, flags=re.M)
        stack = re.sub(
            r"^  host \{\n", f"  host {{\n    step_seconds: {step_seconds}\n", stack,
            flags=re.M,
        )
        ready = self.folder / "ready"
        (ready / "profile.textproto").write_text(f"kernel_stacks {{\n{stack}}}\n")
        (ready / "calibration.textproto").write_text(f"fitted_stack {{\n{stack}}}\n")

    def test_applied_once_then_as_it_was(self):
        with Server() as server:
            self.settings["MANSARD_SERVER"] = server.address
            self.prepare(server, 0.25)
            before = self.hardware(server, "json").json()
            # First without applying.
            code, out, err = self.job(MANSARD_APPLY="no")
            self.assertEqual(code, 0, err)
            self.assertIn("stack calibrated: added\n", out)
            self.assertIn("would be applied", out)
            self.assertEqual(self.hardware(server, "json").json(), before)
            code, out, err = self.job()
            self.assertEqual(code, 0, err)
            self.assertIn(f"updated hardwareProfiles/{HARDWARE}@", out)
            after = self.hardware(server, "json").json()
            self.assertEqual(after["kernel_stacks"][-1]["stack"], "calibrated")
            self.assertEqual(after["kernel_stacks"][-1]["host"]["step_seconds"], 0.25)
            self.assertIn("calibrate_time", after)
            # Nothing new: nothing is applied.
            code, out, err = self.job()
            self.assertEqual(code, 0, err)
            self.assertEqual(out, f"{HARDWARE}: as it was\n")
            self.assertEqual(self.hardware(server, "json").json(), after)
            self.prepare(server, 0.26)
            code, out, err = self.job()
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"step_seconds +0.25 -> +0.26 +\+4.0 %\n")

    def test_failures_change_nothing(self):
        with Server() as server:
            self.settings["MANSARD_SERVER"] = server.address
            self.prepare(server, 0.25)
            before = self.hardware(server, "json").json()
            code, _, err = self.job(TOO_NOISY="1")
            self.assertEqual(code, 1)
            self.assertIn("too noisy", err)
            code, _, err = self.job(MANSARD_HARDWARE="cpu-avx51")
            self.assertNotEqual(code, 0)
            self.assertIn("cpu-avx51", err)
            (self.folder / "ready" / "profile.textproto").write_text("nonsense")
            code, _, err = self.job()
            self.assertEqual(code, 2)
            self.assertIn("profile.textproto: line 1", err)
            self.assertEqual(self.hardware(server, "json").json(), before)
        # The server is gone: said before anything is measured.
        code, _, err = self.job(TOO_NOISY="1")
        self.assertEqual(code, 3)
        self.assertNotIn("too noisy", err)

    def test_what_is_missing_is_named(self):
        for name in ("MANSARD_HARDWARE", "MANSARD_BACKEND", "MANSARD_WORK"):
            code, _, err = self.job(**{name: ""})
            self.assertEqual(code, 2)
            self.assertIn(f"{name} names no", err)

    def test_old_records_go(self):
        for day in range(1, 8):
            (self.work / f"2026-10-0{day}-030000-000").mkdir(parents=True)
        (self.work / "notes").mkdir()
        with Server() as server:
            self.settings["MANSARD_SERVER"] = server.address
            self.prepare(server, 0.25)
            code, _, err = self.job(MANSARD_KEEP="3")
            self.assertEqual(code, 0, err)
        names = sorted(path.name for path in self.work.iterdir())
        self.assertEqual(len(names), 4, names)
        self.assertEqual(names[:2], ["2026-10-06-030000-000", "2026-10-07-030000-000"])
        self.assertEqual(names[3], "notes")
