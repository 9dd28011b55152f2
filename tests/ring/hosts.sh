#!/bin/sh
# Runs a command of MPI as if on several machines: each host is a network namespace with an address and a name of its own,
# and they hear of each other through a bridge alone. Needs root, iproute2 and Open MPI:
#
#     sh tests/ring/hosts.sh HOSTS RATE PROGRAM [ARGUMENTS]      RATE as tc has it, 1gbit or 25gbit; - for as fast as it goes
#
# Run from anywhere; one rank on each host. What it made is gone when it ends.

[ $# -ge 3 ] || { echo 'usage: hosts.sh HOSTS RATE PROGRAM [ARGUMENTS]' >&2; exit 2; }
hosts=$1 rate=$2
shift 2
net=10.213.77 name=attn-ring work=$(mktemp -d) || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

each() { n=1; while [ $n -le "$hosts" ]; do "$@" $n || return; n=$((n + 1)); done; }
remove() { ip link del $name-$1 2> /dev/null; ip netns del $name-$1 2> /dev/null; :; } # with the link, its other end
end() { each remove; ip link del $name 2> /dev/null; rm -rf "$work"; }
trap end EXIT
trap 'exit 130' INT TERM

make_host() { # NUMBER
    ip netns add $name-$1 &&
        ip link add $name-$1 type veth peer name eth0 netns $name-$1 &&
        ip link set $name-$1 master $name up &&
        ip -n $name-$1 address add $net.$1/24 dev eth0 &&
        ip -n $name-$1 link set eth0 up &&
        ip -n $name-$1 link set lo up || return
    [ "$rate" = - ] && return
    ip netns exec $name-$1 tc qdisc add dev eth0 root tbf rate "$rate" burst 1mb latency 50ms
}

# What mpirun starts instead of ssh: the command, on the host of this address.
cat > "$work/agent" <<END
#!/bin/sh
host=$name-\${1##*.}
shift
exec ip netns exec \$host unshare --uts sh -c "echo \$host > /proc/sys/kernel/hostname; exec \$*"
END
chmod +x "$work/agent"

end_all() { echo "$1" >&2; exit 1; }
each remove
ip link del $name 2> /dev/null
ip link add $name type bridge && ip link set $name up && each make_host || end_all 'no network namespaces: not root?'
list=$(each echo | sed "s/.*/$net.&/" | tr '\n' ',')
ip netns exec $name-1 unshare --uts sh -c "echo $name-1 > /proc/sys/kernel/hostname; exec \"\$@\"" mpirun \
    mpirun --mca plm_rsh_agent "$work/agent" --mca btl tcp,self --mca btl_tcp_if_include $net.0/24 \
    --mca oob_tcp_if_include $net.0/24 --host "${list%,}" --map-by node --bind-to none "$@"
