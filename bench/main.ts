// `npm run bench <name>`: comparative measurements that print ratios. `npm test` does not run them.
const benches: Record<string, () => Promise<{ main: () => Promise<void> }>> = {
  apps: () => import('./apps.ts'),
  build: () => import('./build.ts'),
  cli: () => import('./cli-start.ts'),
  clients: () => import('./clients.ts'),
  compare: () => import('./compare.ts'),
  governed: () => import('./governed.ts'),
  proxy: () => import('./proxy.ts'),
  rows: () => import('./rows.ts'),
  'rows-path': () => import('./rows-path.ts'),
  'rows-scale': () => import('./rows-scale.ts'),
  'rows-search': () => import('./rows-search.ts'),
  'rows-memory': () => import('./rows-memory.ts'),
  runtime: () => import('./runtime.ts'),
  start: () => import('./start.ts'),
  static: () => import('./static.ts'),
};

const name = process.argv[2] ?? '';
const load = benches[name];
if (!load) {
  console.error(`Usage: npm run bench <${Object.keys(benches).join('|')}>`);
  process.exit(2);
}
await (await load()).main();
process.exit(process.exitCode ?? 0);
