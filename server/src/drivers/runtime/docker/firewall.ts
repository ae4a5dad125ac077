import { type IsolationOptions, isLoopback, resolveServices } from '../process/isolation.ts';
import { closedRanges } from '../process/network.ts';
import { type DockerDeps, instanceFilter, labelFilter, labelNames } from './docker-deps.ts';
import {
  type ContainerSummary,
  EngineError,
  ignoreMissing,
  readFrames,
  type ServiceSummary,
} from './engine.ts';
import { bridgePrefix, installationHash, machineName, sharedBridges } from './networks.ts';
import { isReady, listNodes, runOnNodes } from './spread.ts';

/** Keeps containers from the engine's machine, from private networks and from each other. */
export interface Firewall {
  /** Why apps are refused, or null. */
  protect(): Promise<string | null>;
  /** Before an instance starts, for the services that it may use. */
  open(instanceId: string, urls: readonly string[]): Promise<void>;
  /** For the label of its containers, which a later server reads. */
  services(instanceId: string): readonly Service[];
  forget(instanceId: string): void;
  close(): Promise<void>;
}

/** `address` is null for the engine's machine. */
export interface Service {
  address: string | null;
  port: number;
}

/** Rules can vanish, for example when a firewall of the machine is reloaded. */
const renewMs = 60_000;

export function createFirewall(
  deps: Pick<DockerDeps, 'engine' | 'installation' | 'baseImage' | 'buildVariables' | 'log'> & {
    /** Apps run on all nodes of a Swarm. */
    isSpread: boolean;
  },
  { use, egress }: Pick<IsolationOptions, 'use' | 'egress'>,
): Firewall {
  const { engine, installation, log } = deps;
  const starting = new Map<string, Service[]>();
  let applied: { at: number; services: Set<string>; nodes: string[] } | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  const closing = new AbortController();

  function isApplied(services: readonly Service[]): boolean {
    if (applied === null || Date.now() - applied.at > renewMs) return false;
    return services.every((service) => applied?.services.has(JSON.stringify(service)));
  }

  async function listLabels(): Promise<Record<string, string>[]> {
    const query = { all: 1, ...instanceFilter(labelNames.installation, installation) };
    const containers = await engine.json<ContainerSummary[]>('GET', '/containers/json', { query });
    const own = containers.map(({ Labels }) => Labels);
    if (!deps.isSpread) return own;
    const services = await engine.json<ServiceSummary[]>('GET', '/services', {
      query: labelFilter(labelNames.installation, installation),
    });
    return [...own, ...services.map(({ Spec }) => Spec.Labels)];
  }

  async function apply(services: readonly Service[]): Promise<void> {
    const nodes = deps.isSpread ? (await listNodes(engine)).filter(isReady).map(({ ID }) => ID) : [];
    if (isApplied(services) && nodes.every((id) => applied?.nodes.includes(id))) return;
    const labelled = (await listLabels()).flatMap((labels) => parseServices(labels[labelNames.services]));
    const builds = await findServices(Object.values(deps.buildVariables));
    const all = new Set(
      [...labelled, ...[...starting.values()].flat(), ...builds, ...services].map((it) => JSON.stringify(it)),
    );
    const parsed = [...all].map((text) => JSON.parse(text) as Service);
    const { signal } = closing;
    const own = { egress, services: parsed, ...bridgesOf(installation) };
    await runOnMachine(deps, { command: rulesCommand(own), signal });
    const set = deps.isSpread
      ? await runOnNodes(deps, { command: rulesCommand({ ...own, ...gatewayOf(installation) }), signal })
      : [];
    applied = { at: Date.now(), services: all, nodes: set };
  }

  function protect(services: readonly Service[] = []): Promise<string | null> {
    if (use === 'none') return Promise.resolve(null);
    const next = queue
      .then(() => apply(services))
      .then(
        () => null,
        (error: unknown) => {
          if (!(error instanceof EngineError)) throw error;
          const problem = `Apps cannot be isolated: the network rules of the Docker engine could not be set. ${error.message}`;
          if (use === 'required') return problem;
          log.warn({ err: error }, 'apps run without isolation from the networks of this machine');
          return null;
        },
      );
    queue = next.catch(() => {});
    return next;
  }

  return {
    protect: () => protect(),
    async open(instanceId, urls) {
      const services = await findServices(urls);
      starting.set(instanceId, services);
      const problem = await protect(services);
      if (problem === null) return;
      starting.delete(instanceId);
      throw new Error(problem);
    },
    services: (instanceId) => starting.get(instanceId) ?? [],
    forget: (instanceId) => void starting.delete(instanceId),
    async close() {
      closing.abort(new Error('The server is stopping.'));
      await queue;
    },
  };
}

