import com.hazelcast.config.Config;
import com.hazelcast.core.*;
import com.hazelcast.cp.*;
import com.hazelcast.cp.internal.RaftOp;
import com.hazelcast.cp.internal.RaftService;
import com.hazelcast.cp.internal.datastructures.exception.WaitKeyCancelledException;
import com.hazelcast.cp.internal.datastructures.lock.*;
import com.hazelcast.cp.internal.datastructures.lock.operation.*;
import com.hazelcast.cp.internal.datastructures.spi.blocking.ResourceRegistry;
import com.hazelcast.cp.internal.raft.QueryPolicy;
import com.hazelcast.cp.internal.raft.impl.RaftNode;
import com.hazelcast.cp.internal.session.*;
import com.hazelcast.cp.internal.session.operation.*;
import com.hazelcast.cp.session.CPSession;
import com.hazelcast.instance.BuildInfoProvider;
import com.hazelcast.instance.impl.HazelcastInstanceProxy;
import com.hazelcast.spi.impl.NodeEngineImpl;
import java.io.*;
import java.math.BigInteger;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;

/**
 * A member of a Hazelcast cluster as picklock starts it (servers/hazelcast/real), with a door for picklock's own locks: a line a
 * question, a line an answer, in order. The member carries each out by Hazelcast's own operations, those that its FencedLock
 * sends. A session is named by its value, which stands where a client's name does.
 *
 *     hazelcast-member INDEX STARTS DOOR PORT FROM-PORT TTL-SECONDS CP-MEMBERS PUBLIC-PORT...
 *     hazelcast-member archive
 */
public class Member {
    static final int FROM_PORTS = 500;
    static final Map<String, Long> SESSIONS = new ConcurrentHashMap<>();
    static int index, starts, ttlSeconds, cpMembers; static String[] ports;
    static HazelcastInstance instance; static RaftService raft; static LockService locks; static CPSubsystemManagementService manager;
    /** Of the locks, and whether it may be asked: set by `keep`. */
    static volatile CPGroupId group; static volatile boolean ready; static boolean begun;

    static Config config(int port, int from, String publicPort) {
        boolean unsafe = cpMembers == 0;
        var config = new Config().setProperty("hazelcast.phone.home.enabled", "false").setProperty("hazelcast.logging.type", "jdk")
            .setProperty("hazelcast.operation.call.timeout.millis", "4000").setProperty("hazelcast.wait.seconds.before.join", "0")
            .setProperty("hazelcast.heartbeat.interval.seconds", "1").setProperty("hazelcast.health.monitoring.level", "OFF")
            .setProperty("hazelcast.operation.thread.count", "2").setProperty("hazelcast.partition.count", "11")
            .setProperty("hazelcast.raft.leadership.rebalance.period", "86400")
            // The cluster below the group parts by its own heartbeats: only without consensus is that to be seen.
            .setProperty("hazelcast.max.no.heartbeat.seconds", unsafe ? "3" : "60")
            .setProperty("hazelcast.merge.first.run.delay.seconds", unsafe ? "3" : "300")
            .setProperty("hazelcast.merge.next.run.delay.seconds", unsafe ? "3" : "120");
        var network = config.getNetworkConfig().setPort(port).setPortAutoIncrement(false).setPublicAddress("127.0.0.1:" + publicPort);
        if (from > 0) network.addOutboundPortDefinition(from + "-" + (from + FROM_PORTS - 1));
        network.getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        network.getJoin().getMulticastConfig().setEnabled(false);
        network.getJoin().getAutoDetectionConfig().setEnabled(false);
        // In the beginning the first member is the oldest, and the others join it: nobody has to find out who that is.
        var join = network.getJoin().getTcpIpConfig().setEnabled(true);
        if (starts == 0 && !publicPort.equals(ports[0])) join.setRequiredMember("127.0.0.1:" + ports[0]);
        for (String one : ports) if (starts > 0 || one.equals(ports[0])) join.addMember("127.0.0.1:" + one);
        var cp = config.getCPSubsystemConfig().setCPMemberCount(cpMembers).setMissingCPMemberAutoRemovalSeconds(0);
        if (!unsafe) cp.setGroupSize(Math.min(7, cpMembers - 1 + cpMembers % 2));
        cp.setSessionTimeToLiveSeconds(ttlSeconds).setSessionHeartbeatIntervalSeconds(1);
        cp.getRaftAlgorithmConfig().setLeaderElectionTimeoutInMillis(400).setLeaderHeartbeatPeriodInMillis(200).setMaxMissedLeaderHeartbeatCount(6);
        config.getJetConfig().setEnabled(false);
        config.getMetricsConfig().setEnabled(false);
        return config;
    }

