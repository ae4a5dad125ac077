import { useFixture } from '../../scripts/use-fixture.ts';
import { type Letter, type Operation, readDocument } from './document.ts';
import { type CallInput, unchangedInputs } from './operation-inputs.ts';
import type { Answered } from './people.ts';
import { newWorld } from './world.ts';

export function useAuthorization() {
  const env = useFixture(async () => {
    const world = await newWorld();
    return { world, document: await readDocument(world.tenant.server) };
  });

  let unchanged: ReturnType<typeof unchangedInputs> | undefined;

  /** The target of refused calls: one that changed it would show as a difference. */
  function inputOfRefused({ id }: Operation, letter: Letter): Promise<CallInput> {
    unchanged ??= unchangedInputs(env.world);
    return unchanged(id, letter);
  }

  return Object.assign(env, { inputOfRefused });
}

export type AuthorizationEnv = ReturnType<typeof useAuthorization>;

export function outcome({ status, headers, body }: Answered): string {
  if (!headers.get('x-request-id')) return `${status} without a request id`;
  return status < 400 ? String(status) : `${status} ${body.code}`;
}

export const withoutRequestId = ({ status, body }: Answered) => ({
  status,
  body: { ...body, request_id: '' },
});
