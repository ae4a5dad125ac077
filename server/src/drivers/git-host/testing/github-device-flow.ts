import { randomBytes } from 'node:crypto';

/** The device flow of GitHub, after its documentation: answers are form-encoded unless JSON is asked for. */
export interface DeviceCodes {
  byCode: Map<string, Code>;
  refreshTokens: Map<string, string>;
  /** Where people are sent to. */
  verificationUri: string | null;
  approve(userCode: string, login: string): void;
  deny(userCode: string): void;
  expire(userCode: string): void;
}

interface Code {
  userCode: string;
  interval: number;
  /** Null: never asked. */
  askedAt: number | null;
  state: { is: 'waiting' | 'denied' | 'expired' | 'redeemed' } | { is: 'approved'; login: string };
}

export function newDeviceCodes(): DeviceCodes {
  const byCode = new Map<string, Code>();
  const set = (userCode: string, state: Code['state']) => {
    const found = [...byCode.values()].find((code) => code.userCode === userCode);
    if (!found) throw new Error(`There is no code ${userCode}.`);
    found.state = state;
    // Whoever approves takes longer than any interval.
    found.askedAt = null;
  };
  return {
    ...{ byCode, refreshTokens: new Map(), verificationUri: null },
    approve: (userCode, login) => set(userCode, { is: 'approved', login }),
    deny: (userCode) => set(userCode, { is: 'denied' }),
    expire: (userCode) => set(userCode, { is: 'expired' }),
  };
}

interface Flow {
  web: string;
  clientId: string;
  issue(login: string): string;
}

export async function answerDeviceFlow(
  codes: DeviceCodes,
  request: Request,
  url: URL,
  flow: Flow,
): Promise<Response | null> {
  if (request.method !== 'POST' || !url.pathname.startsWith('/login/')) return null;
  const asked = await parametersOf(request);
  const answer = (body: Record<string, string | number>) => {
    if (/json/.test(request.headers.get('accept') ?? '')) return Response.json(body);
    const form = new URLSearchParams(Object.entries(body).map(([key, value]) => [key, String(value)]));
    return new Response(form.toString(), {
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    });
  };
  const refuse = (error: string, more: Record<string, number> = {}) =>
    answer({
      error,
      error_description: 'As the documentation says.',
      error_uri:
        'https://docs.github.com/developers/apps/authorizing-oauth-apps#error-codes-for-the-device-flow',
      ...more,
    });
  if (url.pathname === '/login/device/code') {
    if (asked.client_id !== flow.clientId) return new Response('{"error":"Not Found"}', { status: 404 });
    const deviceCode = randomBytes(20).toString('hex');
    const userCode = randomBytes(4)
      .toString('hex')
      .toUpperCase()
      .replace(/^(.{4})/, '$1-');
    codes.byCode.set(deviceCode, { userCode, interval: 5, askedAt: null, state: { is: 'waiting' } });
    return answer({
      ...{ device_code: deviceCode, user_code: userCode, expires_in: 899, interval: 5 },
      verification_uri: codes.verificationUri ?? `${flow.web}/login/device`,
    });
  }
  if (url.pathname !== '/login/oauth/access_token') return null;
  if (asked.client_id !== flow.clientId) return refuse('incorrect_client_credentials');
  const tokensFor = (login: string) => {
    const refresh = `ghr_${randomBytes(30).toString('hex')}`;
    codes.refreshTokens.set(refresh, login);
    return answer({
      ...{ access_token: flow.issue(login), expires_in: 28800, refresh_token: refresh },
      ...{ refresh_token_expires_in: 15897600, scope: '', token_type: 'bearer' },
    });
  };
  if (asked.grant_type === 'refresh_token') {
    const login = codes.refreshTokens.get(asked.refresh_token ?? '');
    if (login === undefined) return refuse('bad_refresh_token');
    codes.refreshTokens.delete(asked.refresh_token ?? '');
    return tokensFor(login);
  }
  if (asked.grant_type !== 'urn:ietf:params:oauth:grant-type:device_code')
    return refuse('unsupported_grant_type');
  const code = codes.byCode.get(asked.device_code ?? '');
  if (!code) return refuse('incorrect_device_code');
  const isTooSoon = code.askedAt !== null && Date.now() - code.askedAt < code.interval * 1000;
  code.askedAt = Date.now();
  switch (code.state.is) {
    case 'redeemed':
      return refuse('incorrect_device_code');
    case 'expired':
      return refuse('expired_token');
    case 'denied':
      return refuse('access_denied');
    case 'approved': {
      const { login } = code.state;
      code.state = { is: 'redeemed' };
      return tokensFor(login);
    }
    case 'waiting':
      if (!isTooSoon) return refuse('authorization_pending');
      code.interval += 5;
      return refuse('slow_down', { interval: code.interval });
  }
}

async function parametersOf(request: Request): Promise<Record<string, string>> {
  const text = await request.text();
  if (/json/.test(request.headers.get('content-type') ?? '')) return JSON.parse(text);
  return Object.fromEntries(new URLSearchParams(text));
}
