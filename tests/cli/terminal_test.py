"""Colours on a terminal, and nowhere else."""

import os
import pty
import subprocess

from support import DECODE, CliTest, environment

WORDS = DECODE + ("--context", "1024", "--waterfall")
ESCAPE = "\033["


def on_terminal(*words, **settings):
    """Output of a command whose standard output is a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [os.environ["MANSARD"], *words],
        stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.DEVNULL,
        env=environment(**settings),
    )
    os.close(child)
    chunks = []
    while True:
        try:
            chunk = os.read(parent, 1 << 16)
        except OSError:  # The terminal is gone once nobody writes to it.
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(parent)
    process.wait(timeout=60)
    return b"".join(chunks).decode().replace("\r\n", "\n")


class ColorTest(CliTest):
    def test_terminal_has_colors(self):
        self.assertIn(ESCAPE, on_terminal(*WORDS))

    def test_off(self):
        plain = self.succeed(*WORDS).out
        self.assertNotIn(ESCAPE, plain)
        self.assertEqual(on_terminal(*WORDS, "--no-color"), plain)
        self.assertEqual(on_terminal(*WORDS, NO_COLOR="1"), plain)
        self.assertEqual(on_terminal(*WORDS, TERM="dumb"), plain)

    def test_empty_no_color_counts_as_unset(self):
        self.assertIn(ESCAPE, on_terminal(*WORDS, NO_COLOR=""))

    def test_programs_never_get_colors(self):
        for form in ("json", "csv", "md"):
            self.assertNotIn(ESCAPE, on_terminal(*WORDS, "-o", form))
