# SPDX-License-Identifier: GPL-2.0-or-later
"""Man pages, completion, README and examples against what was built. Runs in the folder of the build."""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from collector import Collector

BUILD = pathlib.Path.cwd()
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
COMPLETE = r"""
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_mlq
printf '%s\n' "${COMPREPLY[@]}"
"""

try:
    import sklearn  # noqa: F401
    import torch  # noqa: F401
    HAVE_TORCH = True
except ImportError:
    HAVE_TORCH = False


def output(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=120, **more).stdout


def parts_of_help(text):
    """(options, subcommands) that a help text lists."""
    options, subcommands, inside = set(), set(), False
    for line in text.splitlines():
        inside = line == "Subcommands:" or (inside and line.startswith(" "))
        if line.startswith("  -"):
            options.update(line.split()[0].split(","))
        elif inside and re.match("  [a-z]", line):
            subcommands.add(line.split()[0])
    return options, subcommands


def programs():
    """Every way to call the programs: (words, options, subcommands)."""
    waiting = [[BUILD / name] for name in ("mlq", "mlqd") if (BUILD / name).exists()]
    while waiting:
        words = waiting.pop()
        options, subcommands = parts_of_help(output(*words, "--help"))
        yield words, options, subcommands
        waiting += [[*words, name] for name in sorted(subcommands)]


class Numbers(unittest.TestCase):
    def test_no_option_takes_what_is_outside_its_range(self):
        for words, _, _ in programs():
            for line in output(*words, "--help").splitlines():
                found = re.match(r"  (?:-.,)?(--[a-z-]+).*FLOAT in \[(\S+) - (\S+)\]", line)
                for value in ("nan", "-nan", "inf", "-inf", "1e400", "x", "-1") if found else ():
                    with self.subTest(option=found[1], value=value):
                        command = [*map(str, words), f"{found[1]}={value}"]
                        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
                        self.assertNotEqual(result.returncode, 0)
                        expected = f'error: {found[1]}: a number from {found[2]} to {found[3]} is allowed, given was "{value}"'
                        self.assertIn(expected, result.stderr)


