#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges `mlq fit` on folders of `step,loss` CSV curves and writes the tables of doc/prediction.md.
    prediction_tables.py [--mlq PATH] [--write] [FOLDER...]
    prediction_tables.py --collection FOLDER [--traces FOLDER] [--bin FOLDER] [--write]
Without folders those of tests/data. Needs scipy (staircase_bound.py). --write puts the tables between the marks in doc/prediction.md, otherwise they are printed.
For up to 8 origins a curve, from the 21st point on, the loss 10 points later is predicted and compared with a running median of
5 points there; a curve's scale is the range of its losses up to the origin.
--collection: the tables that need a larger collection of such curves than lies in tests/data, by stress_prediction and
tune_prediction, which are looked for in --bin. Curves are halved by where they were published (index.tsv, column repo)."""
import argparse, csv, json, math, os, statistics, subprocess, sys, tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
HORIZON, FIRST, COUNT = 10, 20, 8


def read(path):
    rows = []
    with open(path) as file:
        for row in csv.DictReader(file):
            step, loss = float(row['step']), float(row['loss'])
            while rows and rows[-1][0] >= step:
                rows.pop()
            rows.append((step, loss))
    return rows


def smoothed(losses, i):
    near = [x for x in losses[max(0, i - 2):i + 3] if math.isfinite(x)]
    return statistics.median(near) if near else math.nan


def judge(mlq, path):
    rows = read(path)
    losses = [loss for _, loss in rows]
    last = len(rows) - 3 - HORIZON
    if last < FIRST:
        return
    at = sorted({FIRST + round(k * (last - FIRST) / (COUNT - 1)) for k in range(COUNT)})
    with tempfile.NamedTemporaryFile('w', suffix='.csv') as file:
        file.write('step,loss\n' + ''.join('%r,%r\n' % row for row in rows))
        file.flush()
        run = subprocess.run([mlq, 'fit', '--json', '--at', ','.join(map(str, at)), file.name], capture_output=True, check=True)
    for o in json.loads(run.stdout)['origins']:
        i = o['index']
        known = [x for x in losses[:i + 1] if math.isfinite(x)]
        truth, now = smoothed(losses, i + HORIZON), smoothed(losses[:i + 1], i)
        scale = max(known, default=0) - min(known, default=0)
        if len(known) < 5 or scale <= 0 or not math.isfinite(truth + now):
            continue
        yield (abs(o['predicted'] - truth) / max(abs(truth), 0.01 * scale),
               min(1, abs((o['now'] - o['predicted']) - (now - truth)) / scale), min(1, abs(now - truth) / scale),
               o['lower'] <= truth <= o['upper'])


def table(mlq, folders):
    out = ['| folder | origins | median relative error | error of the reduction | of predicting no change | in the 80 % interval |',
           '|---|---|---|---|---|---|']
    for folder in folders:
        rows = [row for name in sorted(os.listdir(folder)) if name.endswith('.csv') for row in judge(mlq, os.path.join(folder, name))]
        rel, red, none, inside = zip(*rows)
        out.append('| %s | %d | %.2f %% | %.4f | %.4f | %.0f %% |'
                   % (os.path.basename(os.path.normpath(folder)), len(rows), 100 * statistics.median(rel), statistics.fmean(red),
                      statistics.fmean(none), 100 * statistics.fmean(inside)))
    return '\n'.join(out)


def put(text, mark, content):
    begin, end = '<!-- %s -->\n' % mark, '\n<!-- end of %s -->' % mark
    head, rest = text.split(begin, 1)
    return head + begin + content + end + ('\n' + rest).split(end, 1)[1]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def of_collection(given):
    stress = run(os.path.join(given.bin, 'stress_prediction'), given.collection, given.traces)
    changes, horizons, _, trace_horizons = stress.split('\n\n')
    return {'changes': changes, 'horizons': horizons, 'trace horizons': trace_horizons,
            'halves': run(os.path.join(given.bin, 'tune_prediction'), given.collection)}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--mlq', default='./mlq')
    options.add_argument('--write', action='store_true')
    options.add_argument('--collection', metavar='FOLDER')
    options.add_argument('--traces', metavar='FOLDER', default=os.path.join(TOP, 'tests', 'data', 'slaq-traces'))
    options.add_argument('--bin', metavar='FOLDER', default='.')
    options.add_argument('folders', nargs='*')
    given = options.parse_args()
    if given.collection:
        tables = of_collection(given)
    else:
        data = os.path.join(TOP, 'tests', 'data')
        protocol = [sys.executable, os.path.join(TOP, 'tests', 'unit', 'slaq_protocol.py'), '--mlq', given.mlq, '--markdown']
        tables = {'curves': table(given.mlq, given.folders or [os.path.join(data, name) for name in ('loss-curves', 'slaq-traces')]),
                  'protocol': subprocess.run(protocol, capture_output=True, text=True).stdout.strip(),  # its status: a bound is passed
                  'stairs': run(sys.executable, os.path.join(TOP, 'tests', 'bench', 'staircase_bound.py'))}
    if not given.write:
        print('\n\n'.join(tables.values()))
        return
    page = os.path.join(TOP, 'doc', 'prediction.md')
    with open(page) as file:
        text = file.read()
    for mark, content in tables.items():
        text = put(text, mark, content)
    with open(page, 'w') as file:
        file.write(text)


main()
