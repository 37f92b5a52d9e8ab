"""Mistakes in the command line, and help."""

from support import DECODE, ESTIMATE, CliTest

MIXED = ESTIMATE + ("--phase", "mixed", "--context", "64")
OK = DECODE + ("--context", "64")

# Name of the case, exit code, words.
CASES = (
    ("no_command", 2, ("-q",)),
    ("unknown_command", 2, ("estmate",)),
    ("unknown_subcommand", 2, ("model", "gte")),
    ("missing_subcommand", 2, ("hardware",)),
    ("unknown_flag", 2, OK + ("--btach", "3")),
    ("unexpected_argument", 2, OK + ("extra",)),
    ("missing_model", 2, ("estimate",)),
    ("missing_phase", 2, ESTIMATE),
    ("missing_context", 2, DECODE),
    ("missing_id", 2, ("model", "get")),
    ("missing_file", 2, ("model", "import")),
    ("missing_value", 2, OK + ("--tp",)),
    ("flag_twice", 2, OK + ("--tp", "2", "--tp", "4")),
    ("bad_phase", 2, ESTIMATE + ("--phase", "decod", "--context", "64")),
    ("bad_number", 2, OK + ("--batch", "1e3")),
    ("beyond_int32", 2, OK + ("--batch", "2147483648")),
    ("below_int32", 2, OK + ("--batch", "-2147483649")),
    ("beyond_int64", 2, DECODE + ("--context", "9223372036854775808")),
    ("prefill_beyond_int32", 2, ESTIMATE + (
        "--phase", "prefill", "--context", "2147483648")),
    ("tokens_beyond_context", 2, OK + ("--tokens", "65")),
    ("context_without_the_token", 2, DECODE + ("--context", "0")),
    ("prefill_flag_in_decode", 2, OK + ("--prefill-tokens", "8")),
    ("mixed_without_prefill_tokens", 2, MIXED),
    ("prefill_tokens_beyond_context", 2, MIXED + (
        "--prefill-tokens", "9", "--prefill-context", "8")),
    ("zero_tp", 2, OK + ("--tp", "0")),
    ("two_from_stdin", 2, (
        "estimate", "--model", "-", "--hardware", "-", "--phase", "decode",
        "--context", "64")),
    ("bad_output", 2, OK + ("-o", "yaml")),
    ("textproto_of_a_list", 2, ("hardware", "list", "-o", "textproto")),
    ("bad_timeout", 2, OK + ("--timeout", "0s")),
    ("bad_server", 2, OK + ("--server", "nowhere")),
    ("acceptance_without_drafts", 2, OK + ("--acceptance", "0.5")),
    ("bad_acceptance", 2, OK + ("--draft-tokens", "1", "--acceptance", "80%")),
    ("acceptance_of_other_tokens", 2, OK + (
        "--tokens", "2", "--draft-tokens", "3", "--acceptance", "0.5")),
    ("drafts_beyond_context", 2, OK + ("--draft-tokens", "64")),
    ("validate_nothing", 2, ("validate",)),
    ("validate_on_a_server", 2, (
        "validate", "--measured", "a.csv", "--server", "localhost:7447")),
    ("bad_tier", 2, ("validate", "--measured", "a.csv", "--tier", "measured")),
    ("tier_and_stack", 2, (
        "validate", "--measured", "a.csv", "--tier", "spec", "--stack", "x")),
    ("bad_worst", 2, ("validate", "--measured", "a.csv", "--worst", "-1")),
    ("worst_in_csv", 2, (
        "validate", "--measured", "a.csv", "--worst", "3", "-o", "csv")),
    # Refused by the service: exit 1, its fields by our flags.
    ("tp_does_not_divide", 1, OK + ("--tp", "3")),
    ("several_rules", 1, OK + (
        "--batch", "0", "--weights", "fp9", "--pp", "33", "--dp", "-3")),
    ("negative_tokens", 1, OK + ("--tokens", "-1")),
    ("context_too_long", 1, DECODE + ("--context", "131073")),
    ("mixed_prompt_empty", 1, MIXED + ("--prefill-tokens", "0")),
    ("kv_heads_do_not_divide", 1, OK + ("--kv-heads", "5")),
    ("drafts_without_modules", 1, OK + (
        "--draft-tokens", "2", "--acceptance", "1.5")),
    ("prompts_draft", 1, (
        "estimate", "--model", "mimo-7b", "--hardware", "h100-sxm",
        "--phase", "prefill", "--context", "64", "--draft-tokens", "1")),
    ("encoder_without_cross_attention", 1, OK + ("--encoder-tokens", "1601")),
    ("unknown_hardware", 1, (
        "estimate", "--model", "llama-3.1-8b", "--hardware", "h100-smx",
        "--phase", "decode", "--context", "64")),
    ("unknown_stack", 1, OK + ("--stack", "vllm")),
)


class MistakesTest(CliTest):
    def test_golden(self):
        texts = []
        for name, code, words in CASES:
            with self.subTest(name):
                error = self.fail_with(code, *words)
                if code == 2:  # One line, and perhaps what to do next.
                    lines = error.splitlines()
                    self.assertLessEqual(len(lines), 2)
                    self.assertTrue(all(
                        line.startswith("hint: ") for line in lines[1:]))
                texts.append(f"[{name}] exit {code}\n{error}")
        self.assert_golden("mistakes.txt", "\n".join(texts))

    def test_every_rule_is_a_line_with_its_flag(self):
        error = self.fail_with(
            1, *OK, "--batch", "0", "--weights", "fp9", "--pp", "33")
        for flag in ("--batch is 0", '--weights "fp9"', "--pp is 33"):
            self.assertIn(f"error: {flag}", error)


class HelpTest(CliTest):
    COMMANDS = (
        (), ("estimate",), ("model",), ("model", "list"), ("model", "get"),
        ("model", "import"), ("hardware",), ("hardware", "list"),
        ("hardware", "get"), ("status",), ("validate",), ("version",),
        ("batch",), ("engine",), ("engine", "create"), ("engine", "import"),
        ("engine", "predict"), ("engine", "capacity"),
        ("engine", "latency-model"), ("engine", "load"), ("engine", "observe"),
    )

    def test_every_command_has_help_that_fits(self):
        for words in self.COMMANDS:
            with self.subTest(words):
                result = self.succeed(*words, "--help")
                self.assertEqual(result.err, "")
                self.assertIn("Usage: mansard", result.out)
                self.assert_fits(result.out)

    def test_examples(self):
        for words in self.COMMANDS:
            if words in ((), ("estimate",), ("model", "import"), ("status",),
                         ("validate",), ("batch",), ("engine", "import"),
                         ("engine", "predict"), ("engine", "capacity")):
                self.assertIn("Examples:", self.succeed(*words, "--help").out)

    def test_no_words_is_help(self):
        self.assertEqual(self.succeed().out, self.succeed("--help").out)

    def test_version(self):
        out = self.succeed("version").out
        self.assertRegex(out, r"^mansard \d+\.\d+\.\d+\n$")
        self.assertEqual(self.succeed("--version").out, out)
        self.assertEqual(
            self.succeed("version", "-o", "json").json()["version"], out.split()[1]
        )

    def test_flags_before_and_after_the_command(self):
        self.assertEqual(
            self.succeed("-o", "json", "model", "list").out,
            self.succeed("model", "list", "-o", "json").out,
        )