async function findServices(urls: readonly string[]): Promise<Service[]> {
  const isMachine = (url: string) => URL.parse(url)?.hostname === machineName;
  const onMachine = urls.filter(isMachine).map((url) => url.replace(machineName, '127.0.0.1'));
  const others = await resolveServices(urls.filter((url) => !isMachine(url)));
  return [
    ...(await resolveServices(onMachine)).map(({ port }) => ({ address: null, port })),
    // In a container, loopback is the container.
    ...others.filter((service) => !isLoopback(service)),
  ];
}

function parseServices(label: string | undefined): Service[] {
  return label === undefined ? [] : (JSON.parse(label) as Service[]);
}

/** Containers of an overlay network use this bridge of their node for all other connections. */
const gatewayBridge = 'docker_gwbridge';

/** The chain for networks of the engine of this server. */
const bridgesOf = (installation: string) => ({
  name: `SVC-${installationHash(installation)}`,
  bridges: `${bridgePrefix(installation)}+`,
  shared: sharedBridges(installation),
});
const gatewayOf = (installation: string) => ({
  name: `SVC-${installationHash(installation)}-GW`,
  bridges: gatewayBridge,
  shared: [gatewayBridge],
});
/** Of all networks of an engine, and of installations. */
const engineBridges = [gatewayBridge, 'docker0', 'svc+'];

interface Rules {
  /** Names of chains have at most 28 characters. */
  name: string;
  bridges: string;
  /** Those whose containers do not connect to each other. */
  shared: readonly string[];
  egress: IsolationOptions['egress'];
  services: readonly Service[];
}

/** Arguments of the script: names, then the rules of both tables before and after those of the name servers. */
function rules({ name, bridges, shared, egress, services }: Rules): string[] {
  const chains = ['IN', 'FWD', 'NO', 'GRD', 'BR'].map((kind) => `${name}-${kind}`);
  const [input = '', forward = '', refuse = '', guard = '', named = ''] = chains;
  const established = '-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN';
  const begin = [
    '*filter',
    ...[input, forward, refuse].map((chain) => `:${chain} - [0:0]`),
    // The kernel limits how many ICMP messages it sends.
    `-A ${refuse} -p tcp -j REJECT --reject-with tcp-reset`,
    `-A ${refuse} -j REJECT`,
  ];
  for (const chain of [input, forward]) begin.push(`-A ${chain} ${established}`);
  // The engine itself drops packets between bridges, and within the bridge that instances share.
  begin.push(`-A ${forward} -o ${bridges} -j RETURN`);
  const guardBegin = [
    `:${guard} - [0:0]`,
    `-A ${guard} ${established}`,
    ...shared.map((bridge) => `-A ${guard} -i ${bridge} -o ${bridge} -j DROP`),
    // Between services of a compose app. A packet that is not bridged goes from one bridge to another.
    `-A ${guard} -o ${bridges} -m physdev --physdev-is-bridged -j RETURN`,
    ...engineBridges.map((bridge) => `-A ${guard} -o ${bridge} -j DROP`),
    `:${named} - [0:0]`,
    `-A ${guard} -o br-+ -j ${named}`,
  ];
  for (const { address, port } of services) {
    const to = `-p tcp --dport ${port} -j RETURN`;
    if (address === null) begin.push(`-A ${input} ${to}`);
    else {
      begin.push(...[input, forward].map((chain) => `-A ${chain} -d ${address} ${to}`));
      guardBegin.push(`-A ${guard} -d ${address} ${to}`);
    }
  }
  const closeRanges = (chain: string, target: string) =>
    closedRanges(egress).map((range) => `-A ${chain} -d ${range} -j ${target}`);
  const end = [`-A ${input} -j ${refuse}`, ...closeRanges(forward, refuse)];
  const lines = (all: string[]) => all.map((line) => `${line}\n`).join('');
  const names = egress === 'none' ? 'none' : 'open';
  const texts = [begin, end, guardBegin, closeRanges(guard, 'DROP')].map(lines);
  return [input, forward, guard, named, bridges, names, ...texts];
}

/**
 * Replaces the rules of a table in one step, as the first ones of their chains. The engine asks name servers from the
 * container, so they are open for that.
 *
 * Whenever a network is created, the engine takes its jumps out of FORWARD, also the one to our rules and the one that keeps
 * networks apart, and adds them again. Meanwhile a second table refuses the same, without an answer. The chain FORWARD of
 * the table security comes after that of the table filter, which answers.
 */
