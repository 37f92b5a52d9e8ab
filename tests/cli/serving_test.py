"""`mansard batch` and `mansard engine predict|capacity|latency-model`: answers
that other commands confirm, text, errors, and a server beside this process."""

import csv
import http.server
import io
import json
import pathlib
import shutil
import tempfile
import threading
import time

from support import CliTest, Server, run

TARGET = (
    "--model", "llama-3.1-8b", "--hardware", "h100-sxm", "--stack", "vllm-0.24",
    "--tp", "2",
)
SHAPE = ("--input-tokens", "2048", "--output-tokens", "256")


class EngineMetrics:
    """What a vLLM shows that always has 16 requests of SHAPE in flight, for a
    `with` block. `per_token`: seconds of an output token. `pages`: what it shows
    first: texts, or how many requests have ended."""

    def __init__(self, per_token, pages=()):
        self.per_token = per_token
        self.pages = list(pages)
        self.idle = False
        self.start = time.monotonic()
        self.seconds = 0

    def page(self):
        if not self.idle:
            self.seconds = time.monotonic() - self.start
        count = 1000 * self.seconds
        if self.pages:
            count = self.pages.pop(0)
            if isinstance(count, str):
                return count.encode()
        means = {
            "request_prompt_tokens": 2048,
            "request_generation_tokens": 256,
            "e2e_request_latency_seconds": 16 / 1000,
            "request_time_per_output_token_seconds": self.per_token,
        }
        return "".join(
            f"vllm:{name}_sum {mean * count}\nvllm:{name}_count {count}\n"
            for name, mean in means.items()
        ).encode()

    def __enter__(self):
        metrics = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(metrics.page())

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/metrics"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class ServingTest(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="mansard-cli-"))
        cls.settings = {"MANSARD_STATE_DIR": str(cls.folder / "state")}
        for words in (
            ("prod-a",) + TARGET + ("--max-sequences", "200"),
            ("narrow",) + TARGET + ("--kv-tokens", "100000"),
            ("decoder",) + TARGET + ("--role", "decode"),
        ):
            made = run("engine", "create", *words, settings=cls.settings)
            assert made.code == 0, made.err

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def ok(self, *words, **options):
        return self.succeed(*words, settings=self.settings, **options)

    def answer(self, *words, **options):
        return self.ok(*words, "-o", "json", **options).json()

    def refused(self, code, *words, **options):
        return self.fail_with(code, *words, settings=self.settings, **options)

    def step(self, batch, context, engine="prod-a"):
        """The estimate of one decode pass."""
        return self.answer(
            "estimate", "--engine", engine, "--phase", "decode",
            "--batch", str(batch), "--context", str(context),
        )["estimate"]["time_seconds"]

    def test_the_next_batch_breaks_the_target(self):
        answer = self.answer(
            "batch", "--engine", "prod-a", "--context", "4096", "--itl", "9ms"
        )
        batch = answer["max_batch_request_count"]
        self.assertEqual(answer["limit"], "BATCH_LIMIT_SLO")
        self.assertEqual(answer["broken_target"], "inter_token_latency_seconds")
        # Steps are looked up in curves; estimates price every op.
        self.assertAlmostEqual(
            answer["step_time"]["seconds"] / self.step(batch, 4096), 1, delta=0.01
        )
        self.assertAlmostEqual(
            answer["next_batch_seconds"] / self.step(batch + 1, 4096), 1, delta=0.01
        )
        self.assertLessEqual(answer["step_time"]["seconds"], 9e-3)
        self.assertGreater(answer["next_batch_seconds"], 9e-3)
        self.assertAlmostEqual(
            answer["slo_headroom_seconds"], 9e-3 - answer["step_time"]["seconds"]
        )
        self.assertAlmostEqual(
            answer["output_tokens_per_second"],
            batch / answer["step_time"]["seconds"],
            delta=1e-6 * answer["output_tokens_per_second"],
        )
        text = self.ok(
            "batch", "--engine", "prod-a", "--context", "4096", "--itl", "9ms"
        ).out
        self.assert_fits(text)
        self.assertRegex(text, rf"^batch  {batch}   [\d,]+ tok/s   MEMORY-bound\n")
        self.assertRegex(
            text,
            rf"inter-token latency: {batch + 1} sequences would take "
            r"[\d.]+ ms, [\d.]+ us more than 9.00 ms\n",
        )

    def test_what_else_limits(self):
        # Blocks of 16 tokens: 63 of them for 1,000.
        cache = self.answer("batch", "--engine", "narrow", "--context", "1000")
        self.assertEqual(cache["limit"], "BATCH_LIMIT_KV_BUDGET")
        self.assertEqual(cache["max_batch_request_count"], 100000 // (63 * 16))
        budget = self.answer(
            "batch", "--engine", "narrow", "--context", "1000",
            "--kv-budget", "10080",
        )
        self.assertEqual(budget["max_batch_request_count"], 10)
        engine = self.answer("batch", "--engine", "prod-a", "--context", "100")
        self.assertEqual(engine["limit"], "BATCH_LIMIT_ENGINE")
        self.assertEqual(engine["max_batch_request_count"], 200)
        # 8,192 tokens a pass: 8,092 of prompts leave 100 sequences, or 33 of
        # three tokens each.
        chunk = (
            "batch", "--engine", "prod-a", "--context", "100",
            "--prefill-tokens", "8092",
        )
        self.assertEqual(self.answer(*chunk)["max_batch_request_count"], 100)
        drafts = self.answer(*chunk, "--draft-tokens", "2", "--acceptance", "0.5")
        self.assertEqual(drafts["max_batch_request_count"], 33)
        self.assertAlmostEqual(drafts["tokens_per_pass_count"], 1 + 0.5 + 0.25)

    def test_a_mix_of_contexts(self):
        words = ("batch", "--engine", "prod-a", "--itl", "9ms", "--context")
        short, mixed, long = (
            self.answer(*words, context)["max_batch_request_count"]
            for context in ("1024", "1024=1,8192=1", "8192")
        )
        self.assertGreater(short, mixed)
        self.assertGreater(mixed, long)
        self.assertEqual(
            self.answer(*words, "8192=7")["max_batch_request_count"], long
        )

    def test_no_batch_at_all(self):
        words = ("batch", "--engine", "prod-a", "--context", "4096", "--itl", "1us")
        self.assertEqual(self.answer(*words)["max_batch_request_count"], 0)
        result = run(*words, "--fail-if-infeasible", settings=self.settings)
        self.assertEqual(result.code, 4)
        self.assertIn("1 sequence would take", result.out)

    def test_a_target_is_as_its_engine(self):
        words = ("--context", "4096", "--itl", "9ms")
        engine = self.answer("batch", "--engine", "prod-a", *words)
        target = self.answer("batch", *TARGET, "--max-sequences", "200", *words)
        for answer in (engine, target):
            revision = answer["resolution"].pop("engine_revision")
            self.assertTrue(revision.startswith("engines/"))
        self.assertEqual(engine, target)
        self.assertNotIn(
            "target", self.ok("engine", "list").out, "nothing is stored"
        )

    def test_a_target_of_files(self):
        graph = self.ok("model", "get", "llama-3.1-8b", "-o", "textproto").out
        file = self.folder / "mine.textproto"
        file.write_text(graph)
        words = ("--hardware", "h100-sxm", "--context", "4096", "--itl", "9ms")
        self.assertEqual(
            self.answer("batch", "--model", str(file), *words)[
                "max_batch_request_count"
            ],
            self.answer("batch", "--model", "llama-3.1-8b", *words)[
                "max_batch_request_count"
            ],
        )

    def test_served_load(self):
        words = (
            "batch", "--engine", "prod-a", "--context", "2176", *SHAPE,
            "--ttft", "2s", "--tpot", "20ms",
        )
        answer = self.answer(*words)
        self.assertGreater(answer["max_batch_request_count"], 1)
        self.assertLessEqual(answer["time_per_output_token_seconds"], 20e-3)
        self.assertAlmostEqual(
            answer["end_to_end_latency_seconds"],
            answer["time_to_first_token_seconds"]
            + 255 * answer["time_per_output_token_seconds"],
            places=6,
        )
        self.assertIn("first token", self.ok(*words).out)

    def test_batch_in_csv(self):
        text = self.ok(
            "batch", "--engine", "prod-a", "--context", "4096", "--itl", "9ms",
            "-o", "csv",
        ).out
        [row] = csv.DictReader(io.StringIO(text))
        self.assertEqual(row["limit"], "target")
        self.assertEqual(row["broken_target"], "inter_token_latency_seconds")
        self.assertGreater(float(row["next_batch_seconds"]), 9e-3)
        self.assertEqual(row["end_to_end_latency_seconds"], "")

    def test_predictions(self):
        idle = ("engine", "predict", "prod-a", *SHAPE)
        busy = idle + (
            "--running", "100", "--kv-usage", "0.5", "--waiting", "4",
            "--prefill-in-flight", "8000",
        )
        [first] = self.answer(*idle)["rows"]
        [second] = self.answer(*busy, "--ttft", "1ms")["rows"]
        first, second = first["prediction"], second["prediction"]
        for one in ("time_to_first_token", "time_per_output_token"):
            self.assertGreater(second[one]["seconds"], first[one]["seconds"])
            self.assertLessEqual(first[one]["p10_seconds"], first[one]["seconds"])
        self.assertNotIn("slo_headroom_seconds", first)
        self.assertFalse(second["meets_slo"])
        self.assertLess(second["slo_headroom_seconds"], 0)
        self.assert_fits(self.ok(*busy).out)

    def test_predictions_of_rows(self):
        file = self.folder / "queries.csv"
        file.write_text(
            "engine, input_token_count, output_token_count,"
            "running_request_count,time_to_first_token_seconds\n"
            ",2048,256,10,1\n\nnarrow,2048,256,10,\nnowhere,1,,,\n,0,,,\n"
        )
        text = self.ok(
            "engine", "predict", "prod-a", "--queries", str(file), "-o", "csv"
        ).out
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(
            [row["engine"] for row in rows], ["prod-a", "narrow", "nowhere", "prod-a"]
        )
        self.assertEqual(rows[0]["meets_slo"], "yes")
        self.assertEqual(rows[1]["meets_slo"], "")
        self.assertIn('No engine named "nowhere"', rows[2]["error"])
        self.assertIn("input_token_count", rows[3]["error"])
        one = self.answer(
            "engine", "predict", "prod-a", *SHAPE, "--running", "10",
            "--ttft", "1s",
        )["rows"][0]["prediction"]
        self.assertEqual(
            float(rows[0]["end_to_end_latency_seconds"]),
            one["end_to_end_latency"]["seconds"],
        )
        as_json = json.dumps(
            {
                "queries": [
                    {"engine": "engines/prod-a", "input_token_count": 2048,
                     "output_token_count": 256,
                     "state": {"running_request_count": 10}}
                ]
            }
        ).encode()
        [row] = self.answer(
            "engine", "predict", "--queries", "-", stdin=as_json
        )["rows"]
        self.assertEqual(
            row["prediction"]["end_to_end_latency"], one["end_to_end_latency"]
        )

    def test_many_rows_go_in_several_calls(self):
        file = self.folder / "many.csv"
        file.write_text(
            "input_token_count\n" + "".join(f"{i}\n" for i in range(1, 1101))
        )
        answer = self.answer("engine", "predict", "prod-a", "--queries", str(file))
        times = [
            row["prediction"]["time_to_first_token"]["seconds"]
            for row in answer["rows"]
        ]
        self.assertEqual(len(times), 1100)
        self.assertGreater(times[-1], times[0])

    def test_wrong_rows(self):
        def refused(text, *words):
            return self.fail_with(
                words[0], "engine", "predict", *words[1:], "--queries", "-",
                stdin=text.encode(), settings=self.settings,
            )

        self.assertIn(
            'standard input:1: no column is called "tokens"; allowed: engine, ',
            refused("tokens\n1\n", 1, "prod-a"),
        )
        self.assertIn(
            "standard input:3: input_token_count is \"x\"; allowed: a number",
            refused("input_token_count\n1\nx\n", 1, "prod-a"),
        )
        self.assertIn(
            "standard input:2: 2 cells; the header has 1",
            refused("input_token_count\n1,2\n", 1, "prod-a"),
        )
        self.assertIn("has no rows", refused("input_token_count\n", 1, "prod-a"))
        self.assertIn("ENGINE is missing", refused("input_token_count\n1\n", 2))

    def test_capacity(self):
        words = ("engine", "capacity", "prod-a", *SHAPE)
        free = self.answer(*words)
        held = self.answer(*words, "--tpot", "20ms", "--ttft", "2s")
        self.assertTrue(held["meets_slo"])
        self.assertLessEqual(held["time_per_output_token_seconds"], 20e-3)
        self.assertLess(held["requests_per_second"], free["requests_per_second"])
        self.assertAlmostEqual(
            free["output_tokens_per_second"], 256 * free["requests_per_second"],
            places=6,
        )
        fast = self.answer(*words, "--objective", "latency")
        self.assertEqual(fast["batch_request_count"], 1)
        text = self.ok(*words, "--tpot", "20ms", "--ttft", "2s").out
        self.assertIn("all targets hold", text)
        self.assert_fits(text)
        never = run(*words, "--tpot", "1us", "--fail-if-infeasible",
                    settings=self.settings)
        self.assertEqual(never.code, 4)
        self.assertIn("no batch holds the targets", never.out)

    def test_latency_model(self):
        words = ("engine", "latency-model", "prod-a", *SHAPE, "--max-batch", "64")
        answer = self.answer(*words)
        self.assertEqual(answer["max_batch_request_count"], 64)
        # Half way through its output a request has 2,176 tokens.
        for batch in (1, 16, 64):
            line = answer["alpha_seconds"] + batch * answer["beta_seconds"]
            self.assertAlmostEqual(
                line / self.step(batch, 2176), 1,
                delta=answer["max_decode_error_ratio"] + 0.01,
            )
        text = self.ok(*words).out
        for name in ("alpha", "beta", "gamma", "delta"):
            self.assertRegex(text, rf"(?m)^  {name} +[\d.]+ [mu]s ")
        self.assert_fits(text)
        decoder = self.answer("engine", "latency-model", "decoder", *SHAPE)
        self.assertNotIn("gamma_seconds", decoder)
        rows = list(
            csv.DictReader(io.StringIO(self.ok(*words, "-o", "csv").out))
        )
        self.assertEqual(
            [row["parameter"] for row in rows],
            ["alpha", "beta", "gamma", "delta"],
        )

    def test_load_and_observations(self):
        words = ("engine", "load", "narrow", *SHAPE, "--concurrency", "16")
        before = self.answer(*words)
        per_token = before["time_per_output_token"]
        self.assertLess(per_token["p10_seconds"], per_token["seconds"])
        # Arriving as often as they are served, as many are in flight.
        arriving = self.answer(
            "engine", "load", "narrow", *SHAPE,
            "--rate", str(before["requests_per_second"]),
        )
        self.assertAlmostEqual(arriving["concurrency_count"], 16, delta=0.01)
        text = self.ok(*words).out
        self.assertRegex(text, r"(?m)^  per output token +[\d.]+ [mu]s ")
        self.assertRegex(text, r"(?m)^  requests/s +[\d.]+ +[\d.]+ +[\d.]+$")
        rows = csv.DictReader(io.StringIO(self.ok(*words, "-o", "csv").out))
        most = {row["field"]: row for row in rows}["most_requests_per_second"]
        self.assertLess(float(most["p10"]), float(most["value"]))
        self.assertEqual(
            float(most["p90"]), before["most_requests_interval"]["p90"]
        )
        # Its stack is of kernels; the text says so as the answer does.
        self.assertIn("kernels alone", before["resolution"]["warnings"][0])
        self.assertRegex(text, r"(?m)^warning: kernel stack .* is of kernels alone")
        self.assertIn("\nused: ", text)
        self.assert_fits(text)
        table = (
            "input_token_count,output_token_count,concurrency_count,"
            "time_per_output_token_seconds\n"
            + f"2048,256,16,{1.25 * per_token['seconds']}\n" * 3
        ).encode()
        observe = ("engine", "observe", "narrow")
        self.assertEqual(self.ok(*observe, "--apply", "on").out, "No observations.\n")
        dry = self.ok(*observe, "--file", "-", "--dry-run", stdin=table).out
        self.assertIn("passes 1.250 of 3 observations", dry)
        self.assertEqual(self.answer(*words)["time_per_output_token"], per_token)
        self.ok(*observe, "--file", "-", stdin=table)
        after = self.answer(*words)
        self.assertAlmostEqual(
            after["time_per_output_token"]["seconds"] / per_token["seconds"],
            1.25, places=6,
        )
        self.assertTrue(after["resolution"]["observed_factors"]["applied"])
        self.assertIn(": applied", self.ok(*words).out)
        rows = list(csv.DictReader(io.StringIO(
            self.ok(*observe, "--file", "-", "--forget", "-o", "csv",
                    stdin=table).out
        )))
        self.assertEqual(len(rows), 3)
        self.assertAlmostEqual(float(rows[0]["step_ratio"]), 1.25, places=6)
        self.ok(*observe, "--apply", "off")
        self.assertEqual(
            self.answer(*words)["time_per_output_token"], per_token
        )
        self.assertEqual(self.ok(*observe, "--forget").out, "No observations.\n")

    def test_metrics_of_an_engine_are_observations(self):
        words = ("engine", "load", "narrow", *SHAPE, "--concurrency", "16")
        per_token = self.answer(*words)["time_per_output_token"]["seconds"]
        with EngineMetrics(1.5 * per_token) as engine:
            observe = ("engine", "observe", "narrow", "--from", engine.url)
            dry = self.ok(*observe, "--every", "200ms", "--dry-run").out
            # The clocks of both sides differ by milliseconds.
            self.assertRegex(dry, r"passes 1\.[45]\d+ of 1 observations")
            done = self.ok(
                *observe, "--every", "200ms", "--reports", "3", "--forget"
            )
            self.assertRegex(
                done.err,
                r"^(\d+ requests of 2048 \+ 256 tokens, 1[567][.\d]* in the "
                r"engine, .*\n){3}$",
            )
            self.assertRegex(done.out, r"passes 1\.[45]\d+ of 3 observations")
            engine.idle = True
            refused = self.refused(1, *observe, "--every", "100ms")
            self.assertIn("0 requests ended in", refused)
        self.ok("engine", "observe", "narrow", "--forget")

    def test_a_watch_outlives_what_its_engine_shows(self):
        pages = (
            "<!DOCTYPE html>",
            100,
            "up 1",
            "",
            105,  # 5 requests: too few, the run goes on.
            110,
            50,  # Started anew.
            250,
        )
        with EngineMetrics(0.02, pages) as engine:
            words = ("engine", "observe", "narrow", "--from", engine.url)
            done = self.ok(*words, "--every", "100ms", "--reports", "2", "--dry-run")
            none = f"{engine.url}: the metrics are of no engine that is known; "
            lines = done.err.splitlines()
            self.assertEqual(
                lines[0], f"{engine.url}: line 1 is not a metric: <!DOCTYPE html>"
            )
            self.assertTrue(lines[1].startswith(none), lines[1])
            self.assertTrue(lines[2].startswith(none), lines[2])
            self.assertRegex(lines[3], r"^5 requests ended in [\d.]+m?s; needed: 10$")
            self.assertRegex(lines[4], "^10 requests of 2048 ")
            self.assertEqual(
                lines[5], "the engine has started anew: its counters have fallen"
            )
            self.assertRegex(lines[6], "^200 requests of 2048 ")
            self.assertEqual(len(lines), 7)
            for page, message in (
                ("<html>", f"{engine.url}: line 1 is not a metric: <html>"),
                ("up 1", f"{engine.url}: the metrics are of no engine that is known"),
                ("vllm:num_requests_running 0", "they appear once it has answered a request"),
            ):
                engine.pages = [page]
                self.assertIn(message, self.refused(1, *words, "--every", "100ms"))
        self.assertEqual(self.ok(*words[:3], "--forget").out, "No observations.\n")

    def test_mistakes_of_observations(self):
        observe = ("engine", "observe", "narrow")
        table = (
            (2, observe, b"", "--file, --from, --forget or --apply is missing"),
            (2, observe + ("--every", "1s"), b"", "belong to --from"),
            (2, observe + ("--from", "x", "--file", "-"), b"", "one or the other"),
            (2, observe + ("--from", "x"), b"", '"x" is no address'),
            (2, observe + ("--from", "http://127.0.0.1:1", "--every", "1"), b"", '--every is "1"'),
            (2, observe + ("--from", "http://127.0.0.1:1", "--reports", "-1"), b"", "0 or more"),
            (1, observe + ("--from", "http://127.0.0.1:1"), b"", "127.0.0.1:1/metrics cannot be read"),
            (2, observe + ("--apply", "yes"), b"", "allowed: on, off"),
            (1, observe + ("--file", "-"), b"speed\n1\n", "no column is called"),
            (1, observe + ("--file", "-"), b"step_seconds\nfast\n", "allowed: a number"),
            (1, observe + ("--file", "-"), b"step_seconds\n1\n", "observations[0].step"),
            (2, ("engine", "load", "narrow", *SHAPE), b"", "one of them is needed"),
            (1, ("engine", "load", "narrow", *SHAPE, "--rate", "-1"), b"", "--rate is -1"),
        )
        for code, words, stdin, message in table:
            with self.subTest(words=words):
                self.assertIn(message, self.refused(code, *words, stdin=stdin))

    def test_mistakes_name_the_flag(self):
        batch = ("batch", "--engine", "prod-a", "--context")
        predict = ("engine", "predict", "prod-a")
        capacity = ("engine", "capacity", "prod-a", *SHAPE)
        table = (
            (2, ("batch", "--context", "9"), "--engine, or --model and --hardware, is missing"),
            (2, ("batch", "--engine", "prod-a"), "--context is missing"),
            (2, batch + ("9", "--tp", "2"), "allowed: one or the other"),
            (2, batch + ("9", "--itl", "20"), '--itl is "20"; allowed: such as 500ms'),
            (2, batch + ("9", "--itl=-1s",), '--itl is "-1s"; allowed: such as'),
            (2, batch + ("a=b",), '--context is "a=b"; allowed: tokens, or TOKENS=SHARE'),
            (2, batch + ("9", "--acceptance", "most"), "allowed: a number, 0 to 1"),
            (1, batch + ("0",), "--context is 0; allowed: 1 to "),
            (1, batch + ("9", "--draft-tokens", "65"), "--draft-tokens is 65; allowed: 0 to 64"),
            (1, batch + ("9", "--kv-budget", "-4"), "--kv-budget is -4; allowed: 0 to "),
            (1, batch + ("9", "--ttft", "1s"), "--ttft"),
            (1, ("batch", "--engine", "prod-b", "--context", "9"), 'did you mean "prod-a"?'),
            (1, ("batch", *TARGET[:-1], "3", "--context", "9"), "--tp is 3, which does not divide"),
            (2, ("engine", "predict"), "ENGINE is missing"),
            (2, predict, "--input-tokens is missing"),
            (1, predict + ("--input-tokens", "0"), "--input-tokens is 0; allowed: 1 to "),
            (1, predict + ("--input-tokens", "9", "--kv-usage", "2"), "--kv-usage is 2; allowed: 0 to 1"),
            (2, capacity + ("--objective", "fame"), "allowed: throughput, latency"),
            (2, ("engine", "capacity", "prod-a"), "--input-tokens is missing"),
            (1, ("engine", "latency-model", "nowhere", *SHAPE), "No engine named"),
        )
        for code, words, message in table:
            with self.subTest(words=words):
                self.assertIn(message, self.refused(code, *words))

    def test_a_server_says_the_same(self):
        questions = (
            ("batch", "--engine", "prod-a", "--context", "4096", "--itl", "9ms"),
            ("engine", "predict", "prod-a", *SHAPE, "--running", "7"),
            ("engine", "capacity", "prod-a", *SHAPE, "--itl", "15ms"),
            ("engine", "latency-model", "prod-a", *SHAPE),
            ("batch", *TARGET, "--context", "4096", "--itl", "9ms"),
        )
        with Server(f"--state_dir={self.settings['MANSARD_STATE_DIR']}") as server:
            for words in questions:
                for output in ("table", "json", "csv", "md"):
                    with self.subTest(words=words, output=output):
                        self.assertEqual(
                            self.ok(
                                "--server", server.address, *words, "-o", output
                            ).out,
                            self.ok(*words, "-o", output).out,
                        )
            note = self.ok("--server", server.address, *questions[-1]).err
            self.assertIn("note: Computed by this program, with the catalog of", note)