    static void begin(HazelcastInstance made) {
        instance = made;
        manager = cpMembers == 0 ? null : made.getCPSubsystem().getCPSubsystemManagementService();
        var engine = ((HazelcastInstanceProxy) made).getOriginal().node.getNodeEngine();
        raft = engine.getService(RaftService.SERVICE_NAME);
        locks = engine.getService(LockService.SERVICE_NAME);
    }

    // ---- what locks ask ------------------------------------------------------------------------

    static <T> T ask(RaftOp op) { return raft.getInvocationManager().<T>invoke(group, op).joinInternal(); }

    static Collection<CPSession> sessions() {
        return raft.getInvocationManager().<Collection<CPSession>>query(group, new GetSessionsOp(), QueryPolicy.LINEARIZABLE).joinInternal();
    }

    /** Who was asked by another member knows it by its name; null: it is over, or never was. */
    static Long session(String value) {
        Long known = SESSIONS.get(value);
        if (known != null) return known;
        known = sessions().stream().filter(one -> value.equals(one.endpointName())).map(CPSession::id).findFirst().orElse(null);
        if (known != null) SESSIONS.put(value, known);
        return known;
    }

    static boolean createSession(String value) {
        SESSIONS.remove(value); // it may be over
        if (session(value) != null) return false;
        SessionResponse made = ask(new CreateSessionOp(instance.getCluster().getLocalMember().getAddress(), value, CPSession.CPSessionOwnerType.CLIENT));
        SESSIONS.put(value, made.getSessionId());
        return true;
    }

    /** Who asks anew has given up what it asked before, which FencedLock takes for a no. */
    static String tryLock(String name, long session, UUID invocation, long waitMs) {
        try {
            long fence = Member.<Long>ask(new TryLockOp(name, session, 1, invocation, waitMs));
            return fence == 0 ? "-" : ":" + fence;
        } catch (WaitKeyCancelledException another) { return "-"; }
    }

    static String unlock(String name, long session, String value, UUID invocation) {
        boolean ours = true;
        try { ask(new UnlockOp(name, session, 1, invocation)); } catch (IllegalMonitorStateException another) { ours = false; }
        ask(new CloseSessionOp(session));
        SESSIONS.remove(value);
        return ours ? "+" : "-";
    }

    /** All that the group knows of a lock, for whoever compares: do we lead, how many wait, fence, count, holder; all sessions. */
    static String look(String name) {
        var node = raft.getRaftNode(group);
        ResourceRegistry<?, ?> registry = locks.getRegistryOrNull(group);
        var lock = registry == null ? null : registry.getResourceOrNull(name);
        var held = raft.getInvocationManager().<LockOwnershipState>query(group, new GetLockOwnershipStateOp(name), QueryPolicy.LINEARIZABLE).joinInternal();
        var said = new StringBuilder(node != null && node.getLocalMember().equals(node.getLeader()) ? "+" : "-");
        said.append(' ').append(lock == null ? 0 : lock.getInternalWaitKeysMap().size()).append(' ').append(held.getFence()).append(' ').append(held.getLockCount());
        var all = sessions();
        said.append(' ').append(all.stream().filter(one -> held.isLocked() && one.id() == held.getSessionId()).map(CPSession::endpointName).findFirst().orElse("-"));
        for (CPSession one : all) said.append(' ').append(one.endpointName());
        return said.toString();
    }