class ManPages(unittest.TestCase):
    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_they_render_without_a_warning(self):
        done = subprocess.run([ROOT / "tests/documents/man-pages"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_every_option_is_in_the_page(self):
        pages = ROOT / "doc/man"
        for words, _, _ in programs():
            name = "-".join([words[0].name, *words[1:]])
            page = next(pages.glob(name + ".[18]"), None)
            if page is None:
                continue
            other = re.match(r"\.so man\d/(\S+)", page.read_text())
            text = output("groff", "-mandoc", "-Tascii", "-P-cbou", pages / other[1] if other else page)
            for line in output(*words, "--help").splitlines():
                names = line.split()[0].split(",") if line.startswith("  -") else ["--help"]
                if "--help" in names or "--version" in names:
                    continue
                with self.subTest(page=page.name, option=names):  # one of an option's names will do
                    self.assertTrue(any(re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", text) for n in names))


class Completion(unittest.TestCase):
    def complete(self, *words, script="mlq"):
        text = output("bash", "-c", COMPLETE, "bash", ROOT / "tools/completion" / script, *words)
        return [line for line in text.splitlines() if line]

    def test_it_lists_every_option_of_every_command(self):
        seen = 0
        for words, options, subcommands in programs():
            long = {name for name in options if name.startswith("--")}
            with self.subTest(command=" ".join(map(str, words))):
                self.assertIn("--help", long)
                self.assertEqual(set(self.complete(*words, "-", script=words[0].name)), options)
                self.assertEqual(set(self.complete(*words, "--")), long)
                if subcommands:
                    self.assertEqual(set(self.complete(*words, "")), subcommands)
                seen += 1
        self.assertGreater(seen, 2)

    def test_choices_files_and_plain_values(self):
        mlq = BUILD / "mlq"
        self.assertEqual(self.complete(mlq, "fit", "--goal", "=", "ma"), ["max"])
        self.assertEqual(self.complete(mlq, "fit", "--goal", ""), ["min", "max"])
        self.assertEqual(self.complete(mlq, "fit", "--plot", str(ROOT / "READ")), [str(ROOT / "README.md")])
        self.assertEqual(self.complete(mlq, "fit", str(ROOT / "READ")), [str(ROOT / "README.md")])
        self.assertEqual(self.complete(mlq, "fit", "--horizon", ""), [])
        self.assertEqual(self.complete("/nowhere/mlq", ""), [])


class Readme(unittest.TestCase):
    text = (ROOT / "README.md").read_text()

    def test_what_it_names_is_there(self):
        named = set(re.findall(r"(?<![\w/.-])(?:tools|doc|core|examples|tests|slurm-plugin)/[\w./-]*\w", self.text))
        self.assertGreater(len(named), 5)
        for path in sorted(named):
            with self.subTest(path=path):
                self.assertTrue((ROOT / path).exists())
        for link in re.findall(r"\]\(([^)#:]+)\)", self.text):
            with self.subTest(link=link):
                self.assertTrue((ROOT / link).exists())

    def test_options_it_shows_are_real(self):
        options = {" ".join([words[0].name, *words[1:]]): found for words, found, _ in programs()}
        for block in re.findall(r"```[a-z]*\n(.*?)```", self.text, re.S):
            for line in block.splitlines():
                for name, rest in re.findall(r"^(mlqd?) ([^#|]*)", line):
                    first = rest.split()[:1]
                    command = " ".join([name, *first]) if name == "mlq" else name
                    with self.subTest(line=line, command=command):
                        self.assertIn(command, options)
                        for option in re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", " " + rest):
                            self.assertIn(option, options[command])


class Examples(unittest.TestCase):
    def setUp(self):
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLQ_U", "MLQ_T", "SLURM_"))}
        self.reporting = {**self.environment, "MLQ_URL": self.collector.url, "MLQ_TOKEN": "a.b.c"}

    @unittest.skipUnless(HAVE_TORCH, "needs PyTorch and scikit-learn")
    def test_pytorch_changes_three_lines_and_no_number(self):
        before, after = (EXAMPLES / "pytorch" / name for name in ("train_before.py", "train_after.py"))
        changed = [line for line in difflib.ndiff(before.read_text().splitlines(), after.read_text().splitlines())
                   if line.startswith(("+ ", "- ")) and '"""' not in line]
        self.assertEqual([re.split(r"\s+#", line[2:])[0].strip() for line in changed],
                         ["import mlq", "job = mlq.attach()", "job.report(epoch, total / len(x))"])
        plain = output(sys.executable, before, "--epochs", "3", env=self.environment)
        self.assertEqual(output(sys.executable, after, "--epochs", "3", env=self.environment), plain)
        self.assertEqual(self.collector.losses(), [])
        self.assertEqual(output(sys.executable, after, "--epochs", "3", env=self.reporting), plain)
        printed = [(float(line.split()[1]), line.split()[3]) for line in plain.splitlines()]
        self.assertEqual([(i, f"{l:.6f}") for i, l in self.collector.losses()], printed)

    @unittest.skipUnless(HAVE_TORCH and (BUILD / "mlq").exists(), "needs PyTorch, scikit-learn and mlq")
    def test_elastic_example_learns_as_the_one_of_a_fixed_size(self):
        losses = []
        for name in ("ddp_after.py", "ddp_elastic.py"):
            text = output(BUILD / "mlq", "run", "--ranks", "2", "--address", "127.0.0.1", "--", sys.executable,
                          EXAMPLES / "pytorch" / name, env={**self.reporting, "OMP_NUM_THREADS": "1"})
            losses.append([float(line.split()[-1]) for line in text.splitlines()])
        self.assertEqual([len(found) for found in losses], [20, 20])
        for found in losses:  # of rank 0's slice of an epoch's last five samples: two or three, mostly
            self.assertLess(sum(found[-5:]) / 5, sum(found[:5]) / 5 - 0.5)
        self.assertEqual([i for i, _ in self.collector.losses()], list(range(1, 161)))

    @unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
    def test_c_example(self):
        library = pathlib.Path(os.environ["MLQ_LIBRARY"]).parent
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "descent"
            output("cc", "-Wall", "-Wextra", "-Werror", "-O2", EXAMPLES / "c/descent.c", "-o", program,
                   f"-I{ROOT}/tools/client", f"-L{library}", "-lmlq", f"-Wl,-rpath,{library}")
            self.assertIn("not reported", output(program, env=self.environment))
            self.assertEqual(self.collector.losses(), [])
            self.assertRegex(output(program, env=self.reporting), r"y = \d\.\d+ x -\d\.\d+, loss .*, reported")
        self.assertEqual(len(self.collector.losses()), 500)

    def test_batch_script_runs_the_example(self):
        script = (EXAMPLES / "pytorch/train.sbatch").read_text()
        output("bash", "-n", EXAMPLES / "pytorch/train.sbatch")
        for name in re.findall(r"python3 (\S+\.py)", script):
            self.assertTrue((EXAMPLES / "pytorch" / name).exists())
        self.assertRegex(script, r"(?m)^#SBATCH --ml-quality=")


if __name__ == "__main__":
    unittest.main(verbosity=2)
