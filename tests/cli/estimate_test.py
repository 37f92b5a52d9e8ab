"""`mansard estimate`: numbers, formats, exit codes."""

import pathlib
import re
import tempfile

import support
from data_config import CONFIG
from support import DECODE, ESTIMATE, CliTest

DECODE_1024 = DECODE + ("--batch", "1", "--context", "1024")

# Llama 3.1 8B: parameters without the embedding, two bytes each, and the one
# row of the embedding that is gathered.
WEIGHT_BYTES = 2 * (8_030_261_248 - 128_256 * 4096) + 2 * 4096
# Keys and values, 32 layers x 8 heads x 128, two bytes each.
KV_BYTES_PER_TOKEN = 2 * 32 * 8 * 128 * 2
HBM_BYTES_PER_SECOND = 3.35e12


def hbm_row(response):
    rows = response["estimate"]["waterfall"]
    return next(row for row in rows if row["tier"] == "hbm")


def work_of(response, field):
    return sum(
        op["work"][field] * op["repeat_count"]
        for op in response["estimate"]["ops"]
    )


class NumbersTest(CliTest):
    def answer(self, *words):
        return self.succeed(*words, "-o", "json").json()

    def test_decode_moves_weights_and_cache_once(self):
        answer = self.answer(*DECODE_1024, "--ops", "--waterfall")
        row = hbm_row(answer)
        self.assertEqual(row["weight_bytes"], WEIGHT_BYTES)
        self.assertEqual(work_of(answer, "kv_read_bytes"), 134_217_728)
        self.assertEqual(work_of(answer, "kv_write_bytes"), 131_072)
        self.assertEqual(row["kv_cache_bytes"], 134_217_728 + 131_072)
        self.assertEqual(
            answer["memory"]["kv_cache_bytes"], str(1024 * KV_BYTES_PER_TOKEN)
        )

    def test_floor_is_bytes_over_datasheet_bandwidth(self):
        answer = self.answer(*DECODE_1024)
        lower = (WEIGHT_BYTES + 1024 * KV_BYTES_PER_TOKEN) / HBM_BYTES_PER_SECOND
        floor = answer["estimate"]["floor_seconds"]
        self.assertAlmostEqual(floor, lower, delta=0.001 * lower)
        self.assertAlmostEqual(floor * 1e3, 4.52, delta=0.005)
        self.assertGreaterEqual(answer["estimate"]["time_seconds"], floor)

    def test_kv_heads_widen_projections_and_cache(self):
        answer = self.answer(
            *DECODE_1024, "--kv-heads", "32", "--ops", "--waterfall"
        )
        # 24 more heads of 128, for keys and for values, in every layer.
        widened = WEIGHT_BYTES + 32 * 2 * 24 * 128 * 4096 * 2
        self.assertEqual(hbm_row(answer)["weight_bytes"], widened)
        self.assertAlmostEqual(widened / 1e9, 16.62, delta=0.005)
        self.assertEqual(work_of(answer, "kv_read_bytes"), 4 * 134_217_728)

    def test_waterfall_sums_to_the_step(self):
        estimate = self.answer(*DECODE_1024, "--waterfall")["estimate"]
        total = sum(row["exposed_seconds"] for row in estimate["waterfall"])
        self.assertAlmostEqual(total / estimate["time_seconds"], 1, places=9)

    def test_rows_only_when_asked(self):
        estimate = self.answer(*DECODE_1024)["estimate"]
        self.assertEqual((estimate["ops"], estimate["waterfall"]), ([], []))

    def test_context_counts_new_tokens(self):
        # Four drafts beside the token: context still ends at 1024.
        answer = self.answer(*DECODE_1024, "--tokens", "5", "--ops")
        self.assertEqual(
            answer["memory"]["kv_cache_bytes"], str(1024 * KV_BYTES_PER_TOKEN)
        )
        self.assertEqual(
            work_of(answer, "kv_write_bytes"), 5 * KV_BYTES_PER_TOKEN
        )

    def test_prefill_computes_all_of_the_context(self):
        words = ESTIMATE + ("--phase", "prefill", "--context", "512", "--ops")
        answer = self.answer(*words)
        self.assertEqual(
            work_of(answer, "kv_write_bytes"), 512 * KV_BYTES_PER_TOKEN
        )
        cached = self.answer(*words, "--tokens", "128")
        self.assertEqual(
            work_of(cached, "kv_write_bytes"), 128 * KV_BYTES_PER_TOKEN
        )
        self.assertEqual(answer["estimate"]["phase"], "prefill")

    def test_mixed_has_decodes_and_prompts(self):
        answer = self.answer(
            *ESTIMATE, "--phase", "mixed", "--batch", "3", "--context", "100",
            "--prefill-batch", "2", "--prefill-tokens", "50",
            "--prefill-context", "80", "--ops",
        )
        self.assertEqual(answer["estimate"]["phase"], "mixed")
        self.assertEqual(
            work_of(answer, "kv_write_bytes"),
            (3 * 1 + 2 * 50) * KV_BYTES_PER_TOKEN,
        )
        self.assertEqual(
            answer["memory"]["kv_cache_bytes"],
            str((3 * 100 + 2 * 80) * KV_BYTES_PER_TOKEN),
        )


