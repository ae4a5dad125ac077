import { expect, test } from 'bun:test';
import { openServerDatabase } from '../support/database.ts';
import { newRandom } from '../support/random.ts';
import { rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';

import { until } from '../support/until.ts';

export function appsLifeCrash({ killsCount }: { killsCount: number }): void {
  const peopleCount = 4;

  /** The server's record of an app after a move, if it answered. */
  interface Seen {
    id: string;
    slug: string;
    /** Moves that were answered; the one in progress when the server died may be applied or not. */
    record: 'active' | 'archived' | 'deleted' | 'purged';
    certain: boolean;
  }

  const recordAfter: Readonly<Record<string, Seen['record']>> = {
    'apps.create': 'active',
    'apps.archive': 'archived',
    'apps.reactivate': 'active',
    'apps.delete': 'deleted',
    'apps.purge': 'purged',
  };

  test('kill -9 during deletions, restores and purges leaves each app as the audit records it, with or without its schema', async () => {
    const random = newRandom();
    let server = await startEmbedded();
    const ground = await rowsWorld(server);
    const { base } = ground.tenant;
    const statuses = new Tally();
    const apps: Seen[] = [];
    let [over, moves] = [false, 0];
    /** Moves without an answer yet, and those of them that a kill may have interrupted. */
    const inProgress = new Set<{ isAnswered: boolean }>();
    const hit: { isAnswered: boolean }[] = [];

    /** Null when the server was away; then the outcome is unknown. */
    const send = async (method: string, path: string, body?: unknown) => {
      const answer = await ground.owner.call(method, path, body).catch(() => null);
      statuses.add(answer ? answer.status : 'no answer');
      if (answer && answer.status < 500) return answer;
      await until('the server is back', () => isReady(server), 60_000);
      return null;
    };
    const life = async () => {
      while (!over) {
        const name = `Mortal ${Bun.randomUUIDv7().slice(-12)}`;
        const made = await send('POST', `${base}/apps`, { name });
        if (made?.status !== 201) continue;
        const app: Seen = { id: made.body.id, slug: made.body.slug, record: 'active', certain: true };
        apps.push(app);
        await send('POST', `${base}/apps/${app.id}/tables`, { name: 'kept', columns: ['n:int'] });
        await send('POST', `/data/${ground.tenant.id}/${app.id}/kept`, { n: 1 });
        for (const move of random.pick(lives)) {
          const path = `${base}/apps/${app.id}`;
          const attempt = { isAnswered: false };
          inProgress.add(attempt);
          const moved = await (move === 'delete' ? send('DELETE', path) : send('POST', `${path}/${move}`));
          inProgress.delete(attempt);
          attempt.isAnswered = moved !== null;
          app.certain = moved !== null;
          if (moved === null) break;
          // The move in progress when the server died may be applied: the next move then finds that state.
          if (moved.status === 200) app.record = moved.body.removed ? 'purged' : moved.body.record;
          moves++;
        }
      }
    };
    const people = Array.from({ length: peopleCount }, life);
    const wrong: string[] = [];
    let purged = 0;
    for (let kill = 1; kill <= killsCount; kill++) {
      const wanted = moves + 5 + random.below(20);
      await until('some moves were made', async () => moves >= wanted, 60_000);
      await Bun.sleep(random.below(40));
      hit.push(...inProgress);
      server.signal('SIGKILL');
      await server.exited;
      server = await startEmbedded({ dataDir: server.dataDir, port: server.port });
      if (kill === killsCount) over = true;
    }
    await Promise.all(people);
    const found = await judge(server);
    wrong.push(...found.wrong);
    for (const app of apps.filter(({ certain }) => certain)) {
      const is = found.records.get(app.id) ?? 'purged';
      if (is === 'purged') purged++;
      if (is !== app.record) wrong.push(`${app.slug} was answered ${app.record} and is ${is}`);
    }
    const interrupted = hit.filter(({ isAnswered }) => !isAnswered).length;
    console.log(
      `apps life crash: seed ${random.seed}; ${killsCount} kills, ${apps.length} apps, ${moves} moves answered, ${interrupted} interrupted, ${purged} purged; wrong: ${wrong.length}; ${statuses}`,
    );
    expect(wrong).toEqual([]);
    expect(interrupted).toBeGreaterThan(0);
    expect(purged).toBeGreaterThan(0);
    expect(statuses.except(200, 201, 404, 409, 503, 'no answer')).toEqual([]);
    await server.stop();
  });

  const lives = [
    ['delete', 'restore', 'delete', 'purge'],
    ['archive', 'delete', 'restore', 'reactivate', 'delete', 'purge'],
    ['delete', 'purge'],
    ['delete', 'restore', 'archive'],
  ] as const;

  const isReady = (server: RunningServer) =>
    fetch(`${server.baseUrl}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );

  /** Compares stored apps with the audit and with the schemas that exist. */
  async function judge(server: RunningServer): Promise<{ wrong: string[]; records: Map<string, string> }> {
    const database = openServerDatabase(server);
    const stored = await database.query('select id, slug, record, deleted_from from svc.apps');
    const records = new Map(stored.map(({ id, record }) => [String(id), String(record)]));
    const wrong: string[] = [];
    const audited = new Map<string, { record: string; before: string }>();
    const entries = await database.query(
      `select target_id as id, action from svc.audit_entries
     where target_kind = 'app' and action like 'apps.%' order by tenant_id, seq`,
    );
    for (const { id, action } of entries as { id: string; action: string }[]) {
      const last = audited.get(id) ?? { record: '', before: '' };
      const record = action === 'apps.restore' ? last.before : recordAfter[action];
      if (record === undefined) continue;
      audited.set(id, { record, before: action === 'apps.delete' ? last.record : '' });
    }
    for (const [id, { record }] of audited) {
      const is = records.get(id) ?? 'purged';
      if (is !== record) wrong.push(`${id} is ${is}, and the audit has ${record}`);
    }
    const names = async (text: string) => (await database.query(text)).map(({ name }) => String(name));
    const schemas = new Set(
      await names(`select nspname as name from pg_namespace where nspname like 'app\\_%'`),
    );
    const wanted = new Set(
      await names(`select distinct 'app_' || replace(app_id::text, '-', '') as name from svc.app_tables`),
    );
    for (const name of schemas.symmetricDifference(wanted)) wrong.push(`${name} is there without the other`);
    const kept = new Set(await names(`select name from svc.reserved_names where kind = 'subdomain'`));
    const purgedNames = await names(
      `select target_name as name from svc.audit_entries where action = 'apps.purge'`,
    );
    for (const name of purgedNames) if (!kept.has(name)) wrong.push(`the subdomain ${name} is not kept`);
    await database.close();
    return { wrong, records };
  }
}
