import { problem, type Seen } from './answers.ts';
import type { FakeServer } from './fake-server.ts';

type PollAnswer = 'pending' | 'slow_down' | 'linked' | 'expired' | 'denied' | 'foreign' | 'html';

export interface FakeGitHost {
  /** Answers to polls, in order; the last one stays. */
  polls: PollAnswer[];
  intervalSeconds: number;
  verificationUri: string;
  /** Codes of the polls. */
  asked: string[];
  issued: number;
  isLinked: boolean;
  /** Replaces the usual answer, where it returns one. */
  also?: (seen: Seen) => Response | undefined;
}

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
export function issueCodes(fake: FakeServer): FakeGitHost {
  const state: FakeGitHost = {
    polls: ['linked'],
    intervalSeconds: 0.02,
    asked: [],
    issued: 0,
    isLinked: false,
    verificationUri: 'https://git.example/login/device',
  };
  fake.intercept = (_request, seen) => {
    const isDry = seen.query.get('dry_run') === 'true';
    if (seen.path.endsWith('/git-host/link') && !isDry)
      return Response.json(issuedCode(state), { status: 201 });
    return seen.path.endsWith('/git-host/link/poll') && !isDry ? polled(state, seen) : state.also?.(seen);
  };
  return state;
}

export function issuedCode(state: FakeGitHost) {
  state.issued += 1;
  return {
    device_code: secretCode,
    user_code: 'WDJB-MJHT',
    verification_uri: state.verificationUri,
    expires_at: '2031-05-01T12:15:00.000Z',
    interval_seconds: state.intervalSeconds,
  };
}

function polled(state: FakeGitHost, { body }: Seen): Response {
  state.asked.push(JSON.parse(body).device_code);
  const status = (state.polls.length > 1 ? state.polls.shift() : state.polls[0]) ?? 'pending';
  state.isLinked ||= status === 'linked';
  const answer = {
    status,
    interval_seconds: state.intervalSeconds,
    next_poll_at: '2031-05-01T12:00:05.000Z',
  };
  return (
    pollProblems[status]?.() ?? Response.json({ ...answer, account: status === 'linked' ? account : null })
  );
}
