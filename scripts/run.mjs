// Runs a program on Bun where only Node and npm are installed; forwards the terminal, signals and exit code.
import { spawn } from 'node:child_process';
import { bunPath, installOrExit, root } from './install.mjs';

await installOrExit();
const [program, ...args] = process.argv.slice(2);
const child = spawn(bunPath(), ['--no-env-file', program, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: process.env,
});

// Ctrl-C may arrive twice (from the terminal and from npm); the server treats signals that arrive together as one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// If npm is killed, no signal is forwarded: watch for the loss of the parent process.
const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  // Once: a second signal would end the server without waiting for its requests.
  clearInterval(watch);
  child.kill('SIGTERM');
}, 1000);
watch.unref();

child.on('error', (error) => {
  console.error(`Could not start Bun: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) process.exit(signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 1);
  process.exit(code ?? 1);
});