class DraftingTest(CliTest):
    WORDS = (
        "estimate", "--model", "mimo-7b", "--hardware", "h100-sxm",
        "--phase", "decode", "--batch", "4", "--context", "1024",
    )

    def estimate(self, *words):
        return self.succeed(*self.WORDS, "-o", "json", *words).json()["estimate"]

    def test_gain_is_counted_with_a_rate_alone(self):
        # Four sequences; 1 + 0.5 + 0.25 tokens each where half are accepted.
        for words, tokens in (
            ((), 4),
            (("--draft-tokens", "2"), 4),
            (("--draft-tokens", "2", "--acceptance", "0.5"), 4 * 1.75),
        ):
            with self.subTest(words):
                step = self.estimate(*words)
                self.assertAlmostEqual(
                    step["output_tokens_per_second"] * step["time_seconds"],
                    tokens, places=9,
                )

    def test_drafts_are_verified_and_stand_apart(self):
        plain = self.estimate("--tokens", "3", "--ops")
        step = self.estimate("--draft-tokens", "2", "--ops")
        own = [op for op in step["ops"] if not op["op"].startswith("draft.")]
        self.assertEqual(own, plain["ops"])
        self.assertGreater(step["draft_seconds"], 0)
        self.assertAlmostEqual(
            step["draft_seconds"],
            sum(op["repeat_count"] * op["time_seconds"] for op in step["ops"]
                if op["op"].startswith("draft.")), places=12,
        )
        self.assertEqual(plain["draft_seconds"], 0)

    def test_table_says_what_drafting_costs_and_gains(self):
        out = self.succeed(
            *self.WORDS, "--draft-tokens", "2", "--acceptance", "0.5").out
        self.assert_fits(out)
        self.assertRegex(out, r"of which +[\d.]+ [mu]s drafting, \d+ % of the step")
        self.assertIn("1.75 tokens per step for each decoding sequence", out)
        self.assertRegex(out, r"\n +drafting +\d")
        plain = self.succeed(*self.WORDS, "--tokens", "3").out
        self.assertNotIn("draft", plain)
        self.assertNotIn("tokens per step", plain)

    def test_csv_has_a_part_for_drafting(self):
        out = self.succeed(*self.WORDS, "--draft-tokens", "2", "-o", "csv").out
        self.assertRegex(out, r"\ndrafting,[\d.e-]+,")

    def test_roofline_has_the_same_flags(self):
        words = ("roofline",) + self.WORDS[1:]
        out = self.succeed(*words, "--draft-tokens", "2").out
        self.assertIn("draft.lm_head", out)
        self.assertIn(
            "--draft-tokens is 65; allowed: 0 to 64",
            self.fail_with(1, *words, "--draft-tokens", "65"),
        )


