import type { Adapter, AdapterPayload, ClientMetadata, Provider } from 'oidc-provider';
import type { Db } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';
import { parseAppClientId } from './clients.ts';
import {
  consumeAgain,
  consumeModel,
  deleteModel,
  deleteModelsOfGrant,
  findModel,
  type PollInterval,
  recordPoll,
  revokeGrant,
  type StoredModel,
  storeModel,
} from './models-store.ts';

interface AdapterOptions {
  db: Db;
  onCommitted: ((tag: string) => void) | undefined;
  request: () => { oidc: { route: string } } | undefined;
  invalidGrant: (detail: string) => Error;
  findClient: (id: string) => Promise<ClientMetadata | undefined>;
  /** The origin of the request; `browser` is the hash of its cookie. */
  origin: () => { browser: string; address: string; device: string } | null;
}

const storedIdPrefix = 'stored:';
/** Routes that find a device code by the user code. Clients never name a code by its hash. */
const routesWithStoredIds = ['code_verification', 'device_resume'];

export function createOauthAdapter(options: AdapterOptions): (kind: string) => Adapter {
  const { db } = options;
  const sessions = trackSessions(options.request);

  return (kind) => {
    const hashId = (id: string) => {
      const route = options.request()?.oidc.route ?? '';
      const isStoredId =
        kind === 'DeviceCode' && routesWithStoredIds.includes(route) && id.startsWith(storedIdPrefix);
      return isStoredId ? id.slice(storedIdPrefix.length) : sha256(id);
    };

    return {
      async upsert(id, payload, secondsLeft) {
        const idHash = hashId(id);
        const mode = kind === 'Session' ? sessions.saveMode(idHash) : 'insert';
        if (mode === 'skip') return;
        const { userCode } = payload;
        const stored = withoutSecrets(kind, id, payload);
        if (kind === 'Interaction') stored.browser = options.origin()?.browser;
        const { address = null, device = null } = options.origin() ?? {};
        await storeModel(db, { kind, idHash, payload: stored, userCode, secondsLeft, address, device }, mode);
      },

      async find(id) {
        if (kind === 'Client') return options.findClient(id);
        const model = await findModel(db, kind, 'id_hash', hashId(id));
        if (model && kind === 'Session') sessions.found(model.idHash);
        // A sign-in belongs to the browser that began it.
        if (kind === 'Interaction' && model?.payload.browser !== options.origin()?.browser) return undefined;
        return model && restorePayload(kind, id, model);
      },

      async findByUid(uid) {
        const model = await findModel(db, kind, 'uid', uid);
        return model && restorePayload(kind, `${storedIdPrefix}${model.idHash}`, model);
      },

      async findByUserCode(userCode) {
        const model = await findModel(db, kind, 'user_code_hash', sha256(userCode));
        return model && { ...restorePayload(kind, `${storedIdPrefix}${model.idHash}`, model), userCode };
      },

      async consume(id) {
        const idHash = hashId(id);
        if (await consumeModel(db, { kind, idHash })) return;
        const model = await findModel(db, kind, 'id_hash', idHash);
        const isRetry = model && canRetry(kind, model);
        if (isRetry && (await consumeAgain(db, { idHash, withinSeconds: retrySeconds }))) return;
        // A refresh token used twice may be stolen: revoke the whole family (RFC 9700 §4.14).
        if (model?.grantId) await revokeGrant(options, model.grantId);
        throw options.invalidGrant('already used');
      },

      async destroy(id) {
        const idHash = hashId(id);
        if (kind === 'Grant') await revokeGrant(options, id);
        else if (!(await deleteModel(options, { kind, idHash })) && kind === 'Session')
          sessions.notFound(idHash);
      },

      async revokeByGrantId(grantId) {
        await deleteModelsOfGrant(options, kind, grantId);
      },
    };
  };
}

/** A page that is reloaded while it renews its tokens never gets the response: it may retry for this long. */
const retrySeconds = 30;

function canRetry(kind: string, { payload, consumedFor }: StoredModel): boolean {
  const isAppToken = kind === 'RefreshToken' && parseAppClientId(payload.clientId) !== null;
  return isAppToken && consumedFor !== null && consumedFor < retrySeconds;
}

function restorePayload(kind: string, id: string, model: StoredModel): AdapterPayload {
  const payload = withSecrets(kind, id, model.payload);
  if (model.consumedFor !== null && !canRetry(kind, model)) payload.consumed = true;
  // The provider compares with the local clock; the remaining time comes from the database's.
  if (model.secondsLeft !== null) payload.exp = Math.floor(Date.now() / 1000 + model.secondsLeft);
  return payload;
}

/** The provider saves a session at the end of each request that read it: one that was ended meanwhile would be restored. */
function trackSessions(request: AdapterOptions['request']) {
  const states = new WeakMap<object, { found: Set<string>; ended: boolean }>();
  const current = () => {
    const key = request();
    if (!key) return { found: new Set<string>(), ended: false };
    const state = states.get(key) ?? { found: new Set(), ended: false };
    states.set(key, state);
    return state;
  };
  return {
    found: (idHash: string) => void current().found.add(idHash),
    /** A sign-in moves the session to a new id; one that could not be moved has ended. */
    notFound(idHash: string) {
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

/** RFC 8628 §3.5: a device that polls too early gets `slow_down` and a longer interval. */
const pollInterval: PollInterval = { seconds: 5, increment: 5, secondsMax: 60, toleranceSeconds: 1 };

/** The provider itself enforces no polling interval. */
export function createDevicePolling(db: Db, deviceCodeSeconds: number): Parameters<Provider['use']>[0] {
  return async (ctx, next) => {
    await next();
    // Unset for a path without a route.
    const route: unknown = ctx.oidc?.route;
    if (route === 'device_authorization' && ctx.status === 200)
      ctx.body = { ...ctx.body, interval: pollInterval.seconds };
    if (route !== 'token' || ctx.body?.error !== 'authorization_pending') return;
    const deviceCode = String(ctx.oidc.params.device_code);
    const seconds = await recordPoll(db, {
      deviceCode,
      expiresIn: deviceCodeSeconds,
      interval: pollInterval,
    });
    if (seconds === null) return;
    ctx.body = { error: 'slow_down', error_description: `poll at most every ${seconds} seconds` };
  };
}

/** Ids are secrets: only hashes are stored. The provider copies ids into payloads; these functions remove and restore them. */
function withoutSecrets(kind: string, id: string, payload: AdapterPayload): AdapterPayload {
  const { jti: _jti, userCode: _userCode, ...stored } = payload;
  if (kind !== 'Interaction') return stored;
  if (stored.session) {
    const { cookie: _cookie, ...session } = stored.session;
    stored.session = session;
  }
  if (stored.returnTo?.endsWith(id)) stored.returnTo = stored.returnTo.slice(0, -id.length);
  return stored;
}

function withSecrets(kind: string, id: string, stored: AdapterPayload): AdapterPayload {
  const payload = { ...stored, jti: id };
  if (kind === 'Interaction' && payload.returnTo?.endsWith('/')) payload.returnTo += id;
  return payload;
}
