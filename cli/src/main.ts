/** The process: signals, exit code and nothing else. */
const argv = process.argv.slice(2);

// The commonest line of scripts needs none of the rest.
if (argv.length === 1 && argv[0] === '--version') {
  const { versionLine } = await import('./version.ts');
  await Bun.write(Bun.stdout, versionLine).catch(() => undefined);
  process.exit(0);
}

const [{ runCli }, { errorsWritten, realIo }] = await Promise.all([import('./cli.ts'), import('./io.ts')]);

let stop: (() => void) | undefined;
let interrupted = false;
process.on('SIGINT', () => {
  if (interrupted || stop === undefined) process.exit(130);
  interrupted = true;
  stop();
  // What does not listen must not keep a person waiting.
  setTimeout(() => process.exit(130), 1000).unref();
});

const io = realIo(argv, process.env, (callback) => {
  stop = callback;
});
const exitCode = await runCli(io);
await errorsWritten();
process.exit(exitCode);
