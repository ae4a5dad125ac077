import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { patientMs } from '../../scripts/patience.ts';
import { setApp } from './database.ts';
import { type App, done, newApp, newTenant, type Person, type Tenant } from './people.ts';
import type { RunningServer } from './server.ts';

export type SiteGround = ReturnType<typeof siteOf>;

export type SiteFiles = Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;

interface Draft {
  id: string;
  missing: string[];
  upload_url: string;
  state: string;
}

export async function newSite(on?: RunningServer, within?: Tenant): Promise<SiteGround> {
  const tenant = within ?? (await newTenant(on));
  return siteOf(tenant, await newApp(tenant, { owner: tenant.member }, { deploy_method: 'static' }));
}

/** An app with a site of its own; its owner is the tenant's member. */
export const siteOf = (tenant: Tenant, app: Pick<App, 'id' | 'slug' | 'subdomain'>) => ({
  tenant,
  server: tenant.server,
  owner: tenant.member,
  app,
  base: `${tenant.base}/apps/${app.id}/static`,
  /** Without a port. */
  host: `${app.subdomain}.apps.localhost`,
  stagingHost: `${app.subdomain}--staging.apps.localhost`,
});

export const sumOf = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export function manifestOf(files: SiteFiles): { path: string; sha256: string; size: number }[] {
  return Object.entries(files).map(([path, content]) => {
    const bytes = Buffer.from(content as string);
    return { path, sha256: sumOf(bytes), size: bytes.byteLength };
  });
}

export function createDraft(
  { owner, base }: Pick<SiteGround, 'owner' | 'base'>,
  files: SiteFiles,
  more: { version?: string; config?: object; on_finalize?: 'nothing' | 'deploy' } = {},
): Promise<Draft> {
  return done(owner.call('POST', `${base}/releases`, { files: manifestOf(files), ...more }));
}

export async function sendMissing(draft: Draft, files: SiteFiles): Promise<void> {
  const bySum = new Map(Object.values(files).map((content) => [sumOf(content), content]));
  for (const sum of draft.missing) {
    const sent = await fetch(draft.upload_url + sum, { method: 'PUT', body: bySum.get(sum)! });
    if (!sent.ok) throw new Error(`A file was not taken: ${sent.status} ${await sent.text()}`);
  }
}

/** A finalized release; `on_finalize: 'deploy'` also activates it where the rules allow that. */
export async function newRelease(
  site: Pick<SiteGround, 'owner' | 'base'>,
  files: SiteFiles,
  more: Parameters<typeof createDraft>[2] = {},
): Promise<{ id: string; pointer: string | null; state: string }> {
  const draft = await createDraft(site, files, more);
  await sendMissing(draft, files);
  return done(site.owner.call('POST', `${site.base}/releases/${draft.id}/finalize`));
}

export function moveRelease(
  { owner, base }: Pick<SiteGround, 'owner' | 'base'>,
  release: string,
  move: string,
): ReturnType<Person['call']> {
  return owner.call('POST', `${base}/releases/${release}/${move}`);
}

/** Sets the visibility as an approved publication does. The change of the summary makes the server drop its cached app. */
export async function setVisibility(
  site: SiteGround,
  visibility: 'private' | 'invite_only' | 'public' | 'internet',
): Promise<void> {
  await setApp(site.server, site.app.id, { visibility });
  const summary = `It is ${visibility} since ${Bun.randomUUIDv7().slice(-12)}.`;
  await done(site.owner.call('PATCH', `${site.tenant.base}/apps/${site.app.id}`, { summary }));
}

export interface SiteAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Compressed or not, as received. */
  bytes: Buffer;
  text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** By port: the server closes connections that are idle for longer, perhaps just when a request is sent. */
const lastAnswers = new Map<number, number>();
const idleMsMax = 2_000;

/** Connects to 127.0.0.1 with a Host header: not every system resolves names below localhost. */
export function askHost(
  at: { port: number },
  host: string,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
): Promise<SiteAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<SiteAnswer>();
  const sent = request(
    {
      host: '127.0.0.1',
      port: at.port,
      path,
      method: options.method ?? 'GET',
      headers: { host, ...options.headers },
      agent: performance.now() - (lastAnswers.get(at.port) ?? 0) > idleMsMax ? false : agent,
      timeout: patientMs(20_000),
    },
    (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        lastAnswers.set(at.port, performance.now());
        const headers = Object.fromEntries(
          Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
        );
        const bytes = Buffer.concat(chunks);
        const text = plainBytes(bytes, headers['content-encoding']).toString();
        resolve({ status: answer.statusCode ?? 0, headers, bytes, text });
      });
    },
  );
  sent.on('timeout', () => sent.destroy(new Error(`${host}${path} did not answer in time.`)));
  sent.on('error', reject);
  sent.end();
  return promise;
}

export const askSite = (
  site: SiteGround,
  path: string,
  options: Parameters<typeof askHost>[3] = {},
): Promise<SiteAnswer> => askHost(site.server, `${site.host}:${site.server.port}`, path, options);

export function plainBytes(bytes: Buffer, encoding: string | undefined): Buffer {
  if (bytes.byteLength === 0) return bytes;
  if (encoding === 'br') return brotliDecompressSync(bytes);
  if (encoding === 'gzip') return gunzipSync(bytes);
  return bytes;
}

/** The person's cookie for a site, from the URL that the platform issues for a sign-in. */
export async function visitorCookie(site: SiteGround, person: Person, host = site.host): Promise<string> {
  const origin = `http://${host}:${site.server.port}`;
  const { redirect_url } = await done(
    person.call('POST', '/api/v1/static/auth/start', { target: `${origin}/` }),
  );
  const { pathname, search } = new URL(redirect_url);
  const signedIn = await askHost(site.server, `${host}:${site.server.port}`, pathname + search, {
    headers: { accept: 'text/html' },
  });
  const cookie = /__Host-svc_site=[^;,]+/.exec(signedIn.headers['set-cookie'] ?? '')?.[0];
  if (!cookie) throw new Error(`No cookie came with ${signedIn.status}: ${signedIn.text}`);
  return cookie;
}
