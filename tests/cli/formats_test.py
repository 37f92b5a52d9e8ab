"""`-o csv` and `-o md` of every command that prints a table."""

import csv
import io
import re

from data_config import CONFIG
from support import DECODE, CliTest

PASS = DECODE + ("--batch", "4", "--context", "1024")
MIXED_TP = (
    "estimate", "--model", "llama-3.1-70b", "--hardware", "h200-sxm", "--tp",
    "4", "--phase", "mixed", "--batch", "32", "--context", "4096",
    "--prefill-tokens", "512",
)
TOO_LARGE = (
    "estimate", "--model", "llama-3.1-70b", "--hardware", "h100-sxm",
    "--phase", "decode", "--context", "100",
)
OPS = (
    "op,repeat_count,each_seconds,share_ratio,floor_ratio,limit,tier,"
    "extrapolated,raised_to_floor,shape"
)
PARTS = (
    "part,time_seconds,share_ratio,bound,limit,work_flops,bytes,comm_bytes"
)
# Words and the header of the one table that csv prints.
COMMANDS = (
    (PASS, PARTS),
    (PASS + ("--ops",), OPS),
    (PASS + ("--ops", "--waterfall"), OPS),
    (PASS + ("--waterfall",),
     "row,moved_bytes,peak_bytes_per_second,achieved_bytes_per_second,"
     "busy_seconds,exposed_seconds,share_ratio"),
    (("kernel", "gemm", "--m", "64", "--n", "6144", "--k", "4096",
      "--hardware", "h100-sxm"), OPS),
    (("roofline",) + PASS[1:],
     "op,repeat_count,arithmetic_intensity_flops_per_byte,"
     "achieved_flops_per_second,share_ratio,bound,limit"),
    (("model", "list"),
     "model,parameters,active_parameters,kv_bytes_per_token,"
     "state_bytes_per_sequence,max_context_tokens,weights,layers"),
    (("model", "diff", "llama-3.1-8b", "llama-3.1-70b"), "field,a,b"),
    (("model", "get", "llama-3.1-8b"), "tensors,parameters,share_ratio"),
    (("model", "import", "-"), "tensors,parameters,share_ratio"),
    (("hardware", "list"),
     "hardware,memory_bytes,bandwidth_bytes_per_second,"
     "bf16_flops_per_second,fp8_flops_per_second,fabric,stacks"),
    (("hardware", "get", "h100-sxm"), "device,value,value_unit,kind,source"),
    (("status",), "service,health"),
)


class CsvTest(CliTest):
    def rows(self, *words, **options):
        result = self.succeed(*words, "-o", "csv", **options)
        return list(csv.DictReader(io.StringIO(result.out), strict=True))

    def test_every_command_prints_one_table_and_nothing_else(self):
        for words, header in COMMANDS:
            with self.subTest(words):
                out = self.succeed(
                    *words, "-o", "csv", stdin=CONFIG.encode()
                ).out
                lines = list(csv.reader(io.StringIO(out), strict=True))
                self.assertEqual(",".join(lines[0]), header)
                self.assertGreater(len(lines), 1)
                self.assertEqual({len(line) for line in lines}, {len(lines[0])})

    def test_ops_sum_to_the_step(self):
        for words in (PASS, MIXED_TP):
            with self.subTest(words):
                step = self.succeed(*words, "-o", "json").json()["estimate"][
                    "time_seconds"
                ]
                total = sum(
                    int(row["repeat_count"]) * float(row["each_seconds"])
                    for row in self.rows(*words, "--ops")
                )
                self.assertAlmostEqual(total, step, delta=1e-9 * step)

    def test_numbers_are_those_of_json(self):
        tiers = {
            row["tier"]: row
            for row in self.succeed(*PASS, "--waterfall", "-o", "json").json()[
                "estimate"
            ]["waterfall"]
        }
        rows = {row["row"]: row for row in self.rows(*PASS, "--waterfall")}
        for field in ("moved_bytes", "peak_bytes_per_second", "busy_seconds"):
            self.assertEqual(float(rows["hbm"][field]), tiers["hbm"][field])
        self.assertEqual(rows["launch"]["moved_bytes"], "")
        parts = self.rows(*PASS)
        self.assertEqual(parts[-1]["part"], "step")
        self.assertAlmostEqual(
            sum(float(row["time_seconds"]) for row in parts[:-1]),
            float(parts[-1]["time_seconds"]),
        )

    def test_a_datasheet_names_units_and_sources(self):
        rows = {
            row["device"]: row for row in self.rows("hardware", "get", "h100-sxm")
        }
        bandwidth = rows["hbm bandwidth"]
        self.assertEqual(float(bandwidth["value"]), 3.35e12)
        self.assertEqual(bandwidth["value_unit"], "bytes_per_second")
        for row in rows.values():
            self.assertNotEqual(row["source"], "")
            self.assertNotRegex(row["source"], r"^\[\d+\]$")

    def test_what_is_no_row_goes_to_standard_error(self):
        result = self.succeed(*TOO_LARGE, "-o", "csv")
        self.assertRegex(result.err, r"^warning: does not fit: .*\n$")
        self.assertTrue(result.out.startswith("part,"))


def tables_of(text):
    """Tables as lists of rows, rows as lists of cells."""
    tables = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            tables[-1].append(
                [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            )
        elif tables[-1]:
            tables.append([])
    return [table for table in tables if table]


class MarkdownTest(CliTest):
    def test_tables_are_whole(self):
        for words, _ in COMMANDS:
            with self.subTest(words):
                out = self.succeed(
                    *words, "-o", "md", stdin=CONFIG.encode()
                ).out
                tables = tables_of(out)
                self.assertGreaterEqual(len(tables), 1)
                for table in tables:
                    self.assertEqual(
                        {len(row) for row in table}, {len(table[0])}
                    )
                    self.assertGreater(len(table), 2)
                    for rule in table[1]:
                        self.assertRegex(rule, r"^(:---|---:)$")
                # A table ends at a blank line, or takes in what follows.
                self.assertNotRegex(out, r"(?m)^\|.*\n[^|\n]")
                self.assertNotRegex(out, r"(?m)^[^|\n].*\n\|")

    def test_cells_and_prose_are_those_of_the_table(self):
        for words in (PASS + ("--ops", "--waterfall"), MIXED_TP,
                      ("hardware", "get", "h100-sxm"), ("model", "list")):
            with self.subTest(words):
                text = self.succeed(*words).out
                page = self.succeed(*words, "-o", "md").out
                cells = re.sub(r"(?m)^\|[ :|-]*---[ :|-]*\|$", "", page)
                cells = re.sub(r"(?m)^\|| \|(?= |$)", " ", cells)
                self.assertEqual(cells.split(), text.split())


class RefusalTest(CliTest):
    def test_version_is_no_table(self):
        for form in ("csv", "md"):
            self.assertIn(
                "allowed: table, json", self.fail_with(2, "version", "-o", form)
            )
