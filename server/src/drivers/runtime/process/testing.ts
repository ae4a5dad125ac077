import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../database/testing.ts';
import { silentLog } from '../../testing.ts';
import type { IsolationWorld } from '../attacks-testing.ts';
import type { Sample, SampleName } from '../conformance-testing.ts';
import { closedPeers, hasPeer } from '../network-testing.ts';
import type { BuildPlan } from '../runtime.ts';
import { readBaseEnvironment, runIdVariable } from './environment.ts';
import { gateway } from './network.ts';
import { createProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts';
import { readProcessTable } from './process-trees.ts';

const plan: BuildPlan = {
  installCommand: null,
  buildCommand: null,
  dir: '.',
  startCommand: null,
  outputDir: null,
  dockerfile: null,
  composeFile: null,
  language: 'node',
};

const web = `const http = require('node:http');
http.createServer((request, response) => {
  if (request.url === '/burn') for (const from = process.cpuUsage(); process.cpuUsage(from).user < 300000; ) Math.random();
  response.end(Object.entries(process.env).map(([name, value]) => name + '=' + value + '\\n').join(''));
}).listen(Number(process.env.PORT), process.env.HOST);
`;
const polite = `process.on('SIGTERM', () => { console.log('bye'); process.exit(0); });\n`;
const deaf = `process.on('SIGTERM', () => {});\n`;
const chatty = `const out = [];
for (let at = 1; at <= 200; at++) out.push(Buffer.from('line ' + at + '\\n'));
out.push(Buffer.from('x'.repeat(20000) + '\\n'), Buffer.from('bad'), Buffer.from([0xff]), Buffer.from('end\\nhalf'));
process.stdout.write(Buffer.concat(out), () => process.stderr.write('to the side\\n'));
setInterval(() => {}, 1000);
`;
const hungry = `const kept = [];
setInterval(() => kept.push(Buffer.alloc(8 * 1024 * 1024, 1)), 20);
`;

function node(text: string): Sample {
  return { method: 'docker', plan: { ...plan, startCommand: 'node app.js' }, files: { 'app.js': text } };
}

export function processSample(name: SampleName, text: string): Sample {
  const samples: Record<SampleName, Sample> = {
    web: node(polite + web),
    exits: node(`console.log('going'); process.exit(7);`),
    stubborn: node(deaf + web),
    hungry: node(hungry),
    chatty: node(chatty),
    failing: built('echo about to fail; exit 3'),
    hanging: built(`setsid sleep ${text} & echo hanging; sleep ${text}`),
    site: {
      method: 'static',
      plan: {
        ...plan,
        buildCommand: 'mkdir -p out && echo "<h1>site</h1>" > out/index.html',
        outputDir: 'out',
      },
      files: { 'readme.txt': 'a site' },
    },
  };
  return samples[name];
}

function built(buildCommand: string): Sample {
  return {
    method: 'docker',
    plan: { ...plan, buildCommand, startCommand: 'true' },
    files: { 'readme.txt': 'an app' },
  };
}

export type ProcessWorld = IsolationWorld;

export function processWorld(overrides: Partial<ProcessRuntimeOptions> = {}): ProcessWorld {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  mkdirSync(dataDir, { mode: 0o711 });
  return {
    dataDir,
    listensAt: ['127.0.0.1', '0.0.0.0', 'localhost'],
    sockets: [],
    victimFiles: async ({ instance, built }) => {
      const runtime = join(dataDir, 'runtime');
      return [
        join(runtime, 'artifacts', String(built.artifact.buildId), 'private.txt'),
        join(runtime, 'run', instance.id, 'pid'),
      ];
    },
    findProcessOf: ({ instance }) => {
      const mark = `${runIdVariable}=${instance.id}\0`;
      const has = (pid: number, file: string, text: string) =>
        existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(text);
      const found = readProcessTable().find(
        ({ pid }) => has(pid, 'cmdline', 'node\0app.js') && has(pid, 'environ', mark),
      );
      if (!found) throw new Error('The process of the app was not found.');
      return { pid: found.pid, command: 'app.js' };
    },
    targets: async () => ({ hosts: [gateway], ports: [], appPorts: [] }),
    memoryFilesMax: { bytes: 80 * 1024 ** 2, files: 20_000 },
    peers: hasPeer ? closedPeers : [],
    workDir: join(dataDir, 'runtime', 'work'),
    open: () =>
      createProcessRuntime({
        dataDir,
        baseEnvironment: readBaseEnvironment(process.env),
        controlGroups: 'auto',
        isolation: { use: 'required', egress: 'public', gatewayPort: null },
        log: silentLog,
        times: { restartMsMin: 100, restartMsMax: 400, restartsMax: 4 },
        ...overrides,
      }),
    sample: processSample,
    whenClosed: 'ended',
    givesUp: 'soon',
    close: async () => folder.remove(),
  };
}