    /** An invocation is known by its session and its number. */
    static UUID invocation(String value, long number) { return new UUID(new BigInteger(value, 16).longValue(), number); }

    static String answer(String[] word) {
        switch (word[0]) {
            case "ready": return ready ? "+" : "-";
            case "clock": return ":" + System.currentTimeMillis();
            case "cluster-clock": return ":" + instance.getCluster().getClusterTime();
            case "version": return BuildInfoProvider.getBuildInfo().getVersion();
            case "look": return look(word[1]);
            case "create-session": return createSession(word[2]) ? "+" : "-";
            default:
        }
        Long session = session(word[2]);
        if (session == null) return "-";
        try {
            switch (word[0]) {
                case "try-lock": return tryLock(word[1], session, invocation(word[2], Long.parseLong(word[4])), Long.parseLong(word[3]));
                case "heartbeat": ask(new HeartbeatSessionOp(session)); return ":" + ttlSeconds * 1000L;
                case "unlock": return unlock(word[1], session, word[2], invocation(word[2], 0));
                default: return "?";
            }
        } catch (SessionExpiredException over) { SESSIONS.remove(word[2]); return "-"; }
    }

    static void serve(Socket socket) {
        try (socket; var in = new BufferedReader(new InputStreamReader(socket.getInputStream())); var out = socket.getOutputStream()) {
            for (String line; (line = in.readLine()) != null; ) {
                String said;
                try { said = answer(line.split(" ")); } catch (RuntimeException error) { System.err.println(line + ": " + error); said = "?"; }
                out.write((said + "\n").getBytes());
            }
        } catch (IOException gone) { /* with what was asked there */ }
    }

    static void listen(int port) throws IOException {
        var door = new ServerSocket();
        door.setReuseAddress(true);
        door.bind(new InetSocketAddress("127.0.0.1", port), 256);
        new Thread(() -> {
            try {
                while (true) {
                    var socket = door.accept();
                    socket.setTcpNoDelay(true);
                    new Thread(() -> serve(socket)).start();
                }
            } catch (IOException error) { System.exit(1); }
        }).start();
    }

    // ---- the group -----------------------------------------------------------------------------

    static boolean isFirst(com.hazelcast.cluster.Address address) { return address != null && address.getPort() == Integer.parseInt(ports[0]); }

    static boolean allThere() { return instance.getCluster().getMembers().size() == ports.length; }

    /** Without consensus: a group whose locks the first member answers for while all are there, the same for all of them. */
    static CPGroupId unsafeGroup() throws Exception {
        var names = instance.<String, String>getMap("picklock");
        String known = names.get("group");
        if (known == null && (index != 0 || starts > 0 || !allThere())) return null;
        for (int i = 0; known == null; i++) {
            var one = raft.createRaftGroupForProxy("r0@g" + i);
            var partitions = ((HazelcastInstanceProxy) instance).getOriginal().node.getPartitionService();
            if (isFirst(partitions.getPartitionOwnerOrWait(raft.getCPGroupPartitionId(one)))) {
                names.put("group", known = "r0@g" + i);
            }
        }
        return raft.createRaftGroupForProxy(known);
    }

    /** In the beginning the first member leads: faults name members, not leaders. Afterwards whoever was elected. */
    static boolean isLed(RaftNode node) throws Exception {
        if (node.getLeader() == null || begun) return node.getLeader() != null;
        for (CPMember one : manager.getCPMembers().toCompletableFuture().get(3, TimeUnit.SECONDS)) {
            if (!isFirst(one.getAddress())) continue;
            if (node.getLeader().getUuid().equals(one.getUuid())) return true;
            for (var member : node.getCommittedMembers())
                if (member.getUuid().equals(one.getUuid()) && node.getLeader().equals(node.getLocalMember())) node.transferLeadership(member);
            return false;
        }
        return false;
    }