class FeasibilityTest(CliTest):
    TOO_LARGE = (
        "estimate", "--model", "llama-3.1-70b", "--hardware", "h100-sxm",
        "--phase", "decode", "--context", "100",
    )

    def test_says_so_and_succeeds(self):
        result = self.succeed(*self.TOO_LARGE)
        self.assertIn("DOES NOT FIT, short of", result.out.splitlines()[0])
        self.assertFalse(
            self.succeed(*self.TOO_LARGE, "-o", "json").json()["memory"]["fits"]
        )

    def test_what_it_says_would_fit_does(self):
        for words in (
            self.TOO_LARGE,
            (
                "estimate", "--model", "llama-3.1-8b", "--hardware",
                "h100-sxm", "--phase", "decode", "--batch", "4",
                "--context", "131072",
            ),
        ):
            out = self.succeed(*words).out
            self.assert_fits(out)
            remedies = re.findall(r"(?:fits with| {11}) (--\S+) (\S+): ", out)
            self.assertGreaterEqual(len(remedies), 2, out)
            for flag, value in remedies:
                changed = list(words)
                if flag in changed:
                    changed[changed.index(flag) + 1] = value
                else:
                    changed += [flag, value]
                memory = self.succeed(*changed, "-o", "json").json()["memory"]
                self.assertTrue(memory["fits"], (flag, value))

    def test_memory_by_part(self):
        out = self.succeed(*DECODE_1024, "--memory").out
        self.assert_fits(out)
        for row in ("weights +attention", "weights +head", "cache +dense",
                    "workspace", "reserve +framework", "needed", "budget"):
            self.assertRegex(out, rf"(?m)^  {row} ")
        rows = self.succeed(*DECODE_1024, "--memory", "-o", "csv").out
        self.assertTrue(rows.startswith("part,"), rows)
        self.assertIn("\nbudget,", rows)

    def test_exit_code_is_opt_in(self):
        for form in ("table", "json"):
            result = support.run(
                *self.TOO_LARGE, "--fail-if-infeasible", "-o", form
            )
            self.assertEqual(result.code, 4)
            self.assertNotEqual(result.out, "")
        self.succeed(*DECODE_1024, "--fail-if-infeasible")

    def test_what_ifs(self):
        def step(*words):
            return self.succeed(
                "estimate", "--model", "mixtral-8x7b", "--hardware", "h100-sxm",
                "--phase", "prefill", "--context", "2", "--ops", "--waterfall",
                "-o", "json", *words
            ).json()["estimate"]

        def hbm(answer):
            return next(
                row for row in answer["waterfall"] if row["tier"] == "hbm"
            )

        def attention(answer):
            return next(
                op["work"] for op in answer["ops"]
                if op["op_kind"] == "attention_prefill"
            )

        # Two tokens that pick 2 of 8 experts each touch 3.5 distinct ones, and
        # 4 when spread: half an expert more of 3 x 4096 x 14336 in 32 layers.
        plain = step()
        self.assertEqual(
            hbm(step("--routing", "spread"))["weight_bytes"]
            - hbm(plain)["weight_bytes"],
            0.5 * 3 * 4096 * 14336 * 2 * 32,
        )
        # The whole matrix of 2 x 2 scores for each of 32 heads, mask or not:
        # scores and their exponentials, two bytes each, written and read.
        unfused = step("--unfused")
        self.assertEqual(
            attention(unfused)["activation_write_bytes"]
            - attention(plain)["activation_write_bytes"],
            2 * 4 * 32 * 2,
        )
        self.assertIn(
            "allowed: independent, spread",
            self.fail_with(2, *DECODE_1024, "--routing", "uneven"),
        )

    def test_require_fit_refuses(self):
        self.assertIn(
            "GB a device", self.fail_with(1, *self.TOO_LARGE, "--require-fit")
        )


