"""`mansard engine import`: command lines of inference engines as engines."""

import csv
import io
import pathlib
import shutil
import tempfile

from support import CliTest, Server

VLLM = (
    "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 8 "
    "--max-num-seqs 256 --max-num-batched-tokens 8192 "
    "--gpu-memory-utilization=0.9 --kv-cache-dtype fp8 --quantization fp8 "
    "--enable-expert-parallel --no-enable-prefix-caching --max-model-len 32k "
    "--speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 3}' "
    "--async-scheduling --port 8000 --brand-new-flag 7"
)
SGLANG = (
    "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3-0324 "
    "--tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend deepep "
    "--max-running-requests 512 --trust-remote-code"
)
OPTIONS = """
enable_attention_dp: true
moe_expert_parallel_size: 8
max_num_tokens: 3136
cuda_graph_config:
  enable_padding: true
kv_cache_config:
  dtype: fp8
  free_gpu_memory_fraction: 0.8
moe_config:
  backend: TRTLLM
speculative_config:
  decoding_type: MTP
  num_nextn_predict_layers: 3
"""


class EngineImportTest(CliTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mansard-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.settings = {"MANSARD_STATE_DIR": str(self.folder / "state")}
        self.options = self.folder / "options.yaml"
        self.options.write_text(OPTIONS)
        self.trtllm = (
            "trtllm-serve deepseek-ai/DeepSeek-R1-0528 --tp_size 8 "
            f"--max_batch_size 512 --extra_llm_api_options {self.options}"
        )

    def ok(self, *words, **options):
        return self.succeed("engine", "import", *words, settings=self.settings,
                            **options)

    def refused(self, code, *words):
        return self.fail_with(code, "engine", "import", *words,
                              settings=self.settings)

    def test_flags_and_what_they_become(self):
        for name, words in (
            ("vllm", ("--hardware", "h100-sxm", "--vllm-args", VLLM)),
            ("sglang", ("--hardware", "h200-sxm", "--sglang-args", SGLANG)),
            ("trtllm", ("--hardware", "b200-sxm", "--trtllm-args", self.trtllm)),
        ):
            with self.subTest(name=name):
                self.assert_golden(
                    f"import_{name}.csv", self.ok(*words, "-o", "csv").out
                )
                text = self.ok(*words).out
                self.assert_fits(text)
                self.assertIn("unknown" if name == "vllm" else "default", text)

    def test_a_file_of_the_engine(self):
        text = self.ok(
            "--hardware", "h100-sxm", "--vllm-args", VLLM, "-o", "textproto"
        ).out
        self.assert_golden("import_vllm.textproto", text)
        applied = self.succeed(
            "engine", "apply", "prod-a", "-f", "-", stdin=text.encode(),
            settings=self.settings,
        )
        self.assertTrue(applied.out.startswith("created engines/prod-a@"))

    def test_it_is_stored_when_asked(self):
        words = ("--hardware", "h200-sxm", "--sglang-args", SGLANG)
        self.assertIn("Nothing is stored", self.ok(*words).err)
        self.ok(*words, "--apply", "prod-b", "--dry-run")
        self.assertFalse((self.folder / "state").exists())
        stored = self.ok(*words, "--apply", "prod-b", "-o", "json").json()["engine"]
        self.assertEqual(stored["name"], "engines/prod-b")
        self.assertEqual(stored["target"]["kernel_stack"], "sglang-0.5.14")
        self.assertEqual(stored["scheduling"], "SCHEDULING_PREFILL_FIRST")
        batch = self.succeed(
            "batch", "--engine", "prod-b", "--context", "2048", "--itl", "50ms",
            settings=self.settings,
        )
        self.assertRegex(batch.out, r"^batch  [1-9]")
        # Once more it is an update, of nothing.
        again = self.ok(*words, "--apply", "prod-b", "-o", "json").json()["engine"]
        self.assertEqual(again["etag"], stored["etag"])

    def test_free_memory_is_a_share_of_what_fits(self):
        def tokens(fraction):
            return int(
                self.ok(
                    "--hardware", "h100-sxm", "-o", "json", "--trtllm-args",
                    "trtllm-serve llama-3.1-8b --kv_cache_free_gpu_memory_fraction "
                    + fraction,
                ).json()["engine"]["limits"]["kv_token_capacity_count"]
            )

        whole = tokens("1")
        self.assertGreater(whole, 100_000)
        self.assertEqual(tokens("0.5"), whole // 2)
        # More than a share of all memory would leave.
        self.assertAlmostEqual(tokens("0.9") / whole, 0.9, places=4)

    def test_models(self):
        hardware = ("--hardware", "h100-sxm", "-o", "json")

        def model(name):
            answer = self.ok(*hardware, "--vllm-args", f"vllm serve {name}").json()
            return answer["engine"]["target"]["model_graph"]

        for name, graph in (
            ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
            ("meta-llama/Llama-3.3-70B-Instruct -tp 8", "llama-3.1-70b"),
            ("/models/Qwen3-32B", "qwen3-32b"),
            ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 -tp 4 -ep",
             "qwen3-235b-a22b-fp8"),
            ("openai/gpt-oss-120b", "gpt-oss-120b"),
            ("mistralai/Mixtral-8x7B-Instruct-v0.1 -tp 2", "mixtral-8x7b"),
            ("google/gemma-2-9b-it", "gemma-2-9b"),
        ):
            self.assertEqual(model(name), f"modelGraphs/{graph}", name)
        self.assertIn(
            'no model of the catalog is "mistralai/Mistral-7B-Instruct-v0.3"; '
            "closest: mistral-7b-v0.1, ",
            self.refused(2, *hardware, "--vllm-args",
                         "vllm serve mistralai/Mistral-7B-Instruct-v0.3"),
        )
        named = self.ok(
            *hardware, "--model", "mistral-7b-v0.2", "--vllm-args",
            "vllm serve mistralai/Mistral-7B-Instruct-v0.3",
        ).json()
        self.assertEqual(
            named["engine"]["target"]["model_graph"],
            "modelGraphs/mistral-7b-v0.2",
        )
        self.assertIn(
            "--vllm-args names no model",
            self.refused(2, *hardware, "--vllm-args", "--max-num-seqs 8"),
        )

    def test_what_the_model_decides(self):
        def flags(command):
            text = self.ok(
                "--hardware", "h200-sxm", "-o", "csv", "--vllm-args", command
            ).out
            return {
                row["flag"]: (row["fate"], row["becomes"])
                for row in csv.DictReader(io.StringIO(text))
            }

        dense = flags("vllm serve llama-3.1-8b -tp 2 -ep -q fp8")
        self.assertEqual(dense["-ep"][0], "no effect")
        self.assertEqual(dense["-q"][0], "engine")
        experts = flags("vllm serve deepseek-v3 -tp 8 -ep -q fp8")
        self.assertEqual(experts["-ep"], ("engine", "--ep 8"))
        self.assertEqual(experts["-q"][0], "no effect")

    def test_stacks(self):
        def answer(hardware, *words):
            return self.ok(
                "--hardware", hardware, "-o", "json", *words,
                "--vllm-args", "vllm serve llama-3.1-8b",
            )

        newest = answer("h100-sxm").json()
        self.assertEqual(newest["engine"]["target"]["kernel_stack"], "vllm-0.24")
        older = answer("h100-sxm", "--stack", "vllm-0.14").json()
        self.assertEqual(older["engine"]["target"]["kernel_stack"], "vllm-0.14")
        none = answer("mi300x")
        self.assertEqual(none.json()["engine"]["target"]["kernel_stack"], "")
        self.assertIn("note: no stack of this hardware is of vLLM", none.err)

    def test_strict(self):
        words = ("--hardware", "h100-sxm", "--vllm-args", VLLM)
        self.assertIn(
            "--strict: unknown flags: --brand-new-flag",
            self.refused(2, *words, "--strict"),
        )
        self.ok("--hardware", "h100-sxm", "--strict", "--vllm-args",
                "vllm serve llama-3.1-8b --port 8000")

    def test_mistakes(self):
        hardware = ("--hardware", "h100-sxm")
        vllm = hardware + ("--vllm-args",)
        table = (
            (2, hardware, "0 of --vllm-args, --sglang-args and --trtllm-args"),
            (2, vllm + ("x", "--sglang-args", "y"), "2 of --vllm-args"),
            (2, ("--vllm-args", "vllm serve m"), "--hardware is missing"),
            (2, vllm + ("vllm serve llama-3.1-8b -tp x",),
             '--vllm-args: -tp is "x"; allowed: a whole number'),
            (2, vllm + (SGLANG,), "--vllm-args is a command of SGLang"),
            (2, vllm + ("vllm serve m 'x",), "--vllm-args has a quote that is not closed"),
            (2, vllm + ("vllm serve llama-3.1-8b -tp 2 -tp 4",), "allowed: one of them"),
            # A rule of the service, by the command's own flag.
            (1, vllm + ("vllm serve llama-3.1-8b -tp 3",), "-tp is 3, which does not divide"),
            (1, vllm + ("vllm serve llama-3.1-8b --config no.yaml",), "Cannot read no.yaml"),
            (1, ("--hardware", "h1000", "--vllm-args", "vllm serve m"), "No hardware profile"),
            (2, ("--hardware", "x.json", "--vllm-args", "vllm serve m"), "allowed: an id"),
            (2, vllm + ("vllm serve llama-3.1-8b -tp 0 --max-num-seqs 0",), "--max-num-seqs"),
        )
        for code, words, message in table:
            with self.subTest(words=words):
                self.assertIn(message, self.refused(code, *words))

    def test_a_server_says_the_same(self):
        words = ("--hardware", "b200-sxm", "--trtllm-args", self.trtllm)
        with Server(f"--state_dir={self.folder / 'state'}") as server:
            remote = ("--server", server.address)
            for output in ("csv", "textproto"):
                self.assertEqual(
                    self.ok(*remote, *words, "-o", output).out,
                    self.ok(*words, "-o", output).out,
                )
            self.ok(*remote, *words, "--apply", "prod-c")
            self.assertIn(
                "prod-c",
                self.succeed(*remote, "engine", "list").out,
            )
