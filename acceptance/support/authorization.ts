import { beforeAll } from 'bun:test';
import { type ApiDocument, type Letter, type Operation, readDocument } from './document.ts';
import { type CallInput, differsByCaller, newCallInput } from './operation-inputs.ts';
import type { Answered } from './people.ts';

import { newWorld, type World } from './world.ts';

/** The world and the API document of one test file. */
export function useAuthorization() {
  const env = {} as { world: World; document: ApiDocument };
  beforeAll(async () => {
    env.world = await newWorld();
    env.document = await readDocument(env.world.tenant.server);
  });

  const inputs = new Map<string, Promise<CallInput>>();

  /**
   * The target of refused calls, created once per operation, or per caller where it depends on the caller: a refused call
   * that changed it would show as a difference.
   */
  function inputOfRefused({ id }: Operation, letter: Letter): Promise<CallInput> {
    const key = differsByCaller(id) ? `${id} ${letter}` : id;
    const found = inputs.get(key) ?? newCallInput(id, env.world, letter);
    inputs.set(key, found);
    return found;
  }

  return Object.assign(env, { inputOfRefused });
}

export type AuthorizationEnv = ReturnType<typeof useAuthorization>;

/** Status and error code. */
export function outcome({ status, headers, body }: Answered): string {
  if (!headers.get('x-request-id')) return `${status} without a request id`;
  return status < 400 ? String(status) : `${status} ${body.code}`;
}

export const withoutRequestId = ({ status, body }: Answered) => ({
  status,
  body: { ...body, request_id: '' },
});
