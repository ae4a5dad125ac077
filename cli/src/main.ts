const argv = process.argv.slice(2);

// Fast path for scripts: needs no other module.
if (argv.length === 1 && argv[0] === '--version') {
  const { versionLine } = await import('./version.ts');
  await Bun.write(Bun.stdout, versionLine).catch(() => undefined);
  process.exit(0);
}

// Modules that are imported together are read and compiled in parallel: import what most commands need here.
const words = argv.join(' ');
const [{ runCli }, { flushErrors, realIo }] = await Promise.all([
  import('./cli.ts'),
  import('./framework/io.ts'),
  import('./framework/text.ts'),
  import('./global-flags.ts'),
  import('./session/profile.ts'),
  import('./session/request.ts'),
  import('@svc/contract/client.ts'),
  import('@svc/contract/endpoint.ts'),
  import('./registry.ts').then(({ svc }) => (svc.commands.includes(words) ? svc.load(words) : undefined)),
]);

let stop: (() => void) | undefined;
let interrupted = false;
let exitMsMax = 1_000;
process.on('SIGINT', () => {
  if (interrupted || stop === undefined) process.exit(130);
  interrupted = true;
  stop();
  // Force the exit if the command ignores the abort signal.
  setTimeout(() => process.exit(130), exitMsMax).unref();
});

const io = realIo(argv, process.env, {
  onInterrupt: (callback) => {
    stop = callback;
  },
  allowAfterInterrupt: (ms) => {
    exitMsMax = ms;
  },
});
const exitCode = await runCli(io);
await flushErrors();
process.exit(exitCode);
