"""`mansard model` and `mansard hardware`."""

import pathlib
import tempfile

from data_config import CONFIG, PARAMETERS
from support import CliTest


class ModelTest(CliTest):
    def test_list(self):
        out = self.succeed("model", "list").out
        self.assert_fits(out)
        self.assert_golden("model_list.txt", out)
        names = [
            graph["name"]
            for graph in self.succeed("model", "list", "-o", "json").json()[
                "model_graphs"
            ]
        ]
        self.assertEqual(names, sorted(names))
        self.assertIn("modelGraphs/llama-3.1-8b", names)

    def test_get(self):
        out = self.succeed("model", "get", "llama-3.1-8b").out
        self.assert_fits(out)
        self.assertIn("8,030,261,248", out)
        self.assertIn("131,072 B", out)
        self.assert_golden("model_get.txt", out)
        graph = self.succeed("model", "get", "llama-3.1-8b", "-o", "json").json()
        self.assertEqual(graph["size"]["parameter_count"], "8030261248")

    def test_get_takes_a_whole_name(self):
        self.assertEqual(
            self.succeed("model", "get", "modelGraphs/llama-3.1-8b").out,
            self.succeed("model", "get", "llama-3.1-8b").out,
        )

    def test_textproto_is_a_data_file(self):
        out = self.succeed("model", "get", "llama-3.1-8b", "-o", "textproto").out
        self.assertIn("# proto-message: mansard.v1.ModelGraph\n", out)
        for output_only in ("\nname:", "revision_id:", "size {"):
            self.assertNotIn(output_only, out)

    def test_unknown_id_suggests(self):
        self.assert_golden(
            "model_get_unknown.txt", self.fail_with(1, "model", "get", "llama-3.1-9b")
        )


class DiffTest(CliTest):
    def test_fields_that_differ(self):
        out = self.succeed("model", "diff", "llama-3.1-8b", "llama-3.1-70b").out
        self.assert_fits(out)
        self.assert_golden("model_diff.txt", out)

    def test_layer_kinds_go_by_name(self):
        answer = self.succeed(
            "model", "diff", "llama-3.1-8b", "mixtral-8x7b", "-o", "json"
        ).json()
        differences = {d["field"]: d for d in answer["differences"]}
        # Both have 32 layers of hidden size 4096; one kind is on either side.
        self.assertNotIn("layer_count", differences)
        self.assertNotIn("hidden_size", differences)
        self.assertEqual(differences["layers.dense.count"]["a"], "32")
        self.assertNotIn("b", differences["layers.dense.count"])
        self.assertEqual(
            differences["vocabulary_size"],
            {"field": "vocabulary_size", "a": "128256", "b": "32000"},
        )

    def test_a_file_against_the_catalog(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(CONFIG)
            answer = self.succeed(
                "model", "diff", "llama-3.1-8b", str(path), "-o", "json"
            ).json()
        fields = {d["field"]: d for d in answer["differences"]}
        self.assertEqual(fields["size.parameter_count"]["b"], str(PARAMETERS))

    def test_the_same_model(self):
        out = self.succeed("model", "diff", "llama-3.1-8b", "llama-3.1-8b").out
        self.assertIn("No differences.", out)

    def test_both_are_needed(self):
        err = self.fail_with(2, "model", "diff", "llama-3.1-8b")
        self.assertIn("B is missing", err)


class ImportTest(CliTest):
    def test_counts_parameters(self):
        self.assertEqual(PARAMETERS, 32_762_123_264)
        out = self.succeed("model", "import", "-", stdin=CONFIG.encode()).out
        self.assert_fits(out)
        self.assertIn("32,762,123,264", out)
        self.assertIn("262,144 B", out)
        self.assertIn("QK norm", out)
        self.assertIn("ignored: initializer_range", out)
        self.assertIn("Nothing is stored.", out)
        self.assert_golden("model_import.txt", out)

    def test_file_folder_and_stdin_are_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(CONFIG)
            answers = {
                self.succeed("model", "import", name, "-o", "json", stdin=stdin).out
                for name, stdin in (
                    (str(path), b""), (folder, b""), ("-", CONFIG.encode())
                )
            }
        self.assertEqual(len(answers), 1)

    def test_refusals(self):
        cases = (
            (b'{"architectures": ["Nonesuch"]}', "Nonesuch"),
            (b"[1, 2", "JSON"),
            (b"", "standard input: it is empty"),
            (b" " * 1_000_001, "larger than 1000000 bytes"),
        )
        for text, message in cases:
            with self.subTest(message):
                error = self.fail_with(1, "model", "import", "-", stdin=text)
                self.assertIn(message, error)

    def test_folder_without_config(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn(
                "a folder without config.json",
                self.fail_with(1, "model", "import", folder),
            )


class HardwareTest(CliTest):
    def test_list(self):
        out = self.succeed("hardware", "list").out
        self.assert_fits(out)
        self.assert_golden("hardware_list.txt", out)
        ids = [line.split()[0] for line in out.splitlines()[1:6]]
        self.assertEqual(ids, sorted(ids))
        h100 = next(line for line in out.splitlines() if "h100-sxm" in line)
        self.assertIn("989", h100)
        self.assertIn("3.350", h100)

    def test_get_shows_every_source(self):
        out = self.succeed("hardware", "get", "h100-sxm").out
        self.assert_fits(out)
        profile = self.succeed("hardware", "get", "h100-sxm", "-o", "json").json()
        rates = profile["device"]["peak_rates"]
        for rate in rates:
            self.assertIn(f"{rate['precision']} {rate['unit']}", out)
        words = " ".join(out.split())
        for rate in rates:
            source = rate["flops_per_second"]["provenance"]["source"]
            self.assertIn(" ".join(source.split()), words)

    def test_get_shows_what_a_pair_of_a_mesh_can_use(self):
        out = self.succeed("hardware", "get", "mi300x").out
        self.assert_fits(out)
        self.assertRegex(
            out, r"nvlink, a pair alone +64(\.0*)? GB/s +2 +datasheet +\[")
        self.assertNotIn(
            "a pair alone", self.succeed("hardware", "get", "h100-sxm").out)

    def test_textproto_round_trips(self):
        out = self.succeed("hardware", "get", "h100-sxm", "-o", "textproto").out
        self.assertIn("# proto-message: mansard.v1.HardwareProfile\n", out)
        self.assertNotIn("revision_id:", out)

    def test_unknown_id_suggests(self):
        self.assert_golden(
            "hardware_get_unknown.txt",
            self.fail_with(1, "hardware", "get", "h100-smx"),
        )