    /** Back without what it knew: the one that it was is taken out of the group, and this one in. */
    static boolean isMember() throws Exception {
        if (manager.getLocalCPMember() != null) return true;
        if (!manager.isDiscoveryCompleted()) return false;
        for (CPMember one : manager.getCPMembers().toCompletableFuture().get(3, TimeUnit.SECONDS))
            if (one.getAddress().getPort() == Integer.parseInt(ports[index])) manager.removeCPMember(one.getUuid()).toCompletableFuture().get(3, TimeUnit.SECONDS);
        manager.promoteToCPMember().toCompletableFuture().get(5, TimeUnit.SECONDS);
        return true;
    }

    /** Who a member is in the group; null: nobody. Whoever was promoted has another name there than in the cluster. */
    static class Who implements Callable<UUID>, Serializable {
        public UUID call() { return manager.getLocalCPMember() == null ? null : manager.getLocalCPMember().getUuid(); }
    }

    static boolean isLost() throws Exception {
        var group = new HashSet<UUID>();
        raft.getMetadataGroupManager().getActiveMembers().forEach(one -> group.add(one.getUuid()));
        int left = 0;
        for (var one : instance.getCluster().getMembers())
            if (group.contains(instance.getExecutorService("picklock").submitToMember(new Who(), one).get(3, TimeUnit.SECONDS))) left++;
        return !group.isEmpty() && 2 * left <= group.size();
    }

    /** A group that lost its majority for good is reset when all are back, as an operator would: its oldest member can. */
    static void resetIfLost() throws Exception {
        if (begun && allThere() && instance.getCluster().getMembers().iterator().next().localMember() && isLost()) manager.reset().toCompletableFuture().get(20, TimeUnit.SECONDS);
    }

    static boolean look() throws Exception {
        if (cpMembers == 0) {
            if (group == null) group = unsafeGroup();
            return group != null;
        }
        resetIfLost();
        if (!isMember()) return false;
        if (group == null || raft.getRaftNode(group) == null) {
            SESSIONS.clear();
            group = raft.createRaftGroupForProxy("r0");
        }
        var node = raft.getRaftNode(group);
        return node != null && isLed(node);
    }

    static void keep() throws InterruptedException {
        for (; ; Thread.sleep(ready ? 200 : 50)) {
            try {
                ready = look();
                begun = begun || ready;
            } catch (InterruptedException end) { throw end;
            } catch (Exception error) {
                ready = false;
                System.err.println("not ready: " + error);
            }
        }
    }

    // ---- beginnings ----------------------------------------------------------------------------

    static int freePort() throws IOException { try (var one = new ServerSocket(0)) { return one.getLocalPort(); } }

    /** Three members in one machine, each of whose classes is then loaded: what it keeps of them others start from. */
    static void archive() throws Exception {
        ports = new String[] {"" + freePort(), "" + freePort(), "" + freePort()};
        ttlSeconds = 3; cpMembers = 3;
        var starting = new ArrayList<Future<HazelcastInstance>>();
        var pool = Executors.newCachedThreadPool();
        for (String port : ports) starting.add(pool.submit(() -> Hazelcast.newHazelcastInstance(config(Integer.parseInt(port), 0, port))));
        for (var one : starting) begin(one.get());
        index = 2; begun = true;
        for (int i = 0; i < 600 && !look(); i++) Thread.sleep(100);
        String value = "0".repeat(39) + "1";
        for (String line : new String[] {"create-session r0 " + value + " 3000", "heartbeat r0 " + value, "try-lock r0 " + value + " 0 1", "unlock r0 " + value})
            System.out.println(line + ": " + answer(line.split(" ")));
        System.exit(0);
    }

    public static void main(String[] word) throws Exception {
        if (word[0].equals("archive")) archive();
        index = Integer.parseInt(word[0]); starts = Integer.parseInt(word[1]); ttlSeconds = Integer.parseInt(word[5]);
        cpMembers = Integer.parseInt(word[6]); ports = Arrays.copyOfRange(word, 7, word.length);
        begun = starts > 0;
        try {
            listen(Integer.parseInt(word[2]));
            begin(Hazelcast.newHazelcastInstance(config(Integer.parseInt(word[3]), Integer.parseInt(word[4]), ports[index])));
            keep();
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }
}
