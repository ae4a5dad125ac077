import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { patientMs } from './patience.ts';

/** Debian's OpenStack Swift, which implements S3 and verifies signatures. */
const parts = ['account', 'container', 'object', 'proxy'] as const;
const programOf = (part: Part) => `/usr/bin/swift-${part}-server`;
type Part = (typeof parts)[number];
type Ports = Record<Part, number>;

export const hasS3Server = parts.every((part) => existsSync(programOf(part)));

export interface S3Server {
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  createBucket(): Promise<string>;
  /** Accepts connections and answers nothing until `resume`. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

const account = { region: 'us-east-1', accessKeyId: 'test:tester', secretAccessKey: 'testing' };
const listPageMax = 100;
const startMsMax = patientMs(30_000);

export async function startS3Server(folder: string): Promise<S3Server> {
  const ports = Object.fromEntries(parts.map((part) => [part, freePort()])) as Ports;
  mkdirSync(join(folder, 'devices', 'd1'), { recursive: true });
  for (const [name, text] of Object.entries(configuration(folder, ports))) {
    writeFileSync(join(folder, name), text);
  }
  const rings = Bun.spawnSync(['/usr/bin/python3', '-c', ringsProgram, JSON.stringify(ports)], {
    cwd: folder,
  });
  if (rings.exitCode !== 0) throw new Error(`Swift's rings could not be made: ${rings.stderr}`);
  const started = parts.map((part) =>
    Bun.spawn(['setpriv', '--pdeathsig', 'KILL', programOf(part), join(folder, `${part}.conf`), '-v'], {
      cwd: folder,
      stdin: 'ignore',
      stdout: Bun.file(join(folder, `${part}.log`)),
      stderr: Bun.file(join(folder, `${part}.log`)),
    }),
  );
  const stop = async () => {
    signal('SIGKILL');
    await Promise.all(started.map((child) => child.exited));
  };
  const signal = (name: NodeJS.Signals) => {
    for (const child of started) child.kill(name);
  };
  const pause = () => signal('SIGSTOP');
  const resume = () => signal('SIGCONT');
  const endpoint = `http://127.0.0.1:${ports.proxy}`;
  const server = { ...account, endpoint, pause, resume, stop, createBucket: () => createBucket(endpoint) };
  let problem: unknown;
  for (const deadline = Date.now() + startMsMax; Date.now() < deadline; await Bun.sleep(50)) {
    try {
      // The proxy avoids a server for a while after a failed connection, so wait until each one answers.
      for (const part of parts) await fetch(`http://127.0.0.1:${ports[part]}/`);
      await server.createBucket();
      return server;
    } catch (error) {
      problem = error;
    }
  }
  await stop();
  throw new Error(`Swift did not start; see its logs in ${folder}.`, { cause: problem });
}

let buckets = 0;

async function createBucket(endpoint: string): Promise<string> {
  const name = `bucket-${process.pid}-${++buckets}`;
  const date = new Date().toUTCString();
  const signature = createHmac('sha1', account.secretAccessKey)
    .update(`PUT\n\n\n${date}\n/${name}`)
    .digest('base64');
  const answer = await fetch(`${endpoint}/${name}`, {
    method: 'PUT',
    headers: { date, authorization: `AWS ${account.accessKeyId}:${signature}` },
  });
  if (answer.status !== 200) throw new Error(`No bucket: ${answer.status} ${await answer.text()}`);
  return name;
}

function configuration(folder: string, ports: Ports): Record<string, string> {
  const user = Bun.spawnSync(['id', '-un']).stdout.toString().trim();
  const common = (part: Part) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${ports[part]}
workers = 0
user = ${user}
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
fallocate_reserve = 0
`;
  const store = (part: Part) => `${common(part)}
[pipeline:main]
pipeline = ${part}-server
[app:${part}-server]
use = egg:swift#${part}
`;
  return {
    'swift.conf': `[swift-hash]
swift_hash_path_prefix = svc
swift_hash_path_suffix = svc
[storage-policy:0]
name = default
default = yes
`,
    'account.conf': store('account'),
    'container.conf': store('container'),
    'object.conf': store('object'),
    'proxy.conf': `${common('proxy')}
[pipeline:main]
pipeline = cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
error_suppression_limit = 0
[filter:s3api]
use = egg:swift#s3api
location = ${account.region}
max_bucket_listing = ${listPageMax}
[filter:tempauth]
use = egg:swift#tempauth
user_${account.accessKeyId.replace(':', '_')} = ${account.secretAccessKey} .admin
[filter:slo]
use = egg:swift#slo
`,
  };
}

const ringsProgram = `
import json, sys
from swift.common.ring import RingBuilder
ports = json.loads(sys.argv[1])
for name in ('account', 'container', 'object'):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev(dict(region=1, zone=1, weight=1, device='d1', ip='127.0.0.1', port=ports[name],
                         replication_ip='127.0.0.1', replication_port=ports[name]))
    builder.rebalance()
    builder.get_ring().save(name + '.ring.gz')
`;
