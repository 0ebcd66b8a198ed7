#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mlq fit from the outside: what it prints, its errors and exit codes."""
import json, os, shutil, subprocess, tempfile, unittest

MLQ = os.environ.get('MLQ', './mlq')
DATA = os.path.join(os.environ.get('srcdir', '.'), 'tests', 'data')
LDA = os.path.join(DATA, 'slaq-traces', 'lda.csv')
CNN = os.path.join(DATA, 'loss-curves', 'cnn-002.csv')


def fit(*arguments):
    return subprocess.run([MLQ, 'fit', *arguments], capture_output=True, timeout=120)


class Fit(unittest.TestCase):
    def test_origins_are_those_asked_for(self):
        run = fit('--json', '--at', '150,20,20', LDA)
        self.assertEqual(run.returncode, 0, run.stderr)
        answer = json.loads(run.stdout)
        self.assertEqual(answer['file'], LDA)
        self.assertEqual([o['index'] for o in answer['origins']], [20, 150])
        with open(LDA) as file:
            steps = [float(line.split(',')[0]) for line in file.read().split()[1:]]
        for o in answer['origins']:
            self.assertEqual(o['step'], steps[o['index']])
            self.assertLessEqual(o['lower'], o['predicted'])
            self.assertLessEqual(o['predicted'], o['upper'])
            self.assertEqual((bool(o['model']), o['verdict']), (True, 'improving' if o['index'] == 20 else o['verdict']))

    def test_only_what_is_known_at_an_origin_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            cut = os.path.join(folder, 'cut.csv')
            with open(CNN) as whole, open(cut, 'w') as part:
                part.writelines(whole.readlines()[:62])  # the header and points 0 to 60
            whole = json.loads(fit('--json', '--at', '60', CNN).stdout)['origins'][0]
            part = json.loads(fit('--json', cut).stdout)['origins'][0]
        self.assertEqual(whole, part)

    def test_a_curve_that_diverges_gives_numbers_only(self):
        answer = json.loads(fit('--json', '--rolling', os.path.join(DATA, 'loss-curves', 'obs-022.csv')).stdout)
        self.assertEqual(len(answer['origins']), 157)
        for o in answer['origins']:
            for key in ('now', 'predicted', 'lower', 'upper'):
                self.assertIsInstance(o[key], float)
        self.assertEqual(answer['origins'][-1]['verdict'], 'diverged')

    def test_a_bad_file_is_one_line_and_the_others_are_done(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = os.path.join(folder, 'bad.csv')
            with open(bad, 'w') as file:
                file.write('step,loss\n1,two\n')
            run = fit('--json', bad, CNN, os.path.join(folder, 'absent.csv'))
        self.assertEqual(run.returncode, 1)
        self.assertEqual(len(run.stdout.splitlines()), 1)
        lines = run.stderr.decode().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("bad.csv: line 2: loss 'two' is not a number", lines[0])
        self.assertIn('absent.csv: cannot be opened', lines[1])

    def test_a_name_with_a_line_break_stays_one_line(self):
        run = fit('no\nsuch\x1b[2J.csv')
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr.decode().splitlines(), ['mlq: error: no?such?[2J.csv: cannot be opened: No such file or directory'])

    def test_standard_input_and_lost_output(self):
        with open(CNN, 'rb') as file:
            run = subprocess.run([MLQ, 'fit', '--json', '/dev/stdin'], input=file.read(), capture_output=True, timeout=120)
        self.assertEqual(json.loads(run.stdout)['origins'], json.loads(fit('--json', CNN).stdout)['origins'])
        with open('/dev/full', 'wb') as full:
            run = subprocess.run([MLQ, 'fit', '--json', CNN], stdout=full, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b'standard output cannot be written: No space left on device', run.stderr)

    def test_wrong_options_are_refused(self):
        run = fit('--at', '5,200', CNN)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b'has no point 200 for --at: its points are 0 to 199', run.stderr)
        for wrong in (['--at', '1', '--rolling'], ['--at', '-1'], ['--horizon', '0'], ['--goal', 'up'],
                      ['--plot', 'x.png', CNN]):
            self.assertNotEqual(fit(*wrong, CNN).returncode, 0, wrong)

    @unittest.skipUnless(shutil.which('gnuplot'), 'gnuplot is not installed')
    def test_drawings(self):
        with tempfile.TemporaryDirectory() as folder:
            png = os.path.join(folder, "it's.png")
            self.assertEqual(fit('--plot', png, '--at', '60', CNN).returncode, 0)
            with open(png, 'rb') as file:
                self.assertEqual(file.read(4), b'\x89PNG')
            self.assertEqual(fit('--plot', os.path.join(folder, 'no', 'x.png'), CNN).returncode, 1)
        self.assertIn(b'reported', fit('--ascii', '--at', '60', CNN).stdout)


if __name__ == '__main__':
    unittest.main()
