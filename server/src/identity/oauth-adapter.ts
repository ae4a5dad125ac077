import { sql } from 'kysely';
import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { appIdOf } from './app-clients.ts';
import {
  consumeAgain,
  consumeModel,
  deleteModel,
  deleteModelsOfGrant,
  findModel,
  revokeGrant,
  type StoredModel,
  storeModel,
} from './oauth-models.ts';
import { withoutSecrets, withSecrets } from './oauth-payload.ts';

export interface AdapterOptions {
  db: Db;
  /** The request under way, where there is one. */
  request: () => { oidc: { route: string } } | undefined;
  /** What to throw when a token can not be used any more. */
  invalidGrant: (detail: string) => Error;
  /** Clients are no records of the provider's own. */
  findClient: (id: string) => Promise<ClientMetadata | undefined>;
}

/** Stands for an id that is known by its hash only. */
const storedIdPrefix = 'stored:';
/** Where a device code is found by the code a person typed; clients name theirs elsewhere, and never by its hash. */
const routesWithStoredIds = ['code_verification', 'device_resume'];

/** Keeps what the OpenID provider has to remember in PostgreSQL: one adapter per kind of record. */
export function createOauthAdapter(options: AdapterOptions): (kind: string) => Adapter {
  const { db } = options;
  const sessions = trackSessions(options.request);

  return (kind) => {
    const hashOf = (id: string) => {
      const route = options.request()?.oidc.route ?? '';
      const isStoredId =
        kind === 'DeviceCode' && routesWithStoredIds.includes(route) && id.startsWith(storedIdPrefix);
      return isStoredId ? id.slice(storedIdPrefix.length) : sha256(id);
    };

    return {
      async upsert(id, payload, secondsLeft) {
        const idHash = hashOf(id);
        const mode = kind === 'Session' ? sessions.saveMode(idHash) : 'insert';
        if (mode === 'skip') return;
        const stripped = withoutSecrets(kind, id, payload);
        await storeModel(
          db,
          { kind, idHash, payload: stripped, userCode: payload.userCode, secondsLeft },
          mode,
        );
      },

      async find(id) {
        if (kind === 'Client') return options.findClient(id);
        const model = await findModel(db, kind, { idHash: hashOf(id) });
        if (model && kind === 'Session') sessions.found(model.idHash);
        return model && restored(kind, id, model);
      },

      async findByUid(uid) {
        const model = await findModel(db, kind, { uid });
        return model && restored(kind, `${storedIdPrefix}${model.idHash}`, model);
      },

      async findByUserCode(userCode) {
        const model = await findModel(db, kind, { userCode });
        return model && { ...restored(kind, `${storedIdPrefix}${model.idHash}`, model), userCode };
      },

      async consume(id) {
        const idHash = hashOf(id);
        if (await consumeModel(db, { kind, idHash })) return;
        const model = await findModel(db, kind, { idHash });
        const isRetry = model && mayBeRetried(kind, model);
        if (isRetry && (await consumeAgain(db, { idHash, withinSeconds: retrySeconds }))) return;
        // Two came at once, and one of them may be a thief: it ends for both.
        if (model?.grantId) await revokeGrant(db, model.grantId);
        throw options.invalidGrant('already used');
      },

      async destroy(id) {
        const idHash = hashOf(id);
        if (kind === 'Grant') await revokeGrant(db, id);
        else if (!(await deleteModel(db, { kind, idHash })) && kind === 'Session') sessions.missed(idHash);
      },

      async revokeByGrantId(grantId) {
        await deleteModelsOfGrant(db, kind, grantId);
      },
    };
  };
}

/** A page that is left or reloaded while it renews its sign-in never gets the answer; so long the next may ask again. */
const retrySeconds = 30;

function mayBeRetried(kind: string, { payload, consumedFor }: StoredModel): boolean {
  const isOfApp = kind === 'RefreshToken' && appIdOf(payload.clientId) !== null;
  return isOfApp && consumedFor !== null && consumedFor < retrySeconds;
}

/** For this long after its end, a code is told apart as expired from one that never was. */
const keptAfterExpiry = sql`interval '1 hour'`;
const sweptAtOnceMax = 1_000;

/** Deletes what has expired. */
export async function sweepOauthModels(db: Db): Promise<void> {
  for (let swept = sweptAtOnceMax; swept === sweptAtOnceMax; ) {
    const { numAffectedRows } = await sql`
      delete from svc.oauth_models where (kind, id_hash) in (
        select kind, id_hash from svc.oauth_models
        where expires_at < now() - ${keptAfterExpiry} limit ${sweptAtOnceMax} for update skip locked
      )`.execute(db);
    swept = Number(numAffectedRows ?? 0);
  }
}

function restored(kind: string, id: string, model: StoredModel): AdapterPayload {
  const payload = withSecrets(kind, id, model.payload);
  if (model.consumedFor !== null && !mayBeRetried(kind, model)) payload.consumed = true;
  // The provider compares with this machine's clock; how much is left is by the database's.
  if (model.secondsLeft !== null) payload.exp = Math.floor(Date.now() / 1000 + model.secondsLeft);
  return payload;
}

/**
 * The provider saves a session at the end of each request that read it. If it was ended meanwhile, by its owner
 * elsewhere or by a suspension, saving it would bring it back.
 */
function trackSessions(request: AdapterOptions['request']) {
  const seen = new WeakMap<object, { found: Set<string>; ended: boolean }>();
  const current = () => {
    const key = request();
    if (!key) return { found: new Set<string>(), ended: false };
    const state = seen.get(key) ?? { found: new Set(), ended: false };
    seen.set(key, state);
    return state;
  };
  return {
    found: (idHash: string) => void current().found.add(idHash),
    /** On a sign-in the session moves to a new id; one that could not be moved has ended. */
    missed(idHash: string) {
      const state = current();
      if (state.found.has(idHash)) state.ended = true;
    },
    saveMode(idHash: string): 'insert' | 'renew' | 'skip' {
      const state = current();
      if (state.ended) return 'skip';
      return state.found.has(idHash) ? 'renew' : 'insert';
    },
  };
}
