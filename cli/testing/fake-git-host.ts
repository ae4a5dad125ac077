import { problem } from './fake-problem.ts';
import type { FakeServer, Seen } from './fake-server.ts';

/** What the server knows of one code, and how it behaves. */
export interface FakeGitHost {
  /** What polling answers, in order; the last one stays. */
  polls: PollAnswer[];
  intervalSeconds: number;
  verificationUri: string;
  /** Codes that were asked with. */
  asked: string[];
  /** How many codes were issued. */
  issued: number;
  isLinked: boolean;
  /** Answers instead, when it returns one. */
  also?: (seen: Seen) => Response | undefined;
}

type PollAnswer = 'pending' | 'slow_down' | 'linked' | 'expired' | 'denied' | 'foreign' | 'html';

export const secretCode = 'secret-device-code';
const account = {
  ...{ id: '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', login: 'ann', kind: 'user', host: 'https://git.example' },
  linked_at: '2031-05-01T12:00:00.000Z',
};

/** A server whose git host issues codes. */
export function issueCodes(fake: FakeServer): FakeGitHost {
  const state: FakeGitHost = {
    ...{ polls: ['linked'], intervalSeconds: 0.02, asked: [], issued: 0, isLinked: false },
    verificationUri: 'https://git.example/login/device',
  };
  fake.intercept = (_request, seen) => {
    if (seen.path.endsWith('/git-host/link') && seen.query.get('dry_run') !== 'true')
      return Response.json(issuedCode(state), { status: 201 });
    if (seen.path.endsWith('/git-host/link/poll') && seen.query.get('dry_run') !== 'true')
      return polled(state, seen);
    return state.also?.(seen);
  };
  return state;
}

export function issuedCode(state: FakeGitHost) {
  state.issued += 1;
  return {
    ...{ device_code: secretCode, user_code: 'WDJB-MJHT', verification_uri: state.verificationUri },
    ...{ expires_at: '2031-05-01T12:15:00.000Z', interval_seconds: state.intervalSeconds },
  };
}

function polled(state: FakeGitHost, { body }: Seen): Response {
  state.asked.push(JSON.parse(body).device_code);
  const status = state.polls.length > 1 ? state.polls.shift() : state.polls[0];
  switch (status) {
    case 'expired':
      return problem('device_code_expired');
    case 'denied':
      return problem('access_denied');
    case 'foreign':
      return problem('not_found');
    case 'html':
      return new Response('<html>Bad gateway</html>', { status: 502 });
    default: {
      state.isLinked ||= status === 'linked';
      return Response.json({
        ...{ status, interval_seconds: state.intervalSeconds, next_poll_at: '2031-05-01T12:00:05.000Z' },
        account: status === 'linked' ? account : null,
      });
    }
  }
}
