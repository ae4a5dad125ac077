import { randomBytes } from 'node:crypto';

interface Code {
  userCode: string;
  interval: number;
  polledAt: number | null;
  status: 'waiting' | 'denied' | 'expired' | 'redeemed' | 'approved';
  login: string;
}

export type DeviceCodes = ReturnType<typeof newDeviceCodes>;

export function newDeviceCodes() {
  const byCode = new Map<string, Code>();
  const change = async (userCode: string, set: Partial<Code>) => {
    const found = [...byCode.values()].find((code) => code.userCode === userCode);
    if (!found) throw new Error(`There is no code ${userCode}.`);
    Object.assign(found, { polledAt: null }, set);
  };
  return {
    byCode,
    refreshTokens: new Map<string, string>(),
    verificationUri: null as string | null,
    approve: (userCode: string, login: string) => change(userCode, { status: 'approved', login }),
    deny: (userCode: string) => change(userCode, { status: 'denied' }),
    expire: (userCode: string) => change(userCode, { status: 'expired' }),
    wait: (userCode: string) => change(userCode, {}),
  };
}

/** GitHub's device flow for clients that send and accept JSON. */
export async function handleDeviceFlow(
  codes: DeviceCodes,
  request: Request,
  { web, clientId, issueToken }: { web: string; clientId: string; issueToken(login: string): string },
): Promise<Response | null> {
  const { pathname } = new URL(request.url);
  if (request.method !== 'POST' || !pathname.startsWith('/login/')) return null;
  const body = await request.json();
  if (pathname === '/login/device/code') {
    if (body.client_id !== clientId) return new Response('{"error":"Not Found"}', { status: 404 });
    const deviceCode = randomBytes(20).toString('hex');
    const userCode = randomBytes(4).toString('hex').toUpperCase().replace(/^.{4}/, '$&-');
    codes.byCode.set(deviceCode, { userCode, interval: 5, polledAt: null, status: 'waiting', login: '' });
    const verification_uri = codes.verificationUri ?? `${web}/login/device`;
    const limits = { expires_in: 899, interval: 5 };
    return Response.json({ device_code: deviceCode, user_code: userCode, verification_uri, ...limits });
  }
  const issue = (login: string) => {
    const refresh = `ghr_${randomBytes(30).toString('hex')}`;
    codes.refreshTokens.set(refresh, login);
    return Response.json({
      access_token: issueToken(login),
      expires_in: 28800,
      refresh_token: refresh,
      refresh_token_expires_in: 15897600,
      scope: '',
      token_type: 'bearer',
    });
  };
  if (body.client_id !== clientId) return Response.json({ error: 'incorrect_client_credentials' });
  if (body.grant_type === 'refresh_token') {
    const token = body.refresh_token;
    const login = codes.refreshTokens.get(token);
    codes.refreshTokens.delete(token);
    return login === undefined ? Response.json({ error: 'bad_refresh_token' }) : issue(login);
  }
  const code = codes.byCode.get(body.device_code);
  if (!code || code.status === 'redeemed') return Response.json({ error: 'incorrect_device_code' });
  if (code.status === 'expired') return Response.json({ error: 'expired_token' });
  if (code.status === 'denied') return Response.json({ error: 'access_denied' });
  if (code.status === 'approved') {
    code.status = 'redeemed';
    return issue(code.login);
  }
  const isTooSoon = code.polledAt !== null && Date.now() - code.polledAt < code.interval * 1000;
  code.polledAt = Date.now();
  if (!isTooSoon) return Response.json({ error: 'authorization_pending' });
  code.interval += 5;
  return Response.json({ error: 'slow_down', interval: code.interval });
}
