import { withCleanup } from './rows/cleanup.ts';
import { waitUntilIdle } from './rows/cpu.ts';
import { percentile } from './rows/measure.ts';
import { type Server, startServer } from './rows/start-server.ts';

const sizes = [1_000, 100_000] as const;
const rounds = 60;
const p50MsMax = 50;
const searches = 'report,zebra 777,sales report,inv,custmer portl,reprot,xqzvw,app,app-777,ing'.split(',');

export async function main(): Promise<void> {
  await withCleanup(async (cleanup) => {
    const server = await startServer(cleanup);
    const small = await createTenant(server, sizes[0]);
    const large = await createTenant(server, sizes[1]);
    await server.sql('vacuum analyze svc.apps');
    await waitUntilIdle();
    for (const person of ['admin', 'member'] as const) {
      for (const [name, path] of cases()) {
        const before = await measure(server, small[person], `${small.base}${path}`);
        const after = await measure(server, large[person], `${large.base}${path}`);
        const p50 = percentile(after, 0.5);
        console.log(
          `${person.padEnd(6)} ${name.padEnd(28)} 1,000: ${formatTimes(before)}  100,000: ${formatTimes(after)}  growth ${(p50 / percentile(before, 0.5)).toFixed(1)}  ${p50 < p50MsMax ? 'PASS' : 'MISS'}`,
        );
      }
    }
  });
}

function cases(): [string, string][] {
  return [
    ['list', '/apps'],
    ['list --sort -updated_at', '/apps?sort=-updated_at'],
    ['list --status deployed', '/apps?status=deployed'],
    ['list --review-status none', '/apps?review_status=none'],
    ['discover', '/apps/discover'],
    ...searches.map((q): [string, string] => [`search ${q}`, `/apps/search?q=${encodeURIComponent(q)}`]),
    ...searches.map((q): [string, string] => [`list --q ${q}`, `/apps?q=${encodeURIComponent(q)}`]),
    ...searches
      .slice(0, 2)
      .map((q): [string, string] => [`discover --q ${q}`, `/apps/discover?q=${encodeURIComponent(q)}`]),
  ];
}

const formatTimes = (times: readonly number[]) =>
  `p50 ${percentile([...times], 0.5).toFixed(1)} ms, p99 ${percentile([...times], 0.99).toFixed(1)} ms`;

interface Tenant {
  base: string;
  admin: string;
  member: string;
}

export async function createTenant(server: Server, apps: number): Promise<Tenant> {
  const slug = `bench-${apps}`;
  const { id } = server.admin('tenants', 'create', slug);
  const people: Record<'admin' | 'member', string> = { admin: '', member: '' };
  for (const person of ['admin', 'member'] as const) {
    const email = `${person}-${apps}@example.test`;
    server.admin('users', 'create', email);
    server.admin('members', 'set', '--tenant', slug, '--user', email, '--role', `tenant_${person}`);
    people[person] = server.admin('tokens', 'issue', '--user', email).access_token ?? '';
  }
  await server.sql(`
    insert into svc.apps (id, tenant_id, slug, name, summary, description, owner_id, owner_since, visibility, is_deployed, created_at, updated_at)
    select gen_random_uuid(), '${id}', 'app-' || i, initcap(w1 || ' ' || w2) || case when i % 3 = 0 then ' ' || i else '' end,
      left('The ' || w2 || ' of ' || w1 || ' for ' || w3, 60), repeat(w1 || ' ' || w3 || ' ' || w2 || ' and more about it. ', 10),
      u.id, t, (array['private', 'private', 'invite_only', 'public', 'internet'])[1 + h % 5], h % 2 = 0, t, t + (h % 1000) * interval '1 minute'
    from generate_series(1, ${apps}) i, (select id from svc.users where email = 'admin-${apps}@example.test') u,
      lateral (select abs(hashint8(i)) as h) hash,
      lateral (select (${words})[1 + h % 40] as w1, (${words})[1 + h / 40 % 40] as w2, (${words})[1 + h / 1600 % 40] as w3,
        now() - (${apps} - i) * interval '1 minute' as t) named`);
  return { base: `/api/v1/tenants/${slug}`, ...people };
}

const words = `string_to_array('\
sales report invoice customer portal stock travel expense holiday planner \
zebra pet shop garden weather lunch menu parking visitor badge \
server status incident deploy review survey budget forecast supplier order \
catalogue price tax payroll hiring training library archive news wiki', ' ')`;

async function measure(server: Server, token: string, path: string): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const sent = performance.now();
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    if (round >= 10) times.push(performance.now() - sent);
  }
  return times;
}
