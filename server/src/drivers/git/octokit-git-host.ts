import { createPrivateKey } from 'node:crypto';
import { createAppAuth } from '@octokit/auth-app';
import { createDeviceCode, exchangeDeviceCode } from '@octokit/oauth-methods';
import type { Octokit } from '@octokit/rest';
import { verify } from '@octokit/webhooks-methods';
import { z } from 'zod';
import type { LiveKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import {
  type DeviceGrant,
  type DevicePoll,
  type GitHost,
  type GitHostUser,
  type Installation,
  UserTokenError,
  type UserTokens,
} from './git-host.ts';
import {
  AccountResponse,
  AppResponse,
  callHost,
  callHostOrNull,
  DeviceCodeResponse,
  errorResponse,
  InstallationResponse,
  InstallationsResponse,
  LoginErrorResponse,
  mapHostErrors,
  RepositoriesResponse,
  TokensResponse,
  unavailableError,
} from './github-api.ts';
import {
  createInstallation,
  createOctokit,
  createReader,
  isRepoName,
  repoParams,
} from './octokit-installation.ts';

interface OctokitGitHostOptions {
  webUrl: string;
  loginUrl: string;
  apiUrl: string;
  isBuiltIn: boolean;
  installUrl: (state: string) => string;
  credentials: LiveKey<AppCredentials>;
}

interface AppCredentials {
  clientId: string;
  appId: string;
  privateKey: string;
  webhookSecret: string;
}

const perPage = 100;
const pagesMax = 20;
const TokenResponse = z.object({ token: z.string().min(1) });

export function createOctokitGitHost(options: OctokitGitHostOptions): GitHost {
  const { webUrl, loginUrl, apiUrl, credentials } = options;
  const anonymous = createOctokit(apiUrl);
  const deviceFlow = createDeviceFlow({
    ...options,
    clientId: credentials.current().clientId,
    octokit: anonymous,
  });
  let signer = createSigner(credentials.current().privateKey);

  function createSigner(privateKey: string) {
    const auth = createAppAuth({
      appId: credentials.current().appId,
      privateKey: toPkcs8(privateKey),
      request: anonymous.request,
      log: { warn: () => {} },
    });
    return { privateKey, auth };
  }

  function appAuth() {
    const { privateKey } = credentials.current();
    if (signer.privateKey !== privateKey) signer = createSigner(privateKey);
    return signer.auth;
  }

  async function asApp(): Promise<Octokit> {
    const { token } = await appAuth()({ type: 'app' });
    return createOctokit(apiUrl, token);
  }

  async function callAsApp<T extends z.ZodType>(
    shape: T,
    question: (octokit: Octokit) => Promise<{ data: unknown }>,
  ): Promise<z.output<T> | null> {
    const octokit = await asApp();
    return mapHostErrors(
      callHostOrNull(shape, () => question(octokit)),
      (error) => (error.status === 401 ? unavailableError('it rejects the key of the app.') : error),
    );
  }

  async function installationToken(id: number, repo?: { id: number }): Promise<string> {
    const limits = repo ? { repositoryIds: [repo.id] } : {};
    const request = async () => ({
      data: await appAuth()({ type: 'installation', installationId: id, ...limits }),
    });
    const { token } = await mapHostErrors(callHost(TokenResponse, request), ({ status }) =>
      status === 422 && repo
        ? fail('not_found', { detail: 'The app of the git host has no access to the repository.' })
        : unavailableError(`no token for the installation (status ${status}).`),
    );
    return token;
  }

  return {
    webUrl,
    isBuiltIn: options.isBuiltIn,
    beginDeviceFlow: deviceFlow.begin,
    pollDeviceFlow: deviceFlow.poll,
    refresh: deviceFlow.refresh,
    installUrl: options.installUrl,
    remoteUrl: ({ owner, name }) => `${loginUrl}/${owner}/${name}.git`,
    asUser: (token) => createUser(createOctokit(apiUrl, token)),
    installationOfRepo: async (repo) =>
      isRepoName(repo)
        ? callAsApp(InstallationResponse, ({ rest }) => rest.apps.getRepoInstallation(repoParams(repo)))
        : null,
    installationOfOwner: async (owner) => {
      if (!isRepoName({ owner, name: 'any' })) return null;
      return (
        (await callAsApp(InstallationResponse, ({ rest }) => rest.apps.getOrgInstallation({ org: owner }))) ??
        callAsApp(InstallationResponse, ({ rest }) => rest.apps.getUserInstallation({ username: owner }))
      );
    },
    installation: (id) =>
      callAsApp(InstallationResponse, ({ rest }) => rest.apps.getInstallation({ installation_id: id })),
    asInstallation: (id, repo) =>
      createInstallation({
        apiUrl,
        webhookSecret: () => credentials.current().webhookSecret,
        token: () => installationToken(id, repo),
      }),
    isSigned: async (body, signature) => {
      if (signature === null || signature === '' || body === '') return false;
      for (const { webhookSecret } of credentials.accepted())
        if (await verify(webhookSecret, body, signature).catch(() => false)) return true;
      return false;
    },
    check: async () => {
      try {
        const app = await callAsApp(AppResponse, ({ rest }) => rest.apps.getAuthenticated());
        if (!app) return { ok: false, detail: `${webUrl} does not know the app.` };
        return { ok: true, detail: `${webUrl} accepts the app ${app.slug ?? app.name}.` };
      } catch (error) {
        return { ok: false, detail: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

function createUser(octokit: Octokit): GitHostUser {
  return {
    ...createReader(async () => octokit, mapUserErrors),
    account: () => mapUserErrors(callHost(AccountResponse, () => octokit.rest.users.getAuthenticated())),
    installations: () => mapUserErrors(listInstallations(octokit)),
    repositories: (installationId, { page, perPage: per_page }) =>
      mapUserErrors(
        callHostOrNull(RepositoriesResponse, () =>
          octokit.rest.apps.listInstallationReposForAuthenticatedUser({
            installation_id: installationId,
            page,
            per_page,
          }),
        ).then((found) => found && { items: found.repositories, total: found.total_count }),
      ),
  };
}

/** Uses page numbers, since Link headers may have the public URL, which this server may not be able to use. */
async function listInstallations(octokit: Octokit): Promise<Installation[]> {
  const all: Installation[] = [];
  for (let page = 1; page <= pagesMax; page++) {
    const { installations, total_count } = await callHost(InstallationsResponse, () =>
      octokit.rest.apps.listInstallationsForAuthenticatedUser({ page, per_page: perPage }),
    );
    all.push(...installations);
    if (installations.length === 0 || all.length >= total_count) break;
  }
  return all;
}

function mapUserErrors<T>(request: Promise<T>): Promise<T> {
  return mapHostErrors(request, ({ status }) =>
    status === 401 ? new UserTokenError() : unavailableError(`request rejected (status ${status}).`),
  );
}

/** GitHub issues PKCS#1 keys, but signing needs PKCS#8. */
function toPkcs8(pem: string): string {
  return createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }).toString();
}

interface DeviceFlowOptions {
  octokit: Octokit;
  loginUrl: string;
  webUrl: string;
  clientId: string;
}

/** RFC 8628 as implemented by GitHub. Needs no client secret. */
function createDeviceFlow({ octokit, loginUrl, webUrl, clientId }: DeviceFlowOptions) {
  const request = octokit.request.defaults({ baseUrl: loginUrl });
  const client = { clientType: 'github-app', clientId, request } as const;

  return {
    async begin(): Promise<DeviceGrant> {
      const result = await callLogin(() => createDeviceCode(client));
      if ('error' in result) throw unavailableError(`the device flow failed (${result.error}).`);
      const parsed = DeviceCodeResponse.safeParse(result.data);
      if (!parsed.success) throw unavailableError('unexpected response of the device flow.');
      const { device_code, user_code, verification_uri, expires_in, interval } = parsed.data;
      if (!isUrlBelow(verification_uri, webUrl))
        throw unavailableError('its verification URL is on another host.');
      return {
        deviceCode: device_code,
        userCode: user_code,
        verificationUri: verification_uri,
        expiresInSeconds: expires_in,
        intervalSeconds: interval,
      };
    },
    async poll(deviceCode: string): Promise<DevicePoll> {
      const result = await callLogin(() => exchangeDeviceCode({ ...client, code: deviceCode }));
      if (!('error' in result)) return { status: 'approved', tokens: parseTokens(result.data) };
      switch (result.error) {
        case 'authorization_pending':
          return { status: 'pending' };
        case 'slow_down':
          return { status: 'slow_down', intervalSeconds: result.interval ?? 10 };
        case 'expired_token':
        case 'token_expired':
          return { status: 'expired' };
        case 'access_denied':
          return { status: 'denied' };
        case 'incorrect_device_code':
        case 'bad_verification_code':
        case 'invalid_grant':
          return { status: 'unknown' };
        default:
          throw unavailableError(`the device flow failed (${result.error}).`);
      }
    },
    async refresh(refreshToken: string): Promise<UserTokens | null> {
      const result = await callLogin(() =>
        request('POST /login/oauth/access_token', {
          headers: { accept: 'application/json' },
          client_id: clientId,
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
        }),
      );
      if (!('error' in result)) return parseTokens(result.data);
      if (['bad_refresh_token', 'invalid_grant', 'expired_token'].includes(result.error)) return null;
      throw unavailableError(`the token could not be renewed (${result.error}).`);
    },
  };
}

type LoginResult = { data: unknown } | { error: string; interval: number | undefined };

async function callLogin(question: () => Promise<{ data: unknown }>): Promise<LoginResult> {
  let data: unknown;
  try {
    data = (await question()).data;
  } catch (error) {
    const answer = errorResponse(error);
    if (!answer) throw unavailableError('no connection.');
    if (answer.status >= 500) throw unavailableError(`status ${answer.status}.`);
    data = answer.data;
    if (!LoginErrorResponse.safeParse(data).success)
      throw unavailableError(`status ${answer.status} with an unexpected body.`);
  }
  const failure = LoginErrorResponse.safeParse(data);
  if (!failure.success) return { data };
  // The code becomes a part of an error message, so it must be a single word.
  const error = /^[a-z_]{1,50}$/.test(failure.data.error) ? failure.data.error : 'unknown';
  return { error, interval: failure.data.interval };
}

function parseTokens(data: unknown): UserTokens {
  const parsed = TokensResponse.safeParse(data);
  if (!parsed.success) throw unavailableError('the response has no token.');
  const { access_token, expires_in, refresh_token, refresh_token_expires_in } = parsed.data;
  const after = (seconds: number | undefined) =>
    seconds === undefined ? null : new Date(Date.now() + seconds * 1000);
  return {
    token: access_token,
    expiresAt: after(expires_in),
    refreshToken: refresh_token ?? null,
    refreshExpiresAt: after(refresh_token_expires_in),
  };
}

/** Protects users from being sent to another host. */
export function isUrlBelow(address: string, webUrl: string): boolean {
  const [url, web] = [URL.parse(address), new URL(webUrl)];
  if (!url || url.origin !== web.origin || url.username || url.password) return false;
  const folder = web.pathname.replace(/\/?$/, '/');
  return url.pathname.startsWith(folder);
}
