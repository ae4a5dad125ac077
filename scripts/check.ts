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
const looked = await Promise.all([
  runTool('types', ['tsc', '--noEmit', '-p', '.']),
  runTool('style', ['biome', 'check', '--error-on-warnings', '.']),
]);
finish([...looked, ...(await runParts('unit', 4, ['--timeout', '20000', ...quick.sort()]))]);
