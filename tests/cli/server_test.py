"""Against a real mansardd, and against none."""

import os
import socket
import subprocess
import time

from data_config import CONFIG
from support import DECODE, CliTest, Server, environment, run

COMMANDS = (
    DECODE + ("--context", "1024", "--ops", "--waterfall"),
    DECODE + ("--context", "1024", "--ops", "--waterfall", "-o", "json"),
    ("model", "list", "-o", "json"),
    ("model", "get", "llama-3.1-70b"),
    ("hardware", "list"),
    ("hardware", "get", "h100-sxm", "-o", "textproto"),
    ("model", "import", "-"),
)


class RemoteTest(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()
        cls.addClassCleanup(cls.server.__exit__)

    def test_same_bytes_as_embedded(self):
        for words in COMMANDS:
            with self.subTest(words):
                stdin = CONFIG.encode() if words[-1] == "-" else b""
                self.assertEqual(
                    self.succeed(
                        "--server", self.server.address, *words, stdin=stdin
                    ).out,
                    self.succeed(*words, stdin=stdin).out,
                )

    def test_same_errors_as_embedded(self):
        words = DECODE + ("--context", "64", "--tp", "3", "--batch", "-1")
        self.assertEqual(
            self.fail_with(1, "--server", self.server.address, *words),
            self.fail_with(1, *words),
        )

    def test_status(self):
        for words in ((), ("--server", self.server.address)):
            status = self.succeed("status", *words, "-o", "json").json()
            self.assertEqual(status["server"], words[-1] if words else "embedded")
            self.assertEqual(status["server_version"], status["client_version"])
            self.assertEqual(
                {entry["status"] for entry in status["services"]}, {"SERVING"}
            )
            self.assertGreaterEqual(status["model_graph_count"], 2)
            self.assertGreaterEqual(status["hardware_profile_count"], 5)
            self.assertGreater(status["round_trip_seconds"], 0)
        self.assertIn(self.server.address, self.succeed(
            "status", "--server", self.server.address).out)

    def test_proxy_is_not_asked(self):
        self.succeed(
            "--server", self.server.address, "model", "list",
            settings={"http_proxy": "http://127.0.0.1:1"},
        )

    def test_flag_wins_over_environment(self):
        server = {"MANSARD_SERVER": self.server.address}
        nobody = {"MANSARD_SERVER": "127.0.0.1:1"}
        self.assertIn(self.server.address, run("status", settings=server).out)
        self.assertEqual(run("status", settings=nobody).code, 3)
        self.assertIn("embedded", self.succeed(
            "status", "--server", "embedded", settings=nobody).out)


class NobodyTest(CliTest):
    def test_nobody_listens(self):
        error = self.fail_with(3, "--server", "127.0.0.1:1", "model", "list")
        self.assertIn("Cannot reach 127.0.0.1:1", error)
        self.assertIn("leave out --server", " ".join(error.split()))

    def test_deadline(self):
        # Accepts connections and never answers.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            start = time.monotonic()
            error = self.fail_with(
                3, "--server", address, "--timeout", "300ms", "model", "list"
            )
            self.assertLess(time.monotonic() - start, 10)
        self.assertIn(f"No answer from {address}", error)

    def test_closed_output_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            process = subprocess.run(
                [os.environ["MANSARD"], "version"],
                stdout=full, stderr=subprocess.PIPE, env=environment(), check=False,
            )
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"Cannot write", process.stderr)
