# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced: how each daemon of a private cluster is started, in what order, and when it is ready.

daemon_names() {
	local n
	printf 'munged\nmariadbd\nslurmdbd\n'
	[ -z "$mlqd" ] || printf 'mlqd\n'
	printf 'slurmctld\n'
	for ((n = 1; n <= nodes; n++)); do printf 'n%s\n' "$n"; done
}

socket_works() { [ -S "$1" ]; }

start_munged() {
	rm -f "$cluster_dir/munge/munge.sock"*
	spawn munged setpriv --reuid munge --regid "$(id -g munge)" --init-groups munged --foreground --force \
		--socket="$cluster_dir/munge/munge.sock" --key-file="$cluster_dir/munge/munge.key" \
		--log-file="$cluster_dir/munge/munged.log" --pid-file="$cluster_dir/munge/munged.pid" \
		--seed-file="$cluster_dir/munge/munged.seed" --origin=127.0.0.1 || return 1
	wait_for 10 "munged answers" munged munge --socket="$cluster_dir/munge/munge.sock" --no-input
}

sql() { mariadb --no-defaults --socket="$cluster_dir/mysql/mysql.sock" --user=root --batch --execute="$1"; }

start_mariadbd() {
	local data=$cluster_dir/mysql/data
	if [ ! -d "$data/mysql" ]; then
		# two that begin together remove each other's temporary tables where they share a folder
		mariadb-install-db --no-defaults --datadir="$data" --tmpdir="$cluster_dir/mysql" --user=mysql --skip-test-db --skip-name-resolve \
			--auth-root-authentication-method=socket --auth-root-socket-user=root \
			>"$cluster_dir/log/mariadbd.out" 2>&1 || {
			log_tail mariadbd
			return 1
		}
	fi
	spawn mariadbd mariadbd --no-defaults --user=mysql --datadir="$data" --tmpdir="$cluster_dir/mysql" \
		--socket="$cluster_dir/mysql/mysql.sock" --pid-file="$cluster_dir/mysql/mariadbd.pid" --skip-networking \
		--skip-log-bin --innodb-buffer-pool-size=64M --innodb-log-file-size=48M \
		--innodb-flush-log-at-trx-commit=2 --innodb-lock-wait-timeout=900 || return 1
	wait_for 30 "MariaDB answers" mariadbd sql 'SELECT 1' || return 1
	sql "CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
		CREATE DATABASE IF NOT EXISTS slurm_acct_db; GRANT ALL ON slurm_acct_db.* TO slurm@localhost"
}

start_slurmdbd() {
	spawn slurmdbd env SLURM_CONF="$SLURM_CONF" MYSQL_UNIX_PORT="$cluster_dir/mysql/mysql.sock" slurmdbd -D || return 1
	wait_for 30 "slurmdbd answers" slurmdbd sacctmgr --noheader show cluster || return 1
	[ -n "$(sacctmgr --noheader --parsable2 show cluster "$cluster_name" format=cluster)" ] ||
		sacctmgr --immediate add cluster "$cluster_name" >>"$cluster_dir/log/sacctmgr.out" 2>&1
}

start_mlqd() {
	rm -f "$cluster_dir/mlqd/mlqd.sock"
	spawn mlqd setpriv --reuid slurm --regid "$(id -g slurm)" --init-groups "$mlqd" \
		--socket "$cluster_dir/mlqd/mlqd.sock" --listen "127.0.0.1:$mlqd_port" \
		--store "$cluster_dir/mlqd/mlqd.db" --key "$cluster_dir/etc/mlq.key" --cluster "$cluster_name" || return 1
	wait_for 10 "mlqd listens" mlqd socket_works "$cluster_dir/mlqd/mlqd.sock"
}

# slurmctld becomes SlurmUser by itself
start_slurmctld() {
	spawn slurmctld slurmctld -D || return 1
	wait_for 30 "slurmctld answers" slurmctld controller_up
}

start_node() {
	spawn "$1" slurmd -D -N "$1" || return 1
	wait_for 30 "$1 is registered" "$1" node_up "$1"
}

controller_up() { scontrol ping | grep -q ' is UP'; }

node_up() {
	local state
	state=$(sinfo --noheader --nodes="$1" --format=%T) || return 1
	case $state in idle | mixed | allocated | completing) return 0 ;; esac
	return 1
}

start_daemon() {
	case $1 in
	munged | mariadbd | slurmdbd | mlqd | slurmctld) "start_$1" ;;
	*) start_node "$1" ;;
	esac
}

# All nodes are spawned first and waited for together.
start_all() {
	local name
	for name in munged mariadbd slurmdbd; do
		say "starting $name"
		"start_$name" || return 1
	done
	if [ -n "$mlqd" ]; then
		say "starting mlqd"
		start_mlqd || return 1
	fi
	say "starting slurmctld and $nodes nodes"
	start_slurmctld || return 1
	for name in $(daemon_names | grep '^n[0-9]'); do
		spawn "$name" slurmd -D -N "$name" || return 1
	done
	for name in $(daemon_names | grep '^n[0-9]'); do
		wait_for 30 "$name is registered" "$name" node_up "$name" || return 1
	done
}

stop_jobs() {
	local i
	daemon_pid slurmctld >/dev/null && timeout 5 scontrol ping 2>/dev/null | grep -q ' is UP' || return 0
	timeout 10 squeue --noheader --format=%A 2>/dev/null | sort -u | timeout 20 xargs -r -n 200 scancel --full --signal=KILL 2>/dev/null
	timeout 10 squeue --noheader --format=%A 2>/dev/null | sort -u | timeout 20 xargs -r -n 200 scancel 2>/dev/null
	for ((i = 0; i < 20; i++)); do
		[ -n "$(timeout 5 squeue --noheader --states=RUNNING,COMPLETING,SUSPENDED 2>/dev/null)" ] || return 0
		sleep 0.25
	done
}

stop_all() {
	local name
	stop_jobs
	for name in $(daemon_names | tac); do
		case $name in
		mariadbd) stop_daemon "$name" 30 ;;
		slurmctld | slurmdbd) stop_daemon "$name" 20 ;;
		*) stop_daemon "$name" 10 ;;
		esac
	done
	kill_job_processes
}
