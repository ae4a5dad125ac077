import type { Jq } from 'jq-wasm/inline';
import { usageError } from '../framework/errors.ts';

const compileError = 3;

/** jq 1.8 as WebAssembly takes about 80 ms to load, so only `--jq` loads it. A faulty expression fails before the command runs. */
export async function compileJq(expression: string): Promise<(json: string) => string> {
  const { loadJq } = await import('jq-wasm/inline');
  const jq = await loadJq();
  if (jq.raw('null', expression).exitCode === compileError) run(jq, 'null', expression);
  return (json) => run(jq, json, expression);
}

function run(jq: Jq, json: string, expression: string): string {
  const { stdout, stderr, exitCode } = jq.raw(json, expression, ['-r']);
  if (exitCode !== 0) throw usageError(`--jq: ${reason(stderr)}`);
  return stdout === '' ? '' : `${stdout}\n`;
}

function reason(stderr: string): string {
  const [first = ''] = stderr.split('\n');
  return `${first.replace(/^jq: error(?: \([^)]*\))?: /, '').replace(/:?$/, '') || 'the expression failed'}.`;
}
