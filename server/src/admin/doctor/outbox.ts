import { type Check, ok, problem, warning } from './check.ts';

interface Backlog {
  open: number;
  late: number;
  oldest: Date | null;
  error: string | null;
  served: boolean;
}

/** Effects outside the database are carried out by a server within seconds. */
export const outbox: Check = {
  name: 'outbox',
  needs: 'database',
  run: async ({ control }) => {
    const { rows } = await control.pool.query<Backlog>(
      `select count(*)::int as open, count(*) filter (where created_at < now() - interval '5 minutes')::int as late,
         min(created_at) as oldest, max(last_error) as error,
         exists (select from pg_stat_activity
           where datname = current_database() and application_name = 'svc queue') as served
       from svc.outbox where done_at is null`,
    );
    const { open, late, oldest, error, served } = rows[0] ?? {
      open: 0,
      late: 0,
      oldest: null,
      error: null,
      served: false,
    };
    if (late === 0) return ok(`${open} effects are open, none for longer than 5 minutes.`);
    const said = error ? ` The last error: ${error}` : '';
    const detail = `${late} effects wait for longer than 5 minutes, since ${oldest?.toISOString()}.${said}`;
    return served
      ? problem(detail, "See the server's log for why they fail.")
      : warning(detail, 'They are carried out when a server runs.');
  },
};
