"""`mansard estimate` with --sensitivity, --what-if, --overlap and -o svg."""

import csv
import io
import re
import xml.etree.ElementTree as xml

import support
from support import CliTest

STEP = (
    "estimate", "--model", "llama-3.1-70b", "--hardware", "h100-sxm", "--tp",
    "4", "--phase", "decode", "--batch", "32", "--context", "4096",
)
SVG = "{http://www.w3.org/2000/svg}"


class WhatIfTest(CliTest):
    def answer(self, *words):
        return self.succeed(*STEP, *words, "-o", "json").json()

    def step_of(self, *words):
        return self.answer(*words)["estimate"]["time_seconds"]

    def changes(self, *words):
        rows = self.answer("--what-if", *words)["what_if"]["changes"]
        return {(row["kind"], row["value"]): row for row in rows}

    def test_golden(self):
        out = self.succeed(
            *STEP, "--what-if", "--sensitivity", "--price-per-hour", "2.5"
        ).out
        self.assert_fits(out)
        # Their order is by time, which constants decide.
        shape = re.sub(r"(?<= )-\d[\d.,]*(?= )", "0", support.shape_of(out))
        lines = shape.splitlines()
        self.assert_golden("estimate_what_if.txt", "\n".join(sorted(lines)))

    def test_each_is_what_the_flag_gives(self):
        changes = self.changes("--what-if-hardware", "h200-sxm")
        for key, words in (
            (("weights", "fp8-e4m3"),
             ("--weights", "fp8", "--activations", "fp8")),
            (("kv_cache", "fp8-e4m3"), ("--kv", "fp8")),
            (("request_count", "64"), ("--batch", "64")),
            (("tensor_size", "8"), ("--tp", "8")),
            (("residual_into_norm", "off"), ("--unfused-residual",)),
            (("flash_attention", "off"), ("--unfused",)),
            (("cuda_graphs", "off"), ("--eager",)),
            (("overlap", "two-batch"), ("--overlap", "two-batch")),
            (("hardware", "h200-sxm"), ("--hardware", "h200-sxm")),
        ):
            with self.subTest(key):
                base = STEP
                for i in range(0, len(words) - 1, 2):
                    if words[i] in base:
                        at = base.index(words[i])
                        base = base[:at] + base[at + 2:]
                direct = self.succeed(*base, *words, "-o", "json").json()
                self.assertEqual(
                    changes[key]["time_seconds"],
                    direct["estimate"]["time_seconds"],
                )

    def test_costs_only_with_a_price(self):
        row = self.changes()[("tensor_size", "8")]
        self.assertNotIn("cost_per_million_tokens", row)
        row = self.changes("--price-per-hour", "h100-sxm=3.6")[
            ("tensor_size", "8")
        ]
        expected = 8 * 3.6 / 3600 * 1e6 * row["seconds_per_token"]
        self.assertAlmostEqual(row["cost_per_million_tokens"], expected)

    def test_csv_has_what_cannot_be(self):
        out = self.succeed(*STEP, "--what-if", "-o", "csv").out
        rows = list(csv.DictReader(io.StringIO(out)))
        reasons = {row["what_if"]: row["reason"] for row in rows}
        self.assertIn("nvfp4", reasons["weights nvfp4"])
        self.assertEqual(reasons["as it is"], "")

    def test_sensitivity_shares_add_up(self):
        answer = self.answer("--sensitivity")
        rows = answer["sensitivities"]
        self.assertEqual(len(rows), 12)
        self.assertAlmostEqual(sum(row["share_ratio"] for row in rows), 1)
        step = answer["estimate"]["time_seconds"]
        for row in rows:
            self.assertAlmostEqual(
                row["time_seconds"] + row["gain_seconds"], step
            )

    def test_overlap_rows_add_up_to_the_step(self):
        estimate = self.answer(
            "--overlap", "two-batch", "--ops", "--waterfall"
        )["estimate"]
        step = estimate["time_seconds"]
        exposed = [row["exposed_seconds"] for row in estimate["waterfall"]]
        self.assertGreaterEqual(min(exposed), 0)
        self.assertAlmostEqual(sum(exposed) / step, 1, places=9)
        ops = sum(
            op["repeat_count"] * op["time_seconds"] for op in estimate["ops"]
        )
        self.assertAlmostEqual(
            (ops - estimate["hidden_seconds"]) / step, 1, places=9
        )

    def test_each_op_has_a_waterfall(self):
        ops = self.answer("--ops", "--waterfall")["estimate"]["ops"]
        for op in ops:
            rows = op["waterfall"]
            self.assertEqual(len(rows), 10)
            total = sum(row["exposed_seconds"] for row in rows)
            self.assertAlmostEqual(total, op["time_seconds"], places=12)
        ops = self.answer("--ops")["estimate"]["ops"]
        self.assertEqual(ops[0]["waterfall"], [])

    def test_refusals(self):
        for words, flag in (
            (("--overlap", "all"), "--overlap"),
            (("--overlap", "two-batch", "--overlap-efficiency", "2"),
             "--overlap-efficiency"),
            (("--overlap", "two-batch", "--overlap-sms", "132"),
             "--overlap-sms"),
            (("--overlap-sms", "20"), "--overlap"),
            (("--price-per-hour", "2"), "--what-if"),
            (("--what-if", "--price-per-hour", "cheap"), "--price-per-hour"),
            (("--what-if", "--what-if-hardware", "h900"), "h900"),
        ):
            with self.subTest(words):
                result = support.run(*STEP, *words)
                self.assertNotEqual(result.code, 0)
                self.assertIn(flag, result.err)


class SvgTest(CliTest):
    def picture(self, *words):
        return self.succeed(*STEP, *words, "-o", "svg").out

    def test_golden(self):
        out = self.picture()
        self.assertEqual(out, self.picture())
        # The first line names the format, with digits.
        first, rest = out.split("\n", 1)
        masked = re.sub(r'(?<= (x|y)=")[\d.]+|(?<=width=")[\d.]+', "0", rest)
        self.assert_golden(
            "waterfall.svg", first + "\n" + support.shape_of(masked)
        )

    def test_is_described_and_adds_up(self):
        root = xml.fromstring(self.picture())
        self.assertIn("llama-3.1-70b", root.find(SVG + "title").text)
        self.assertIn("hbm", root.find(SVG + "desc").text)
        self.assertIn("prefers-color-scheme:dark", root.find(SVG + "style").text)
        # The last bars are the step's: a row each that is exposed.
        bars = [
            rect for rect in root.findall(SVG + "rect")
            if rect.get("class") != "ground"
        ]
        self.assertGreater(len(bars), 4)
        for before, after in zip(bars, bars[1:]):
            end = float(before.get("x")) + float(before.get("width"))
            self.assertAlmostEqual(end, float(after.get("x")), delta=0.9)
        width = sum(float(bar.get("width")) for bar in bars)
        self.assertAlmostEqual(width, 470, delta=3)

    def test_is_of_estimates_only(self):
        result = support.run("model", "list", "-o", "svg")
        self.assertEqual(result.code, 2)
        self.assertIn("allowed: table, json, csv, md", result.err)
