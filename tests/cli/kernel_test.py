"""`mansard kernel` and `mansard roofline`: numbers, text, exit codes."""

from support import DECODE, CliTest

ON = ("--hardware", "h100-sxm")
GEMM = ("kernel", "gemm", "--m", "64", "--n", "6144", "--k", "4096") + ON
ATTENTION = ("kernel", "attention", "--heads", "32", "--head-size", "128") + ON
MOE = (
    "kernel", "moe", "--tokens", "64", "--hidden", "4096", "--experts", "8",
    "--top-k", "2", "--width", "14336",
) + ON
ROOFLINE = ("roofline",) + DECODE[1:] + ("--batch", "16", "--context", "1024")


class KernelTest(CliTest):
    def answer(self, *words):
        return self.succeed(*words, "-o", "json").json()

    def work(self, *words):
        return self.answer(*words)["ops"][0]["work"]

    def test_gemm(self):
        answer = self.answer(*GEMM)
        work = answer["ops"][0]["work"]
        self.assertEqual(work["flops"], 2 * 64 * 6144 * 4096)
        self.assertEqual(work["weight_read_bytes"], 2 * 6144 * 4096)
        self.assertAlmostEqual(
            answer["ridge_flops_per_byte"], 989e12 / 3.35e12, delta=0.5
        )
        self.assertEqual(
            self.work(*GEMM, "--batch", "3")["flops"], 3 * work["flops"]
        )
        # Four bytes of scale for a tensor in FP8.
        eight = self.work(*GEMM, "--weights", "fp8")
        self.assertEqual(eight["weight_read_bytes"], 6144 * 4096 + 4)

    def test_attention(self):
        decode = ATTENTION + (
            "--phase", "decode", "--batch", "2", "--context", "1024",
        )
        grouped = self.work(*decode, "--kv-heads", "8")
        self.assertEqual(grouped["kv_read_bytes"], 2 * 2 * 8 * 128 * 1024 * 2)
        # As many KV heads as query heads, by default.
        self.assertEqual(
            self.work(*decode)["kv_read_bytes"], 4 * grouped["kv_read_bytes"]
        )
        windowed = self.work(*decode, "--kv-heads", "8", "--window", "256")
        self.assertEqual(
            windowed["kv_read_bytes"], grouped["kv_read_bytes"] / 4
        )

    def test_full_and_unfused_attention(self):
        prefill = ATTENTION + ("--phase", "prefill", "--context", "512")
        causal = self.work(*prefill)
        full = self.work(*prefill, "--full")
        self.assertEqual(causal["flops"], 4 * 32 * 128 * 512 * 513 / 2)
        self.assertEqual(full["flops"], 4 * 32 * 128 * 512 * 512)
        unfused = self.work(*prefill, "--full", "--unfused")
        self.assertEqual(
            unfused["activation_write_bytes"] - full["activation_write_bytes"],
            2 * 2 * 32 * 512 * 512,
        )

    def test_latent_attention(self):
        work = self.work(
            "kernel", "attention", "--latent", "--phase", "decode",
            "--context", "1000", "--heads", "16", "--kv-rank", "512",
            "--nope", "128", "--rope", "64", "--value", "128", *ON,
        )
        self.assertEqual(work["kv_read_bytes"], 1000 * (512 + 64) * 2)

    def test_moe(self):
        answer = self.answer(*MOE, "--routing", "spread")
        self.assertEqual(
            [op["op"] for op in answer["ops"]],
            ["router", "top_k", "expert_up", "expert_activation",
             "expert_down", "combine"],
        )
        up = answer["ops"][2]["work"]
        self.assertEqual(up["flops"], 2 * 64 * 2 * 4096 * 2 * 14336)
        self.assertEqual(up["weight_read_bytes"], 8 * 2 * 14336 * 4096 * 2)
        plain = self.answer(*MOE, "--plain")["ops"][2]["work"]
        self.assertEqual(plain["flops"], up["flops"] / 2)

    def test_collective_and_elementwise(self):
        reduce = self.answer(
            "kernel", "collective", "all_reduce", "--bytes", "1000000",
            "--ranks", "8", *ON,
        )
        self.assertEqual(reduce["ops"][0]["work"]["communication_bytes"], 1e6)
        norm = self.work(
            "kernel", "elementwise", "residual", "--rows", "10", "--columns",
            "100", *ON,
        )
        self.assertEqual(norm["activation_read_bytes"], 2 * 10 * 100 * 2)

    def test_collectives_over_nodes_by_algorithm(self):
        across = ("kernel", "collective", "all_reduce", "--bytes", "1000000",
                  "--ranks", "16", "--nodes", "2") + ON
        chosen = self.answer(*across)["ops"][0]
        self.assertTrue(chosen["algorithm"])
        self.assertEqual(chosen["shape"], "ranks=16/2 rdma")
        ring = self.answer(*across, "--algorithm", "ring")["ops"][0]
        self.assertRegex(ring["algorithm"], "^ring: ring .* in the nodes")
        self.assertGreaterEqual(ring["time_seconds"], chosen["time_seconds"])
        self.assertIn("algorithm  ring", self.succeed(
            *across, "--algorithm", "ring").out)
        # 128 tokens of 7,168 fp8 elements to 8 of 256 experts on 16 ranks: a
        # copy to each rank that holds some, but the own one.
        copies = 128 * 16 * (1 - (15 / 16) ** 8) * 15 / 16
        dispatch = ("kernel", "collective", "expert_dispatch", "--tokens",
                    "128", "--hidden", "7168", "--experts", "256", "--top-k",
                    "8", "--ranks", "16", "--activations", "fp8") + ON
        op = self.answer(*dispatch, "--imbalance", "1")["ops"][0]
        self.assertAlmostEqual(op["work"]["communication_bytes"],
                               copies * 7168, places=3)
        hot = self.answer(*dispatch, "--imbalance", "2")
        self.assertGreater(hot["time_seconds"], op["time_seconds"])

    def test_text_says_what_and_why(self):
        for words in (GEMM, MOE):
            out = self.succeed(*words).out
            self.assert_fits(out)
            for part in ("floor ", "overlapped ", "work ", "intensity ",
                         "ridge", "advice: ", "used: h100-sxm@"):
                self.assertIn(part, out)
        self.assertNotIn("assumed:", self.succeed(*GEMM, "-q").out)

    def test_mistakes_name_the_flag(self):
        cases = [
            (2, GEMM[:-4] + ON, r"--k is missing"),
            (2, GEMM[:-2], r"--hardware is missing"),
            (2, GEMM + ("--n", "x"), r"--n"),
            (2, ATTENTION, r"--phase is missing"),
            (2, ATTENTION + ("--phase", "mixed"), r"--phase is \"mixed\""),
            (2, ATTENTION + ("--phase", "decode", "--context", "9", "--latent"),
             r"--kv-rank is missing"),
            (2, ATTENTION + ("--phase", "decode", "--context", "9", "--rope",
                             "64"), r"--rope goes with --latent alone"),
            (2, MOE + ("--routing", "uneven"), r"allowed: independent, spread"),
            (2, ("kernel", "collective") + ON, r"OP is missing"),
            (2, ("kernel", "softmax"), r"allowed: gemm, attention"),
            (1, ("kernel", "elementwise", "softmax", "--rows", "1", "--columns",
                 "1") + ON, r"OP is \"softmax\"; allowed: norm, rope"),
            (1, ("kernel", "collective", "all_reduce", "--bytes", "1",
                 "--ranks", "1") + ON, r"--ranks is 1; allowed: 2 to 65536"),
            (1, ("kernel", "collective", "all_gather", "--bytes", "1",
                 "--ranks", "8", "--algorithm", "tree") + ON,
             r"--algorithm is \"tree\"; the kernel stack has .*: ring"),
            (1, ("kernel", "collective", "all_gather", "--bytes", "1",
                 "--ranks", "8", "--algorithm", "quick") + ON,
             r"--algorithm is \"quick\"; allowed: one-shot, two-shot, ring"),
            (2, ("kernel", "collective", "expert_combine", "--bytes", "1",
                 "--ranks", "8") + ON, r"--tokens is missing"),
            (2, ("kernel", "collective", "all_gather", "--bytes", "1",
                 "--ranks", "8", "--imbalance", "2") + ON,
             r"--imbalance goes with tokens of experts alone"),
            (1, GEMM[:2] + ("--m", "0", "--n", "-1", "--k", "1") + ON,
             r"--m is 0; allowed: 1 to .*\nerror: --n is -1"),
            (1, GEMM + ("--weights", "bf17"), r"--weights \"bf17\" is unknown"),
        ]
        for code, words, message in cases:
            with self.subTest(words=words):
                self.assertRegex(self.fail_with(code, *words), message)

    def test_a_device_without_the_default_format_says_what_to_do(self):
        error = self.fail_with(1, *GEMM[:-1], "t4")
        self.assertIn("tensor formats of this device: fp16", error)
        self.assertIn("hint: --weights, --activations", error)

    def test_unknown_hardware_points_to_the_list(self):
        error = self.fail_with(
            1, *GEMM[:-1], "h100-sxn"
        )
        self.assertIn("h100-sxm", error)
        self.assertIn("mansard hardware list", error)


