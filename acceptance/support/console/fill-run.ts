import { onDatabase } from '../app-runtime.ts';
import { type Files, type NodeApp, nodeApp } from '../node-apps.ts';
import type { Person, Tenant } from '../people.ts';
import { done } from '../rows-proof.ts';
import { until } from '../until.ts';

/** What an app is deployed with that says what it does: in colours, on both streams, a line for each request. */
export function talkingApp(version: string): Files {
  const files = nodeApp(version);
  return {
    ...files,
    'svc.yaml': 'build: node build.js\nstart: node server.js\n',
    'build.js': `
for (const step of ['Reading 42 modules', 'Bundling', '\\u001b[32mBuilt\\u001b[0m in 0.4 s']) console.log(step);
`,
    'server.js': `
console.log('\\u001b[36mRoom booking\\u001b[0m ${version} begins');
console.error('\\u001b[33mwarning\\u001b[0m: no calendar is connected; bookings stay here');
${files['server.js']}
server.on('request', (request) => console.log(request.method + ' ' + request.url + ' \\u001b[32m200\\u001b[0m'));
`,
  };
}

/** What came of it. */
export interface Ran {
  failedDeployment: string;
  liveDeployment: string;
  /** The slug of an app of which nothing is deployed yet. */
  draft: string;
}

/** Deployments that failed, were and are live; lines, figures and variables. */
export async function fillRun(tenant: Tenant, app: NodeApp, owner: Person): Promise<Ran> {
  await done(
    owner.call('PATCH', `${app.base}/env`, {
      set: { CALENDAR_URL: 'https://calendar.example.test', SMTP_PASSWORD: 'kept sealed', MODE: 'office' },
    }),
  );
  app.copy.write({ ...talkingApp('one'), 'build.js': "throw new Error('rooms.json is not there');\n" });
  const failedDeployment = await pushed(app);
  let liveDeployment = '';
  for (const version of ['one', 'two']) {
    app.copy.write(talkingApp(version));
    liveDeployment = await pushed(app);
  }
  await app.answers('two', 10_000);
  for (const path of ['/', '/rooms', '/rooms/7', '/desks?day=monday']) await app.ask(path);
  await fillFigures(tenant, app);
  const draft = await done(
    owner.call('POST', `${tenant.base}/apps`, { name: 'Lunch votes', summary: 'Where to today?' }),
  );
  return { failedDeployment, liveDeployment, draft: draft.slug };
}

/** Pushed, and deployed to its end; the id of the deployment. */
async function pushed(app: NodeApp): Promise<string> {
  const commit = await app.copy.push();
  const deployment = await until(
    `${commit} is deployed`,
    async () => (await app.deployments()).find((each) => each.commit === commit),
    40_000,
  );
  return (await app.ended(deployment)).id;
}

/** A week as it might have been: busy days, quiet nights, a bad hour. */
async function fillFigures({ server }: Tenant, { id }: NodeApp): Promise<void> {
  await onDatabase(
    server,
    `insert into svc.app_metrics (app_id, minute, requests, by_status, latency, bytes_out, cpu_ms, memory_bytes)
     select $1, at, n + 3, array[n, 1, case when k % 5 = 0 then 2 else 1 end, case when k % 37 = 0 then 1 else 0 end],
       array[n, n / 2, n / 3, n / 4, 2, case when k % 7 = 0 then 3 else 0 end, case when k % 13 = 0 then 1 else 0 end,
         0, 0, 0, 0, 0],
       n * 5200, 200 + n * 9, 48000000 + (sin(k / 90.0) * 6000000)::bigint
     from (select k, date_trunc('minute', now()) - make_interval(mins => k) as at,
         ((16 + 12 * sin(k / 229.0) + 4 * sin(k / 7.0)) * case when k > 70 then 5 else 1 end)::int as n
       from generate_series(1, 10079) k where k <= 70 or k % 5 = 0) as minutes
     on conflict do nothing`,
    [id],
  );
}
