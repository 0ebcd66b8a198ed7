# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced: messages, bounded waits, and the daemons of one private cluster by pid and start time.
# Uses $cluster_dir; a pid is only ever signalled while its start time is the recorded one.

say() { printf '%s\n' "$*" >&2; }
die() {
	printf '%s: error: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# start time in clock ticks since boot, "" if there is no such process
start_ticks() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	stat=${stat##*) }
	# shellcheck disable=SC2086 # fields are wanted
	set -- $stat
	[ "$1" = Z ] || printf '%s\n' "${20}"
}

record_daemon() { printf '%s %s\n' "$2" "$(start_ticks "$2")" >"$cluster_dir/run/$1.proc"; }

# prints the pid of a live recorded daemon
daemon_pid() {
	local pid ticks
	{ read -r pid ticks <"$cluster_dir/run/$1.proc"; } 2>/dev/null || return 1
	[ -n "$ticks" ] && [ "$(start_ticks "$pid")" = "$ticks" ] && printf '%s\n' "$pid"
}

# wait_for SECONDS WHAT DAEMON command...: polls until command succeeds; an error shows the end of DAEMON's log
wait_for() {
	local limit=$1 what=$2 daemon=$3 end output
	shift 3
	end=$((SECONDS + limit))
	while [ "$SECONDS" -le "$end" ]; do
		if output=$("$@" 2>&1); then return 0; fi
		if [ -n "$daemon" ] && ! daemon_pid "$daemon" >/dev/null; then
			log_tail "$daemon"
			say "$daemon ended before $what"
			return 1
		fi
		sleep 0.2
	done
	[ -z "$daemon" ] || log_tail "$daemon"
	[ -z "$output" ] || say "$output"
	say "$what: not after $limit seconds"
	return 1
}

log_tail() {
	local file
	for file in "$cluster_dir/log/$1.log" "$cluster_dir/log/$1.out"; do
		[ -s "$file" ] || continue
		say "--- last lines of $file"
		tail -n 15 "$file" >&2
		return
	done
}

# spawn NAME command...: starts a daemon in the foreground mode of its own, in its own session, and records it
spawn() {
	local name=$1 pid
	shift
	if daemon_pid "$name" >/dev/null; then
		say "$name runs already"
		return 1
	fi
	setsid "$@" </dev/null >>"$cluster_dir/log/$name.out" 2>&1 9>&- &
	pid=$!
	record_daemon "$name" "$pid"
}

as_user() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --inh-caps=-all "$@"
}

# stop_daemon NAME [SECONDS]: TERM (also to a stopped one), then KILL
stop_daemon() {
	local name=$1 limit=${2:-10} pid i
	if pid=$(daemon_pid "$name"); then
		kill -TERM "$pid" 2>/dev/null
		kill -CONT "$pid" 2>/dev/null
		for ((i = 0; i < limit * 10; i++)); do
			daemon_pid "$name" >/dev/null || break
			sleep 0.1
		done
		if daemon_pid "$name" >/dev/null; then
			say "$name did not stop within $limit seconds: killed"
			kill -KILL "$pid" 2>/dev/null
		fi
	fi
	rm -f "$cluster_dir/run/$name.proc"
}

# Step daemons and the processes of jobs outlive slurmd. They are ours when their environment names our slurm.conf
# and they belong to a job.
job_processes() {
	local dir env
	for dir in /proc/[0-9]*; do
		env=$({ tr '\0' '\n' <"$dir/environ"; } 2>/dev/null) || continue
		grep -qxF "SLURM_CONF=$cluster_dir/etc/slurm.conf" <<<"$env" || continue
		if grep -q '^SLURM_JOB_ID=' <<<"$env" || [ "$(cat "$dir/comm" 2>/dev/null)" = slurmstepd ]; then
			printf '%s\n' "${dir#/proc/}"
		fi
	done
}

kill_job_processes() {
	local pid own ancestors=" $$ "
	own=$PPID
	while [ "${own:-0}" -gt 1 ]; do
		ancestors+="$own "
		own=$(awk '$1 == "PPid:" {print $2}' "/proc/$own/status" 2>/dev/null)
	done
	for pid in $(job_processes); do
		[[ $ancestors == *" $pid "* ]] || kill -KILL "$pid" 2>/dev/null
	done
	return 0
}
