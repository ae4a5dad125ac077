import { usageError } from '@svc/cli/framework/errors.ts';
import { platformTenantId } from '../../core/context.ts';
import { countSealed, rotateKey, supersededGenerations } from '../../core/key-rotation.ts';
import { currentGeneration, type Key, keysTag, listGenerations, wrapKeys } from '../../core/keys.ts';
import {
  createMasterKeyFile,
  findMasterKeyId,
  masterKeyVariable,
  withMasterKey,
} from '../../core/master-key.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { type AdminCtx, listResult, type Result, type System } from '../command.ts';
import { withSystem } from '../system.ts';

/** The modules are loaded with the command, because other commands do not need them. */
const declaredKeys = async () => (await import('../../modules.ts')).keys;

export async function runListKeys(ctx: AdminCtx): Promise<Result> {
  const keys = await declaredKeys();
  const items = await withSystem(ctx, async (system) => {
    const found = [];
    for (const key of keys) found.push(await describeKey(system, key));
    return found;
  });
  return listResult(['name', 'kind', 'generation', 'created_at', 'state', 'master_key', 'protects'], items);
}

async function describeKey({ db }: System, key: Key) {
  const now = new Date();
  const { name, kind, protects } = key;
  const generations = await listGenerations(db, key);
  if (generations.length === 0)
    return {
      name,
      kind,
      generation: null,
      created_at: null,
      state: 'not created',
      master_key: null,
      protects,
    };
  const { generation, createdAt, masterKey } = currentGeneration(generations, now.getTime());
  const sealed = await countSealed(db, key);
  const states = [
    ...generations
      .filter((each) => each.generation > generation)
      .map((each) => `${each.generation} in use from ${each.activeAt.toISOString()}`),
    ...supersededGenerations(key, generations, now).map(({ generation: old, acceptedUntil }) => {
      const left = sealed.get(old) ?? 0;
      return `${old} accepted until ${acceptedUntil.toISOString()}${left > 0 ? `, ${left} values to seal again` : ''}`;
    }),
  ];
  const state = states.length === 0 ? 'in use' : states.join('; ');
  const created_at = createdAt.toISOString();
  return { name, kind, generation, created_at, state, master_key: masterKey ?? 'none', protects };
}

export async function runRotateKey(ctx: AdminCtx, args: { positionals: { name: string } }): Promise<Result> {
  const { name } = args.positionals;
  const key = (await declaredKeys()).find((each) => each.name === name);
  if (!key) throw fail('not_found', { detail: `There is no key ${name}: see svc-admin keys list.` });
  const { generation, activeAt } = await withSystem(ctx, (system) =>
    runAsOperator(system, { name: 'keys.rotate', auditTenantId: platformTenantId }, (operator) =>
      rotateKey(operator, key),
    ),
  );
  const active_at = activeAt.toISOString();
  return {
    json: { name, generation, active_at },
    text: `Created generation ${generation} of ${name}, in use from ${active_at}. The previous one is still accepted.\n`,
  };
}

export async function runCreateMasterKey(_: AdminCtx, args: { flags: { to: string } }): Promise<Result> {
  const { to } = args.flags;
  const { id } = createFile(to);
  return {
    json: { file: to, master_key: id },
    text: `Wrote the master key ${id} to ${to}. Store a copy outside this machine: without it, the keys of the platform are lost.\n`,
  };
}

function createFile(path: string): { id: string } {
  try {
    return createMasterKeyFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw usageError(`${path} already exists.`, 'Name a file that does not exist.');
    if (code === 'ENOENT') throw usageError(`The folder of ${path} does not exist.`);
    throw error;
  }
}

/** The configured file has the new master key; running servers read it again when they meet it. */
export async function runRewrapKeys(
  ctx: AdminCtx,
  args: { flags: { 'from-file': string } },
): Promise<Result> {
  const { masterKeyFile } = ctx.config();
  const { changed, id } = await withSystem(ctx, (system) =>
    runAsOperator(system, { name: 'keys.rewrap', auditTenantId: platformTenantId }, async (operator) => {
      const source = withMasterKey(operator.db.withoutPlugins(), args.flags['from-file']);
      const found = { changed: await wrapKeys(operator.db, source), id: findMasterKeyId(operator.db) };
      operator.audit({
        action: 'keys.rewrap',
        target: { kind: 'key', id: 'master', name: 'master key' },
        before: { master_key: findMasterKeyId(source) },
        after: { master_key: found.id },
      });
      operator.invalidate(keysTag);
      return found;
    }),
  );
  const text =
    id === null
      ? `Decrypted ${changed} keys, because ${masterKeyVariable} is not set.`
      : `Encrypted ${changed} keys with the master key ${id} in ${masterKeyFile}.`;
  return { json: { changed, master_key: id }, text: `${text}\n` };
}
