import { localGrantType, localLoginFile } from '@svc/contract/identity.ts';
import { parseBaseUrl, sameServer } from './profile.ts';
import type { Ctx } from './context.ts';
import { CliError, usage } from './errors.ts';
import { asTokens, loginScope, postForm } from './oauth.ts';
import type { NewLogin } from './save-login.ts';

/** The launcher lies at the root of the repository, and so does the server's default data folder. */
const dataDirDefault = `${import.meta.dir}/../../.svc`;

/** Whoever can read the server's data folder owns the server anyway: its secret there is proof enough. */
export async function localLogin(ctx: Ctx): Promise<NewLogin> {
  const { baseUrl, secret } = await readSecret(ctx.io.env.SVC_DATA_DIR || dataDirDefault);
  const asked = ctx.io.env.SVC_BASE_URL;
  if (asked && !sameServer(asked, baseUrl)) {
    throw usage(
      `SVC_BASE_URL is ${asked}, but the data folder belongs to ${baseUrl}.`,
      'Unset SVC_BASE_URL, or set SVC_DATA_DIR.',
    );
  }
  const answer = await postForm(ctx, `${baseUrl}/oauth/token`, {
    grant_type: localGrantType,
    local_secret: secret,
    scope: loginScope,
  });
  if (!answer.ok) {
    throw new CliError('access_denied', `The server refused the local login: ${answer.detail}.`, {
      next: 'Is the running server the one that uses this data folder?',
    });
  }
  return { baseUrl: asked ? parseBaseUrl(asked, 'SVC_BASE_URL') : baseUrl, tokens: asTokens(answer.body) };
}

async function readSecret(dir: string): Promise<{ baseUrl: string; secret: string }> {
  const path = `${dir}/${localLoginFile}`;
  let data: { base_url?: unknown; secret?: unknown };
  try {
    data = await Bun.file(path).json();
  } catch (cause) {
    throw new CliError('not_logged_in', `${path} can not be read, so a local login is not possible.`, {
      next: 'Start the server on this machine first; SVC_DATA_DIR names its data folder.',
      cause,
    });
  }
  if (typeof data?.base_url !== 'string' || typeof data.secret !== 'string') {
    throw new CliError('config_unreadable', `${path} does not hold base_url and secret.`, {
      next: 'Restart the server.',
    });
  }
  return { baseUrl: parseBaseUrl(data.base_url, `base_url in ${path}`), secret: data.secret };
}
