import { cpuUsage } from 'node:process';
import pg from 'pg';
import { createRowPool } from '../../server/src/drivers/row-database/row-pool.ts';

// A process of `npm run bench clients`: loads one client with one case, then prints requests a second and its processor time.
const [name = '', url = '', text = '', seconds = '3'] = process.argv.slice(2);
const concurrency = 32;
const connectionsMax = 8;

type Run = (id: number) => Promise<unknown>;

const clients: Record<string, () => Promise<Run>> = {
  async svc() {
    const pool = createRowPool({ url, statementMsMax: 10_000, transactionStatementMsMax: 10_000 });
    const rows = pool.of('bench');
    const kind = text.startsWith('insert') ? 'insert' : text.includes('limit') ? 'read' : 'point';
    return (id) => rows.run(kind, text, [String(id)]);
  },
  async pg() {
    const pool = new pg.Pool({ connectionString: url, max: connectionsMax });
    return (id) => pool.query({ name: 'bench', text, values: [id] });
  },
  async 'postgres.js'() {
    const { default: postgres } = await import(
      '../peers/postgres/node_modules/postgres/src/index.js' as string
    );
    const address = new URL(url);
    const sql = postgres({
      host: address.searchParams.get('host') ?? address.hostname,
      user: decodeURIComponent(address.username),
      password: decodeURIComponent(address.password),
      database: address.pathname.slice(1),
      max: connectionsMax,
    });
    return (id) => sql.unsafe(text, [id], { prepare: true });
  },
};

const start = clients[name];
if (!start) throw new Error(`Unknown client: ${name}`);
const run = await start();
const load = async (ms: number): Promise<number> => {
  const end = performance.now() + ms;
  let count = 0;
  const loop = async () => {
    while (performance.now() < end) {
      await run(1 + Math.floor(Math.random() * 100_000));
      count++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return count;
};
await load(1_000);
const before = cpuUsage();
const started = performance.now();
const count = await load(Number(seconds) * 1_000);
const tookMs = performance.now() - started;
const { user, system } = cpuUsage(before);
console.log(JSON.stringify({ perSecond: (count * 1000) / tookMs, us: (user + system) / count }));
process.exit(0);
