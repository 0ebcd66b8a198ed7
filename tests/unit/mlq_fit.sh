#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mlq fit from the outside: what it prints, its errors and exit codes.
set -eu
command -v jq > /dev/null || exit 77
mlq=${MLQ:-./mlq}
data=${srcdir:-.}/tests/data
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
	echo "mlq_fit: $*" >&2
	exit 1
}

"$mlq" fit --json --at 150,20 "$data/slaq-traces/lda.csv" > "$folder/a"
jq -e '.file | endswith("lda.csv")' "$folder/a" > "$folder/null" || fail 'no file name'
jq -e '[.origins[].index] == [20, 150]' "$folder/a" > "$folder/null" || fail 'indices are not those asked for'
jq -e 'all(.origins[]; .lower <= .predicted and .predicted <= .upper and .model != "" and .verdict != "")' \
	"$folder/a" > "$folder/null" || fail 'an origin is incomplete'
jq -e '.origins[0].step == 21 or .origins[0].step == 20' "$folder/a" > "$folder/null" || fail 'the step is not the file'"'"'s'

# every origin of a curve that diverges: numbers only
"$mlq" fit --json --rolling "$data/loss-curves/obs-022.csv" > "$folder/b"
jq -e '(.origins | length) == 157 and all(.origins[] | .now, .predicted, .lower, .upper; type == "number")' \
	"$folder/b" > "$folder/null" || fail 'not a number from every origin'
jq -e '.origins[-1].verdict == "diverged"' "$folder/b" > "$folder/null" || fail 'divergence is not named'

# a bad file is one line, and the others are still done
echo 'step,loss
1,two' > "$folder/bad.csv"
code=0
"$mlq" fit --json "$folder/bad.csv" "$data/loss-curves/cnn-002.csv" "$folder/absent.csv" > "$folder/out" 2> "$folder/err" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code for bad files"
[ "$(wc -l < "$folder/out")" -eq 1 ] || fail 'the good file was not done'
[ "$(wc -l < "$folder/err")" -eq 2 ] || fail 'not one line for each bad file'
grep -q "bad.csv: line 2: loss 'two' is not a number" "$folder/err" || fail 'the message does not name line and value'
"$mlq" fit --at 5,200 "$data/loss-curves/cnn-002.csv" > "$folder/out" 2> "$folder/err" && fail '--at beyond the end passed'
grep -q 'has no point 200 for --at: its points are 0 to 199' "$folder/err" || fail 'no clear message for --at'
"$mlq" fit --at 1 --rolling "$data/loss-curves/cnn-002.csv" > "$folder/out" 2>&1 && fail '--at with --rolling passed'
"$mlq" fit --horizon 0 "$data/loss-curves/cnn-002.csv" > "$folder/out" 2>&1 && fail '--horizon 0 passed'

if command -v gnuplot > "$folder/null"; then
	"$mlq" fit --plot "$folder/it's.png" --at 60 "$data/loss-curves/cnn-002.csv" > "$folder/out"
	head -c 4 "$folder/it's.png" | grep -q PNG || fail 'no PNG'
	"$mlq" fit --ascii --at 60 "$data/loss-curves/cnn-002.csv" | grep -q 'reported' || fail 'no drawing'
fi
exit 0
