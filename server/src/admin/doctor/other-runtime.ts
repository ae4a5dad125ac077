import { type Check, ok, warning } from './check.ts';

/** Apps that were built for what they ran on before: they answer again when they are deployed anew. */
export const otherRuntime: Check = {
  name: 'apps of another runtime',
  needs: 'database',
  run: async ({ config, control }) => {
    // A database of an earlier version has no such table; that is told by another check.
    const known = await control.pool.query(`select where to_regclass('svc.deployments') is not null`);
    if (known.rowCount === 0) return ok('No app was deployed yet.');
    const { rows } = await control.pool.query<{ name: string; runtime: string }>(
      `select t.slug || '/' || a.slug as name, d.runtime
       from svc.apps a join svc.deployments d on d.id = a.live_deployment_id join svc.tenants t on t.id = a.tenant_id
       where a.record = 'active' and a.runtime = 'running' and d.method <> 'static' and d.runtime <> $1
       order by 1 limit $2`,
      [config.runtime.kind, shownMax + 1],
    );
    if (rows.length === 0) return ok(`What is live runs on ${config.runtime.kind}.`);
    const names = rows.slice(0, shownMax).map(({ name }) => name);
    return warning(
      `Built for another runtime, and not running: ${names.join(', ')}${rows.length > shownMax ? ' …' : ''}.`,
      `Let their owners deploy anew, or set SVC_RUNTIME back to ${rows[0]?.runtime}.`,
    );
  },
};

const shownMax = 20;
