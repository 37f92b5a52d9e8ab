"""`mansard validate`: predictions against measured rows."""

import csv
import io
import os
import pathlib
import pty
import re
import subprocess
import tempfile

from support import CliTest, environment, shape_of

HEADER = (
    "device,dtype_in,dtype_weight,dtype_out,quant,batch,m,n,k,latency_us,"
    "framework,framework_version,scope,flag,source"
)


def row(m, microseconds, device="H100_SXM", dtype="bf16", quant="none",
        software="vLLM,0.24.0", scope="gemm", flag="", n=4096):
    return (
        f"{device},{dtype},{dtype},bf16,{quant},1,{m},{n},4096,{microseconds},"
        f"{software},{scope},{flag},somebody/bench@0:a.csv"
    )


# 2 * 4096^3 FLOP are 139 us on an H100 at its peak.
ROWS = (
    row(4096, 200),
    row(4096, 9999, software="SGLang,0.5.14"),
    row(4096, 150, flag="faster_than_peak_flops"),
    row(64, 9999, n=64),
    row(4096, 90, dtype="fp8", quant="per_tensor", scope="act_quant+gemm"),
    row(4096, 9999, device="ABACUS"),
    row(4096, 9999, dtype="posit16"),
    row(0, 5),
    row(4096, 300, software="PyTorch,"),
)


def masked(text):
    """Without figures, of which errors may be negative."""
    return re.sub(r"(?<= )-\d[\d.,]*(?= )", "0", shape_of(text))


