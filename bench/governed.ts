import { main as measureRows } from './rows.ts';

/** `npm run bench rows -- --only=governed --no-peer` under a name of its own. */
export async function main(): Promise<void> {
  process.argv.push('--only=governed', '--no-peer');
  await measureRows();
}
