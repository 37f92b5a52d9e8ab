"""`mansard kv`, and estimates that send keys and values: numbers, text, exit
codes."""

import csv
import io

from support import CliTest, run

# Llama-3.1-70B: 80 layers, 8 KV heads of 128, keys and values in bf16.
TOKEN_BYTES = 80 * 2 * 8 * 128 * 2
TARGET = ("--model", "llama-3.1-70b", "--hardware", "h100-sxm")
KV = ("kv",) + TARGET + ("--tp", "4", "--tokens", "8192")
STORAGE = ("--storage-bandwidth", "10GB/s", "--storage-latency", "200us")
PREFILL = ("estimate",) + TARGET + (
    "--tp", "8", "--phase", "prefill", "--context", "8192",
)


class KvTest(CliTest):
    def answer(self, *words):
        return self.succeed(*words, "-o", "json").json()

    def option(self, answer, source):
        [option] = [
            row for row in answer["options"] if row["source_tier"] == source
        ]
        return option

    def test_bytes_and_floors(self):
        eight = self.answer(*KV, "--from", "rdma", "--nics", "8")
        self.assertEqual(int(eight["instance_bytes"]), 8192 * TOKEN_BYTES)
        self.assertEqual(int(eight["rank_bytes"]), 8192 * TOKEN_BYTES // 4)
        # 50 GB/s a NIC.
        rdma = self.option(eight, "rdma")
        self.assertAlmostEqual(rdma["floor_seconds"], 6.71e-3, delta=1e-5)
        one = self.answer(*KV, "--from", "rdma", "--nics", "1")
        self.assertAlmostEqual(
            self.option(one, "rdma")["floor_seconds"], 53.7e-3, delta=1e-4
        )
        half = self.answer(*KV, "--cached", "4096", "--from", "rdma")
        self.assertEqual(int(half["instance_bytes"]), 4096 * TOKEN_BYTES)

    def test_every_source(self):
        answer = self.answer(
            *KV, "--from", "hbm,host,nvlink,rdma,storage", *STORAGE
        )
        for row in answer["options"]:
            self.assertLessEqual(
                row["floor_seconds"], row["transfer_seconds"]
            )
            self.assertLessEqual(
                row["exposed_seconds"], row["transfer_seconds"]
            )
        storage = self.option(answer, "storage")
        self.assertAlmostEqual(
            storage["transfer_seconds"],
            200e-6 + 8192 * TOKEN_BYTES / 10e9,
            delta=1e-9,
        )
        hbm = self.option(answer, "hbm")
        self.assertEqual(hbm["transfer_seconds"], 0)
        self.assertEqual(len(hbm["preferences"]), 1)

    def test_a_row_a_source(self):
        out = self.succeed(*KV, "--from", "hbm,rdma", "-o", "csv").out
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["source"] for row in rows], ["hbm", "rdma"])
        self.assertEqual(float(rows[1]["rank_bytes"]), 2048 * TOKEN_BYTES)
        self.assertEqual(rows[0]["fetch_wins"], "always")
        text = self.succeed(*KV, "--from", "hbm,rdma").out
        self.assertIn("prefix  8,192 tokens", text)
        self.assert_fits(text)

    def test_mistakes_name_their_flags(self):
        for words, flag in [
            (("--from", "disk"), "--from disk"),
            (("--from", "storage"), "--storage-bandwidth"),
            (("--from", "rdma", "--cached", "8192"), "--cached is 8192"),
            (("--from", "host", "--nics", "2"), "--nics is 2"),
        ]:
            with self.subTest(words):
                self.assertIn(flag, run(*KV, *words).err)
        for words, flag in [
            (("--from", "storage", "--storage-bandwidth", "10"),
             "--storage-bandwidth"),
            (("--from", "storage", "--storage-latency", "2"),
             "--storage-latency"),
            ((), "--from is missing"),
        ]:
            with self.subTest(words):
                answer = run(*KV, *words)
                self.assertEqual(answer.code, 2)
                self.assertIn(flag, answer.err)

    def test_prefill_pool(self):
        alone = self.answer(*PREFILL)["estimate"]["time_seconds"]
        sent = self.answer(*PREFILL, "--kv-to", "rdma", "--ops")["estimate"]
        [op] = [row for row in sent["ops"] if row["op"] == "kv_transfer"]
        self.assertAlmostEqual(
            sent["time_seconds"], alone + op["time_seconds"], delta=1e-9
        )
        self.assertGreater(op["time_seconds"], 6.71e-3)
        self.assertEqual(
            op["work"]["communication_bytes"], 1024 * TOKEN_BYTES
        )
        layer_wise = self.answer(
            *PREFILL, "--kv-to", "rdma", "--kv-layer-wise"
        )["estimate"]["time_seconds"]
        self.assertLess(alone, layer_wise)
        self.assertLess(layer_wise - alone, op["time_seconds"] / 10)
        refused = run(*PREFILL, "--kv-to", "nvlink")
        self.assertIn("--kv-to nvlink", refused.err)