class RooflineTest(CliTest):
    def test_text(self):
        out = self.succeed(*ROOFLINE).out
        self.assert_fits(out)
        for part in ("ceiling", "ridge FLOP/B", "tensor bf16", "flips",
                     "layers.dense.up_proj", "kv_cache", "295."):
            self.assertIn(part, out)

    def test_json_has_the_crossovers(self):
        answer = self.succeed(*ROOFLINE, "-o", "json").json()
        flips = {
            (flip["op"], flip.get("calibrated", False)): flip
            for flip in answer["crossovers"]
        }
        self.assertEqual(flips["layers.dense.up_proj", False]["value"], 296)
        self.assertIn(("layers.dense.up_proj", True), flips)

    def test_mistakes(self):
        self.assertIn(
            "--level is \"l9\"; allowed: hbm, l2",
            self.fail_with(1, *ROOFLINE, "--level", "l9")
        )
        self.assertIn("--model", self.fail_with(2, "roofline"))


class AdviceTest(CliTest):
    def test_ops_end_with_advice(self):
        words = DECODE + ("--batch", "1", "--context", "1024", "--ops")
        lines = self.succeed(*words).out.splitlines()
        advice = [line for line in lines if line.startswith("advice: ")]
        self.assertTrue(advice)
        # A decode of one sequence reads weights.
        self.assertIn("hbm: each weight is read for few rows", " ".join(lines))
        self.assertEqual(len(advice), len(set(advice)))
