import { problem, type Seen } from './answers.ts';
import type { FakeServer } from './fake-server.ts';

type PollAnswer = 'pending' | 'slow_down' | 'linked' | 'expired' | 'denied' | 'foreign' | 'html';

export type FakeGitHost = ReturnType<typeof issueCodes>;

export const secretCode = 'secret-device-code';
const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
const linked_at = '2031-05-01T12:00:00.000Z';
const account = { id, login: 'ann', kind: 'user', host: 'https://git.example', linked_at };

const pollProblems: Partial<Record<PollAnswer, () => Response>> = {
  expired: () => problem('device_code_expired'),
  denied: () => problem('access_denied'),
  foreign: () => problem('not_found'),
  html: () => new Response('<html>Bad gateway</html>', { status: 502 }),
};

/** Makes the server issue codes of a git host. */
export function issueCodes(fake: FakeServer) {
  const state = {
    /** Answers to polls, in order; the last one stays. */
    polls: ['linked'] as PollAnswer[],
    intervalSeconds: 0.02,
    /** Codes of the polls. */
    polledCodes: [] as string[],
    issued: 0,
    isLinked: false,
    verificationUri: 'https://git.example/login/device',
    /** Replaces the usual answer, where it returns one. */
    also: undefined as ((seen: Seen) => Response | undefined) | undefined,
  };
  fake.intercept = (_request, seen) => {
    const isDry = seen.query.get('dry_run') === 'true';
    if (seen.path.endsWith('/git-host/link') && !isDry)
      return Response.json(issueCode(state), { status: 201 });
    return seen.path.endsWith('/git-host/link/poll') && !isDry
      ? pollResponse(state, seen)
      : state.also?.(seen);
  };
  return state;
}

export function issueCode(state: FakeGitHost) {
  state.issued += 1;
  return {
    device_code: secretCode,
    user_code: 'WDJB-MJHT',
    verification_uri: state.verificationUri,
    expires_at: '2031-05-01T12:15:00.000Z',
    interval_seconds: state.intervalSeconds,
  };
}

function pollResponse(state: FakeGitHost, { body }: Seen): Response {
  state.polledCodes.push(JSON.parse(body).device_code);
  const status = (state.polls.length > 1 ? state.polls.shift() : state.polls[0]) ?? 'pending';
  state.isLinked ||= status === 'linked';
  const times = { interval_seconds: state.intervalSeconds, next_poll_at: '2031-05-01T12:00:05.000Z' };
  const linked = status === 'linked' ? account : null;
  return pollProblems[status]?.() ?? Response.json({ status, ...times, account: linked });
}