class LayoutTest(CliTest):
    WORDS = (
        "estimate", "--model", "deepseek-v3", "--hardware", "h200-sxm",
        "--phase", "decode", "--batch", "128", "--context", "4096",
    )

    def answer(self, *words):
        return self.succeed(*self.WORDS, *words, "-o", "json").json()

    def test_latent_cache_is_on_every_tensor_rank(self):
        # 61 layers of 512 + 64 elements of two bytes.
        for words, ranks in (
            (("--tp", "8"), 1),
            (("--tp", "4", "--dp", "4"), 4),
            (("--dp", "16", "--ep", "16"), 16),
        ):
            with self.subTest(words):
                memory = self.answer(*words, "--kv", "bf16")["memory"]
                self.assertEqual(
                    memory["kv_cache_bytes"], str(70272 * 4096 * 128 // ranks)
                )

    def test_experts_exchange_tokens_across_nodes(self):
        answer = self.answer("--dp", "16", "--ep", "16", "--ops", "--waterfall")
        kinds = {op["op_kind"] for op in answer["estimate"]["ops"]}
        self.assertLessEqual({"expert_dispatch", "expert_combine"}, kinds)
        self.assertNotIn("all_reduce", kinds)
        rdma = next(
            row for row in answer["estimate"]["waterfall"]
            if row["tier"] == "rdma"
        )
        self.assertGreater(rdma["moved_bytes"], 0)

    def test_pipeline(self):
        words = ("--tp", "8", "--pp", "2", "--micro-batches", "4")
        pipeline = self.answer(*words)["estimate"]["pipeline"]
        self.assertEqual(len(pipeline["stage_seconds"]), 2)
        self.assertEqual(pipeline["micro_batch_count"], 4)
        out = self.succeed(*self.WORDS, *words).out
        self.assertIn("2 stages", out)
        self.assertIn("while it never drains", out)

    def test_broken_rules_name_flags_and_legal_sizes(self):
        cases = (
            (("--dp", "3"), "--dp", "allowed expert_size"),
            (("--tp", "8", "--ep", "3"), "--ep", "allowed expert_size"),
            (("--tp", "8", "--moe-tp", "5"), "--moe-tp", "allowed: 1, 2, 4, 8"),
            (("--pp", "62"), "--pp", "allowed: 1 to 61"),
            (("--tp", "16", "--nodes", "1"), "--nodes", "allowed: 2, 4, 8, 16"),
            (("--micro-batches", "2"), "--micro-batches", "allowed without"),
        )
        for words, flag, legal in cases:
            with self.subTest(words):
                error = self.fail_with(1, *self.WORDS, *words)
                self.assertIn(flag, error)
                self.assertIn(legal, error)


class FilesTest(CliTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "config.json").write_text(CONFIG)

    def hash_of(self, model, hardware="h100-sxm", **options):
        return self.succeed(
            "estimate", "--model", str(model), "--hardware", str(hardware),
            "--phase", "decode", "--context", "64", "-o", "json", **options
        ).json()["resolution"]["content_hash"]

    def test_every_form_of_a_model_is_the_same_model(self):
        config = self.folder / "config.json"
        expected = self.hash_of(config)
        self.assertEqual(self.hash_of(self.folder), expected)
        self.assertEqual(self.hash_of("-", stdin=CONFIG.encode()), expected)
        for form in ("json", "textproto"):
            kept = self.folder / f"kept.{form}"
            kept.write_text(
                self.succeed("model", "import", str(config), "-o", form).out
            )
            self.assertEqual(self.hash_of(kept), expected)

    def test_hardware_from_a_file_answers_as_the_catalog(self):
        kept = self.folder / "device.textproto"
        kept.write_text(
            self.succeed("hardware", "get", "h100-sxm", "-o", "textproto").out
        )
        words = ("--phase", "decode", "--context", "64", "-o", "json")
        from_file = self.succeed(
            "estimate", "--model", "llama-3.1-8b", "--hardware", str(kept), *words
        ).json()
        from_catalog = self.succeed(*ESTIMATE, *words).json()
        self.assertEqual(from_file["estimate"], from_catalog["estimate"])
        self.assertRegex(
            from_file["resolution"]["hardware_profile_revision"], "^inline@"
        )

    def test_broken_files_name_file_and_place(self):
        cases = (
            ("missing.json", None, "No such file"),
            ("typo.textproto", "hidden_sise: 3", "1:12.*hidden_sise"),
            ("empty.json", " \n", "it is empty"),
            ("cut.json", '{"hidden_size": ', "cut.json"),
            ("short.textproto", "hidden_size: 8", "layer_kinds"),
            ("large.json", '{"a": "' + "x" * 1_000_000 + '"}', "larger than"),
        )
        for name, text, message in cases:
            with self.subTest(name):
                path = self.folder / name
                if text is not None:
                    path.write_text(text)
                error = self.fail_with(
                    1, "estimate", "--model", str(path), "--hardware",
                    "h100-sxm", "--phase", "decode", "--context", "64",
                )
                self.assertRegex(error, message)


class TableTest(CliTest):
    CASES = {
        "decode": DECODE_1024 + ("--ops", "--waterfall"),
        "mixed_tp4": (
            "estimate", "--model", "llama-3.1-70b", "--hardware", "h200-sxm",
            "--tp", "4", "--phase", "mixed", "--batch", "32", "--context",
            "4096", "--prefill-tokens", "512", "--ops", "--waterfall",
        ),
        "too_large": FeasibilityTest.TOO_LARGE,
    }

    def test_golden(self):
        for name, words in self.CASES.items():
            with self.subTest(name):
                out = self.succeed(*words).out
                self.assert_fits(out)
                self.assert_golden(
                    f"estimate_{name}.txt", support.shape_of(out)
                )

    def test_quiet_leaves_notes_out(self):
        loud = self.succeed(*DECODE_1024).out
        quiet = self.succeed(*DECODE_1024, "-q").out
        self.assertTrue(loud.startswith(quiet))
        for word in ("assumed:", "used:", "next:"):
            self.assertIn(word, loud)
            self.assertNotIn(word, quiet)

    def test_parts_sum_to_the_step(self):
        lines = self.succeed(*DECODE_1024, "-q").out.splitlines()
        start = next(i for i, line in enumerate(lines) if "  part " in line)
        shares = [float(line.split()[2].lstrip("<")) for line in lines[start + 1:]]
        self.assertAlmostEqual(sum(shares[:-1]), 100, delta=1)
        self.assertEqual(shares[-1], 100)
