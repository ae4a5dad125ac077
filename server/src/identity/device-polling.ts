import { sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import type { Middleware } from './web-context.ts';

/** What a client is told to wait between two questions, and how much longer each time it does not (RFC 8628, 3.5). */
export const pollSeconds = 5;
const pollSecondsMore = 5;
const pollSecondsMax = 60;
/** Clocks and networks are not exact; a client that waits as told is never slowed down. */
const toleranceSeconds = 1;

/** Tells clients how often to ask, and those that ask oftener to slow down; the provider itself does neither. */
export function createDevicePolling(db: Db, deviceCodeSeconds: number): Middleware {
  return async (ctx, next) => {
    await next();
    // A path that no route of the provider answers has no such thing.
    const route: unknown = ctx.oidc?.route;
    if (route === 'device_authorization' && ctx.status === 200)
      ctx.body = { ...ctx.body, interval: pollSeconds };
    if (route !== 'token' || ctx.body?.error !== 'authorization_pending') return;
    const seconds = await notePoll(db, String(ctx.oidc.params.device_code), deviceCodeSeconds);
    if (seconds === null) return;
    ctx.body = { error: 'slow_down', error_description: `ask at most every ${seconds} seconds` };
  };
}

/** Null, or the interval that the client has to keep from now on. Kept in the database: any copy may be asked next. */
async function notePoll(db: Db, deviceCode: string, deviceCodeSeconds: number): Promise<number | null> {
  const seconds = sql`(poll.payload ->> 'seconds')::int`;
  const early = sql`poll.created_at + make_interval(secs => ${seconds} - ${toleranceSeconds}::int) > now()`;
  const slower = sql`least(${seconds} + ${pollSecondsMore}::int, ${pollSecondsMax}::int)`;
  const { rows } = await sql<{ seconds: number; early: boolean }>`
    insert into svc.oauth_models as poll (kind, id_hash, payload, expires_at)
    values ('DevicePoll', ${sha256(deviceCode)}, jsonb_build_object('seconds', ${pollSeconds}::int, 'early', false),
      now() + make_interval(secs => ${deviceCodeSeconds}))
    on conflict (kind, id_hash) do update set
      created_at = now(),
      payload = jsonb_build_object('early', ${early}, 'seconds', case when ${early} then ${slower} else ${seconds} end)
    returning (payload ->> 'seconds')::int as seconds, (payload ->> 'early')::bool as early`.execute(db);
  const poll = rows[0];
  return poll?.early ? poll.seconds : null;
}
