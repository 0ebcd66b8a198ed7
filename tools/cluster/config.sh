# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced: writes the configuration of a private cluster from the settings in $cluster_dir/cluster.settings.

# the folder of Slurm's own plugins
find_slurm_plugins() {
	local dir
	for dir in /usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm /usr/local/lib/slurm /usr/lib/slurm; do
		if [ -e "$dir/sched_backfill.so" ]; then
			printf '%s\n' "$dir"
			return 0
		fi
	done
	return 1
}

install_dir() { # MODE USER DIR...
	local mode=$1 user=$2
	shift 2
	install -d -m "$mode" -o "$user" -g "$(id -g "$user")" "$@"
}

write_secrets() {
	(
		umask 077
		head -c 1024 /dev/urandom >"$cluster_dir/munge/munge.key"
		[ -e "$cluster_dir/etc/mlq.key" ] || head -c 32 /dev/urandom | base64 >"$cluster_dir/etc/mlq.key"
	)
	chown munge: "$cluster_dir/munge/munge.key"
	chown slurm: "$cluster_dir/etc/mlq.key"
}

write_slurmdbd_conf() {
	local file=$cluster_dir/etc/slurmdbd.conf
	(umask 077 && cat >"$file") <<-CONF
		AuthType=auth/munge
		AuthInfo=socket=$cluster_dir/munge/munge.sock
		DbdHost=localhost
		DbdAddr=127.0.0.1
		DbdPort=$dbd_port
		SlurmUser=slurm
		DebugLevel=info
		LogFile=$cluster_dir/log/slurmdbd.log
		PidFile=$cluster_dir/run/slurmdbd.pid
		PluginDir=$slurm_plugins
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StorageLoc=slurm_acct_db
		CommitDelay=1
	CONF
	chown slurm: "$file"
}

# of a key given twice Slurm takes the first
scheduler_parameters() {
	local text=${parameters:+$parameters,}
	text+=bf_interval=3,bf_continue,sched_interval=5,batch_sched_delay=1
	if [ "$scheduler" = ml_quality ] || [ "${site_factor:-none}" = ml_quality ]; then
		text+=,mlq_url=unix:$cluster_dir/mlqd/mlqd.sock
	fi
	printf '%s\n' "$text"
}

