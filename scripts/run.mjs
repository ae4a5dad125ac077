// Runs one of the project's programs on Bun, on a machine that has only Node and npm: installs what is missing
// first, then hands over the terminal, the signals and the exit code.
import { spawn } from 'node:child_process';
import { bunPath, installOrExit, root } from './install.mjs';

await installOrExit();
const [program, ...args] = process.argv.slice(2);
const child = spawn(bunPath(), ['--no-env-file', program, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: process.env,
});

// A terminal sends Ctrl-C to the whole group, npm forwards signals as well: the server takes signals that come
// together as one, so passing them on here can't turn one Ctrl-C into two.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// npm killed outright can not pass anything on: without it, nobody is left who would stop us.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) child.kill('SIGTERM');
}, 1000).unref();

child.on('error', (error) => {
  console.error(`Could not start Bun: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) process.exit(signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 1);
  process.exit(code ?? 1);
});
