import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { patientMs } from './patience.ts';

/** Debian's Knot DNS as an authoritative server for tests. */
const program = '/usr/sbin/knotd';
const control = '/usr/sbin/knotc';

export const hasDnsServer = existsSync(program) && existsSync(control);

export interface DnsRecord {
  name: string;
  type: 'A' | 'AAAA' | 'CNAME' | 'TXT' | 'NS' | 'CAA';
  value: string;
}

export interface DnsServer {
  address: string;
  host: string;
  port: number;
  setZone(name: string, records: readonly DnsRecord[]): Promise<void>;
  breakZone(name: string): Promise<void>;
  removeZone(name: string): Promise<void>;
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
}

const startMsMax = patientMs(15_000);
const ttlSeconds = 5;

export async function startDnsServer(
  folder: string,
  place: { host?: string; port?: number } = {},
): Promise<DnsServer> {
  const host = place.host ?? '127.0.0.1';
  const port = place.port ?? freePort(host);
  const zones = new Set<string>();
  let serial = 1;
  mkdirSync(join(folder, 'zones'), { recursive: true });
  const conf = join(folder, 'knot.conf');
  const writeConf = () => writeFileSync(conf, configuration(folder, { host, port }, zones));
  writeConf();
  // The kernel kills the child when this process dies.
  const child = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', program, '-c', conf], {
    cwd: folder,
    stdin: 'ignore',
    stdout: Bun.file(join(folder, 'knotd.log')),
    stderr: Bun.file(join(folder, 'knotd.log')),
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const tell = async (...words: string[]) => {
    const knotc = Bun.spawn([control, '-c', conf, '-b', '-t', '10', ...words], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const said = (await new Response(knotc.stdout).text()) + (await new Response(knotc.stderr).text());
    return { worked: (await knotc.exited) === 0, said };
  };
  const mustTell = async (...words: string[]) => {
    const { worked, said } = await tell(...words);
    if (!worked) throw new Error(`knotc ${words.join(' ')}: ${said}`);
    return said;
  };
  /** Changes run one after another: Knot must not reload a zone file while the next change writes it. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    const done = last.then(change);
    last = done.catch(() => {});
    return done;
  };
  const fileOf = (zone: string) => join(folder, 'zones', `${zone}.zone`);
  const forget = async (zone: string) => {
    if (!zones.delete(zone)) return;
    writeConf();
    await mustTell('reload');
    rmSync(fileOf(zone), { force: true });
  };

  const deadline = Date.now() + startMsMax;
  while (!(await tell('status')).worked) {
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error(`Knot did not start; see knotd.log in ${folder}.`);
    }
    await Bun.sleep(20);
  }

  return {
    address: `${host}:${port}`,
    host,
    port,
    setZone: (name, records) =>
      inTurn(async () => {
        writeFileSync(fileOf(name), zoneFile(name, records, { serial: ++serial, host }));
        if (zones.has(name)) {
          await mustTell('zone-reload', name);
        } else {
          zones.add(name);
          writeConf();
          await mustTell('reload');
        }
        const loadedBy = Date.now() + startMsMax;
        while (!(await mustTell('zone-status', name, '+serial')).includes(`serial: ${serial}`)) {
          if (Date.now() > loadedBy)
            throw new Error(`Knot did not load ${name}; see knotd.log in ${folder}.`);
          await Bun.sleep(5);
        }
      }),
    breakZone: (name) =>
      inTurn(async () => {
        await forget(name);
        writeFileSync(fileOf(name), 'this is no zone\n');
        zones.add(name);
        writeConf();
        await mustTell('reload');
      }),
    removeZone: (name) => inTurn(() => forget(name)),
    pause: async () => {
      child.kill('SIGSTOP');
      // A query in flight could still be answered before SIGSTOP takes effect.
      while (!/ T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'))) await Bun.sleep(1);
    },
    resume: () => child.kill('SIGCONT'),
    stop,
  };
}

function configuration(
  folder: string,
  place: { host: string; port: number },
  zones: ReadonlySet<string>,
): string {
  return `server:
    rundir: "${folder}"
    listen: "${place.host}@${place.port}"
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
control:
    listen: "${join(folder, 'knot.sock')}"
database:
    storage: "${join(folder, 'db')}"
    journal-db-max-size: 10M
log:
  - target: stderr
    any: info
template:
  - id: default
    storage: "${join(folder, 'zones')}"
    file: "%s.zone"
    zonefile-load: whole
    zonefile-sync: -1
    journal-content: none
${zones.size === 0 ? '' : `zone:\n${[...zones].map((zone) => `  - domain: "${zone}"\n`).join('')}`}`;
}

function zoneFile(
  zone: string,
  records: readonly DnsRecord[],
  options: { serial: number; host: string },
): string {
  const own = records.some(({ type, name }) => type === 'NS' && name === zone)
    ? []
    : [
        { name: zone, type: 'NS', value: `ns.${zone}` },
        { name: `ns.${zone}`, type: options.host.includes(':') ? 'AAAA' : 'A', value: options.host },
      ];
  const lines = [...own, ...records].map(
    ({ name, type, value }) => `${name}. ${ttlSeconds} ${type} ${valueText(type, value)}`,
  );
  return `${zone}. ${ttlSeconds} SOA ns.${zone}. admin.${zone}. ${options.serial} 3600 600 86400 ${ttlSeconds}
${lines.join('\n')}
`;
}

function valueText(type: string, value: string): string {
  if (type === 'CNAME' || type === 'NS') return `${value}.`;
  if (type !== 'TXT') return value;
  const pieces = value.match(/[\s\S]{1,255}/g) ?? [''];
  return pieces.map((piece) => `"${piece.replace(/["\\]/g, '\\$&')}"`).join(' ');
}
