"""Runs the command line as a user does, and compares with golden files.

Needs MANSARD and MANSARDD, the paths of the binaries. UPDATE_GOLDENS=1
rewrites the golden files instead of comparing.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).parent
MAX_WIDTH = 100
# What could change an answer is taken out of the environment.
SETTINGS = ("NO_COLOR", "TERM", "MANSARD_SERVER", "MANSARD_STATE_DIR")
# No catalog of whoever runs the tests; tests that write name a folder.
NO_STATE = "/nonexistent/mansard"

ESTIMATE = ("estimate", "--model", "llama-3.1-8b", "--hardware", "h100-sxm")
DECODE = ESTIMATE + ("--phase", "decode")


def environment(**settings):
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in SETTINGS and not key.lower().endswith("_proxy")
    }
    return {**kept, "TERM": "xterm", "MANSARD_STATE_DIR": NO_STATE, **settings}


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    def json(self):
        return json.loads(self.out)


def run(*words, stdin=b"", settings=None):
    return Result(
        subprocess.run(
            [os.environ["MANSARD"], *words],
            input=stdin,
            capture_output=True,
            timeout=60,
            env=environment(**(settings or {})),
            check=False,
        )
    )


class Server:
    """A real mansardd on a free port, for a `with` block."""

    def __init__(self, *flags):
        self.flags = ("--state_dir=", *flags)

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [
                os.environ["MANSARDD"],
                "--listen=127.0.0.1:0",
                "--metrics_listen=",
                "--drain_delay=0s",
                *self.flags,
            ],
            stderr=self.log,
            env=environment(),
        )
        self.address = f"127.0.0.1:{self._port()}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def _port(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            self.log.seek(0)
            for line in self.log.read().decode().splitlines():
                if '"serving"' in line:
                    return json.loads(line)["port"]
            time.sleep(0.02)
        raise RuntimeError("mansardd does not say that it serves")


class CliTest(unittest.TestCase):
    maxDiff = None

    def succeed(self, *words, **options):
        result = run(*words, **options)
        self.assertEqual(result.code, 0, result.err)
        return result

    def fail_with(self, code, *words, **options):
        """Stderr of a command that must end with `code` and print nothing."""
        result = run(*words, **options)
        self.assertEqual(result.code, code, result.out + result.err)
        self.assertEqual(result.out, "")
        self.assertRegex(result.err, r"^error: ")
        return result.err

    def assert_fits(self, text):
        for line in text.splitlines():
            self.assertLessEqual(len(line), MAX_WIDTH, line)

    def assert_golden(self, name, text):
        path = HERE / "golden" / name
        if os.environ.get("UPDATE_GOLDENS") == "1":
            path.write_text(text)
        self.assertEqual(
            path.read_text(), text, f"{path.name}: UPDATE_GOLDENS=1 rewrites it"
        )


def shape_of(text):
    """An estimate's text without what pricing constants decide: times, units,
    bounds, bars, revisions, column widths. Words and shapes of work stay."""
    # What is advised follows what limits an op.
    text = re.sub(r"(advice: .*\n( {8}.*\n)*)+", "advice: <advice>\n", text)
    text = re.sub(r"\n {20,}", " ", text)  # Wrapped by column widths.
    text = re.sub(r"@[0-9a-f]{12}", "@<revision>", text)
    text = re.sub(r" +#+", "", text)
    text = re.sub(r"(?<![\w.=-])<?\d[\d,]*(\.\d+)?(?![\w.])", "0", text)
    text = re.sub(r"[A-Z]+-bound", "<BOUND>-bound", text)
    text = re.sub(r"(?<= )([mun]s|[kMGT]?(B/s|B|FLOP))(?= |,|$)", "<unit>", text,
                  flags=re.MULTILINE)
    text = re.sub(r" +(?=\n)|(?<= ) +", "", text)
    bounds = "memory|compute|overhead|comm"
    limits = "tensor|vector|sfu|smem|l2|hbm|nvlink|pcie|rdma|launch|sync|host"
    text = re.sub(rf"(?<=0 )(({bounds}) )?({limits})\b", "<limit>", text)
    return re.sub(rf"(?<=0 )({bounds})\b", "<bound>", text)
