# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced: free TCP ports.

# every port that some socket of this machine listens on or is bound to
used_ports() {
	local file hex
	for file in /proc/net/tcp /proc/net/tcp6; do
		[ -r "$file" ] || continue
		while read -r _ hex _; do
			hex=${hex##*:}
			[[ $hex =~ ^[0-9A-F]{4}$ ]] && printf '%d\n' "0x$hex"
		done <"$file"
	done | sort -nu
}

# free_ports COUNT [LOWEST]: prints the first of COUNT free ports in a row, below the range that the kernel hands out
free_ports() {
	local count=$1 base used port try
	used=$(used_ports)
	for ((try = 0; try < 50; try++)); do
		base=${2:-$((20000 + RANDOM % 12000))}
		[ -z "${2:-}" ] || base=$(($2 + try * count))
		for ((port = base; port < base + count; port++)); do
			grep -qx "$port" <<<"$used" && continue 2
		done
		printf '%s\n' "$base"
		return 0
	done
	return 1
}
