import { Glob } from 'bun';
import { finish, root, runParts, runTool } from './suites.ts';

// Under a minute: types, style, and the tests that need no database and no other process.
const needsMore =
  /testDatabase|openDatabase|freshDatabase|installations\(|temporaryFolder|(?:S3|Dns|Acme)Server|Bun\.spawn|child_process|playwright|[cC]onformance\(|[dD]ockerEngine|startEngine/;
const quick: string[] = [];
for await (const path of new Glob('{contract,server,cli,sdk,console,scripts}/**/*.test.ts').scan(root)) {
  if (!path.includes('node_modules') && !needsMore.test(await Bun.file(`${root}/${path}`).text()))
    quick.push(`./${path}`);
}
// All at once: the compiler and the linter leave half of the machine idle.
const [looked, tested] = await Promise.all([
  Promise.all([
    runTool('types', ['tsc', '--noEmit', '-p', '.']),
    runTool('style', ['biome', 'check', '--error-on-warnings', '.']),
  ]),
  runParts('unit', 4, ['--timeout', '20000', ...quick.sort()]),
]);
finish([...looked, ...tested]);
