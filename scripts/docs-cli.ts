import { groups, loadCommand } from '../cli/src/registry.ts';
export async function cliMarkdown(): Promise<string> {
  return `${Object.keys(groups).length}${typeof loadCommand}`;
}