# TYPE:COUNT of node number $1, nothing for none
gpus_of() {
	local -a list
	IFS=, read -ra list <<<"${gpus:-}"
	[ ${#list[@]} -gt 0 ] || return 0
	local entry=${list[$1 - 1]-${list[-1]}}
	[ "$entry" = 0 ] || printf '%s\n' "$entry"
}

node_lines() {
	local n entry
	if [ -z "${gpus:-}" ]; then
		printf 'NodeName=n[1-%s] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[%s-%s] CPUs=%s RealMemory=%s\n' \
			"$nodes" "$node_port" $((node_port + nodes - 1)) "$cpus" "$memory"
		return
	fi
	printf 'GresTypes=gpu\nAccountingStorageTRES=gres/gpu\n'
	for ((n = 1; n <= nodes; n++)); do
		entry=$(gpus_of "$n")
		printf 'NodeName=n%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%s CPUs=%s RealMemory=%s%s\n' \
			"$n" $((node_port + n - 1)) "$cpus" "$memory" "${entry:+ Gres=gpu:$entry}"
	done
}

# of COUNT devices
device_numbers() { if [ "$1" -gt 1 ]; then printf '[0-%s]' $(($1 - 1)); else printf 0; fi; }

# slurmd wants character devices, and takes the number at the end of their names; nothing opens them
write_gres_conf() {
	local n i entry
	[ -n "${gpus:-}" ] || return 0
	install_dir 755 root "$cluster_dir/gpus"
	for ((n = 1; n <= nodes; n++)); do
		entry=$(gpus_of "$n")
		[ -n "$entry" ] || continue
		install_dir 755 root "$cluster_dir/gpus/n$n"
		for ((i = 0; i < ${entry#*:}; i++)); do ln -s /dev/null "$cluster_dir/gpus/n$n/gpu$i"; done
		printf 'NodeName=n%s Name=gpu Type=%s File=%s\n' "$n" "${entry%:*}" \
			"$cluster_dir/gpus/n$n/gpu$(device_numbers "${entry#*:}")"
	done >"$cluster_dir/etc/gres.conf"
}

write_slurm_conf() {
	local plugin_dir=$slurm_plugins line
	[ ! -d "$stage/lib/slurm" ] || plugin_dir=$stage/lib/slurm:$slurm_plugins
	{
		cat <<-CONF
			ClusterName=$cluster_name
			SlurmctldHost=localhost(127.0.0.1)
			SlurmctldPort=$ctld_port
			SlurmUser=slurm
			AuthType=auth/munge
			AuthInfo=socket=$cluster_dir/munge/munge.sock
			PluginDir=$plugin_dir
			PlugStackConfig=$cluster_dir/etc/plugstack.conf
			StateSaveLocation=$cluster_dir/state
			SlurmdSpoolDir=$cluster_dir/spool/%n
			SlurmctldPidFile=$cluster_dir/run/slurmctld.pid
			SlurmdPidFile=$cluster_dir/run/slurmd-%n.pid
			SlurmctldLogFile=$cluster_dir/log/slurmctld.log
			SlurmdLogFile=$cluster_dir/log/%n.log
			SlurmctldDebug=$debug
			SlurmdDebug=info
			SlurmdParameters=config_overrides
			ProctrackType=proctrack/linuxproc
			TaskPlugin=task/none
			MpiDefault=none
			MailProg=/bin/true
			JobAcctGatherType=jobacct_gather/none
			ReturnToService=2
			KillWait=5
			MinJobAge=3600
			SchedulerType=sched/$scheduler
			SchedulerParameters=$(scheduler_parameters)
			SelectType=select/cons_tres
			SelectTypeParameters=CR_Core
			PriorityType=priority/multifactor
			PriorityWeightAge=1000
			PriorityWeightFairshare=1000
			PriorityWeightQOS=10000
			PriorityMaxAge=1-0
			AccountingStorageType=accounting_storage/slurmdbd
			AccountingStorageHost=127.0.0.1
			AccountingStoragePort=$dbd_port
			AccountingStoragePass=$cluster_dir/munge/munge.sock
		CONF
		[ "${site_factor:-none}" = none ] || printf 'PrioritySiteFactorPlugin=site_factor/%s\n' "$site_factor"
		for line in "${conf_lines[@]}"; do printf '%s\n' "$line"; done
		node_lines
		printf 'PartitionName=main Nodes=n[1-%s] Default=YES MaxTime=INFINITE State=UP\n' "$nodes"
	} >"$cluster_dir/etc/slurm.conf"
	# one node and [a-b] of one port is not valid syntax everywhere
	[ "$nodes" -gt 1 ] || sed -i "s/n\[1-1\]/n1/; s/Port=\[$node_port-$node_port\]/Port=$node_port/" "$cluster_dir/etc/slurm.conf"
	printf 'ConstrainCores=no\n' >"$cluster_dir/etc/cgroup.conf"
}

write_plugstack_conf() {
	{
		[ -z "$spank" ] || printf 'optional %s url=http://127.0.0.1:%s key=%s cluster=%s\n' "$spank" "$mlqd_port" "$cluster_dir/etc/mlq.key" "$cluster_name"
	} >"$cluster_dir/etc/plugstack.conf"
}

# The daemons' users must be able to read the installed tree; a tree in a closed folder is copied into the cluster's.
reachable_stage() {
	[ -n "$stage" ] || return 0
	as_user slurm test -r "$stage/lib/slurm" && return 0
	[ -d "$stage/lib/slurm" ] || return 0
	cp -a "$stage" "$cluster_dir/stage"
	stage=$cluster_dir/stage
	[ -z "$spank" ] || spank=$stage/lib/slurm/${spank##*/}
}

write_config() {
	install_dir 755 root "$cluster_dir"/{etc,run,log,spool,munge,mlqd,state}
	chown munge: "$cluster_dir/munge"
	chown slurm: "$cluster_dir/state" "$cluster_dir/log" "$cluster_dir/mlqd"
	chown mysql: "$cluster_dir/mysql" 2>/dev/null || install_dir 755 mysql "$cluster_dir/mysql"
	local n
	for ((n = 1; n <= nodes; n++)); do install_dir 755 root "$cluster_dir/spool/n$n"; done
	write_secrets
	write_slurmdbd_conf
	write_slurm_conf
	write_gres_conf
	write_plugstack_conf
}