const script = `export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/run/current-system/sw/bin
input=$1 forward=$2 guard=$3 named=$4 bridges=$5 names=$6; shift 6
begin=$1 end=$2 guard_begin=$3 guard_end=$4
table=security; iptables -w -t security -n -L FORWARD >/dev/null 2>&1 || table=mangle
user=FORWARD; iptables -w -n -L DOCKER-USER >/dev/null 2>&1 && user=DOCKER-USER
first() {
  $1 -w -C "$2" -i "$bridges" -j "$3" 2>/dev/null && echo "-D $2 -i $bridges -j $3"
  echo "-I $2 1 -i $bridges -j $3"
}
servers() {
  sed -n 's/^nameserver[[:space:]]*//p' /etc/resolv.conf /run/systemd/resolve/resolv.conf
  tr -d '[:space:]"' < /etc/docker/daemon.json | sed -n 's/.*dns:\\[\\([^]]*\\)\\].*/\\1/p' | tr , '\\n'
}
open_names() {
  [ "$names" = none ] || servers 2>/dev/null | grep -E '^[0-9]+(\\.[0-9]+){3}$' | grep -v '^127' | sort -u | while read -r server; do
    for chain; do for protocol in udp tcp; do
      echo "-A $chain -d $server -p $protocol --dport 53 -j RETURN"
    done; done
  done
}
{
  echo "*$table"
  printf %s "$guard_begin"
  # An engine's have br- and a part of an id as name; others may lead to other machines.
  sed -n 's/^ *\\(br-[^:]*\\):.*/\\1/p' /proc/net/dev | grep -vE '^br-[0-9a-f]{12}$' | sed "s/.*/-A $named -o & -j RETURN/"
  echo "-A $named -j DROP"
  open_names "$guard"
  printf %s "$guard_end"
  first "iptables -t $table" FORWARD "$guard"
  echo COMMIT
  printf %s "$begin"
  open_names "$input" "$forward"
  printf %s "$end"
  first iptables INPUT "$input"
  first iptables "$user" "$forward"
  echo COMMIT
} | iptables-restore -w --noflush || exit 1
if ip6tables -w -n -L INPUT >/dev/null 2>&1; then
  { echo '*filter'; first ip6tables INPUT REJECT; first ip6tables FORWARD REJECT; echo COMMIT; } | ip6tables-restore -w --noflush
fi`;

const rulesCommand = (own: Rules) => [
  'chroot',
  '/machine',
  '/bin/sh',
  '-c',
  script,
  'svc-firewall',
  ...rules(own),
];

/** The engine's own `iptables`, in its network, wherever the engine is and whoever runs this server. */
async function runOnMachine(
  { engine, baseImage, installation }: Pick<DockerDeps, 'engine' | 'baseImage' | 'installation'>,
  { command, signal }: { command: readonly string[]; signal: AbortSignal },
): Promise<void> {
  const body = {
    Image: baseImage,
    Entrypoint: [],
    Cmd: command,
    User: '0:0',
    Labels: { [labelNames.installation]: installation },
    HostConfig: {
      NetworkMode: 'host',
      UsernsMode: 'host',
      Binds: ['/:/machine'],
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN', 'NET_RAW', 'SYS_CHROOT'],
      SecurityOpt: ['label=disable', 'no-new-privileges'],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
    },
  };
  const create = () => engine.json<{ Id: string }>('POST', '/containers/create', { body, signal });
  const created = await create().catch(async (error: unknown) => {
    if (!(error instanceof EngineError && error.status === 404)) throw error;
    await pull();
    return create();
  });
  try {
    const path = `/containers/${created.Id}`;
    await engine.send('POST', `${path}/start`, { signal });
    const { StatusCode } = await engine.json<{ StatusCode: number }>('POST', `${path}/wait`, { signal });
    if (StatusCode !== 0) throw new EngineError(0, (await readOutput(created.Id)).slice(0, 500));
  } finally {
    await ignoreMissing(engine.send('DELETE', `/containers/${created.Id}`, { query: { force: 1, v: 1 } }));
  }

  async function pull(): Promise<void> {
    const hasTag = /[:@][^/]*$/.test(baseImage);
    const query = { fromImage: baseImage, tag: hasTag ? undefined : 'latest' };
    await engine.send('POST', '/images/create', { query, timeoutMs: pullMsMax, signal });
  }

  async function readOutput(id: string): Promise<string> {
    const query = { stdout: 1, stderr: 1 };
    const call = { query, timeoutMs: outputMsMax, signal };
    const { body: frames } = await engine.stream('GET', `/containers/${id}/logs`, call);
    let output = '';
    for await (const { bytes } of readFrames(frames as unknown as AsyncIterable<Uint8Array>))
      output += Buffer.from(bytes).toString();
    return output;
  }
}

const pullMsMax = 10 * 60_000;
const outputMsMax = 60_000;