class ValidateTest(CliTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.table = self.write("gemm.csv", ROWS)
        # The tier does not hang on fits.
        self.words = (
            "validate", "--measured", self.table, "--all-rows", "--tier", "spec",
        )

    def write(self, name, rows):
        path = self.folder / name
        path.write_text("\n".join((HEADER, *rows)) + "\n")
        return str(path)

    def test_table(self):
        out = self.succeed(*self.words, "--worst", "1").out
        self.assert_fits(out)
        self.assert_golden("validate.txt", masked(out))

    def test_markdown(self):
        out = self.succeed(*self.words, "-o", "md").out
        self.assert_golden("validate.md", masked(out))

    def test_quiet_leaves_the_legend_out(self):
        self.assertIn("MAPE, P50", self.succeed(*self.words).out)
        self.assertNotIn("MAPE, P50", self.succeed(*self.words, "-q").out)

    def test_json(self):
        groups = self.succeed(*self.words, "-o", "json").json()["judgements"]
        group = {
            (one["device"], one["framework"], one["slice"]): one for one in groups
        }
        vllm = group["H100_SXM", "vLLM", "bf16"]
        self.assertEqual(vllm["stack"], "generic")
        self.assertEqual(vllm["tier"], "spec")
        self.assertEqual(vllm["row_count"], 2)
        self.assertEqual(vllm["in_target"]["row_count"], 1)
        # 138.9 us of 200.
        self.assertAlmostEqual(
            vllm["in_target_roofline"]["mean_ratio"], 0.305, delta=0.002)
        self.assertEqual(vllm["target"], {"statistic": "mean", "ratio": 0.06})
        self.assertEqual(len(vllm["deciles"]), 2)
        self.assertEqual(vllm["worst_rows"][0]["row"], 3)
        self.assertEqual(vllm["worst_rows"][0]["shape"], "m=64 n=64 k=4096")
        self.assertAlmostEqual(
            vllm["worst_rows"][0]["measured_seconds"], 9999e-6)
        nowhere = group["ABACUS", "vLLM", "bf16"]
        self.assertEqual(nowhere["answered_count"], 0)
        self.assertEqual(nowhere["unanswered"], [
            {"reason": "device not in the catalog", "row_count": 1}])
        self.assertNotIn("stack", nowhere)

    def test_csv_is_a_group_a_row(self):
        rows = list(csv.DictReader(
            io.StringIO(self.succeed(*self.words, "-o", "csv").out), strict=True))
        groups = self.succeed(*self.words, "-o", "json").json()["judgements"]
        self.assertEqual(len(rows), len(groups))
        for line, group in zip(rows, groups):
            self.assertEqual(line["device"], group["device"])
            if group["answered_count"] > 0:
                self.assertAlmostEqual(
                    float(line["all_mean_ratio"]), group["all"]["mean_ratio"])
            else:
                self.assertEqual(line["all_mean_ratio"], "")

    def test_the_rows_own_stack_answers_unless_another_is_asked(self):
        words = ("validate", "--measured", self.table, "--all-rows", "-o", "json")
        for more, stack in (
            ((), "vllm-0.24"),
            (("--tier", "spec"), "generic"),
            (("--hardware", "h200-sxm", "--stack", "trtllm-1.3.0rc20"),
             "trtllm-1.3.0rc20"),
        ):
            groups = self.succeed(*words, *more).json()["judgements"]
            self.assertIn(
                ("vLLM", "bf16", stack),
                [(one["framework"], one["slice"], one.get("stack"))
                 for one in groups],
            )

    def test_predictions_stand_beside_every_row(self):
        out = str(self.folder / "out.csv")
        result = self.succeed(*self.words, "--predictions", out)
        self.assertEqual(result.err, f"wrote {out}\n")
        lines = pathlib.Path(out).read_text().splitlines()
        self.assertEqual(
            lines[0],
            HEADER + ",predicted_us,p10_us,p90_us,floor_us,bound,tier,extrapolated",
        )
        for line, given in zip(lines[1:], ROWS, strict=True):
            self.assertTrue(line.startswith(given + ","), line)
        rows = list(csv.DictReader(io.StringIO("\n".join(lines)), strict=True))
        # Neither device nor format nor shape.
        for index in (5, 6, 7):
            self.assertEqual(rows[index]["predicted_us"], "")
            self.assertEqual(rows[index]["tier"], "")
        for index in (0, 1, 2, 3, 4, 8):
            self.assertLessEqual(float(rows[index]["floor_us"]),
                                 float(rows[index]["p10_us"]))
            self.assertLess(float(rows[index]["p10_us"]),
                            float(rows[index]["p90_us"]))
            self.assertEqual(rows[index]["tier"], "spec")
        self.assertEqual(rows[0]["bound"], "compute")
        # 138.9 us, to the device's own peak.
        self.assertAlmostEqual(float(rows[0]["floor_us"]), 138.9, delta=0.2)

    def test_predictions_of_several_tables(self):
        other = self.write("other.csv", ROWS[:1])
        words = ("validate", "--measured", f"{self.table},{other}",
                 "--predictions", str(self.folder / "out.csv"))
        self.succeed(*words)
        self.assertTrue((self.folder / "out.gemm.csv").exists())
        self.assertEqual(
            len((self.folder / "out.other.csv").read_text().splitlines()), 2)
        twice = self.fail_with(
            2, "validate", "--measured", f"{self.table},{self.table}",
            "--predictions", str(self.folder / "out.csv"))
        self.assertIn("two tables would both go to", twice)

    def test_no_row(self):
        empty = self.write("empty.csv", ())
        self.assertEqual(
            self.succeed("validate", "--measured", empty).out,
            "No row is judged.\n")

    def test_mistakes(self):
        strange = self.folder / "strange.csv"
        strange.write_text("a,b\n1,2\n")
        for code, words, message in (
            (1, ("--measured", str(self.folder / "none.csv")), "Cannot read"),
            (1, ("--measured", str(self.folder)), "it is a folder"),
            (1, ("--measured", str(strange)), "are those of no known table"),
            (1, ("--measured", self.table, "--hardware", "x"),
             'error: --hardware: "x" is not in the catalog'),
            (1, ("--measured", self.table, "--stack", "x"),
             'error: --stack: no hardware in the catalog has "x"'),
            (1, ("--measured", self.table, "--predictions",
                 str(self.folder / "no" / "out.csv")), "Cannot write"),
            (2, ("--measured", self.table + ","), "separated by commas"),
        ):
            with self.subTest(words):
                self.assertIn(message, self.fail_with(code, "validate", *words))

    def test_progress_is_for_terminals(self):
        table = self.write("long.csv", ROWS[:1] * 4001)
        words = ("validate", "--measured", table, "--all-rows")
        self.assertEqual(self.succeed(*words).err, "")
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [os.environ["MANSARD"], *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=child, env=environment())
        os.close(child)
        drawn = b""
        while True:
            try:
                chunk = os.read(parent, 1 << 16)
            except OSError:  # The terminal is gone once nobody writes to it.
                break
            if not chunk:
                break
            drawn += chunk
        os.close(parent)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertIn(b"4000 of 4001 rows", drawn)
        self.assertTrue(drawn.endswith(b"\r\x1b[K"))
