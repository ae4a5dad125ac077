/** The process: signals, exit code and nothing else. */
const argv = process.argv.slice(2);

// The commonest line of scripts needs none of the rest.
if (argv.length === 1 && argv[0] === '--version') {
  const { versionLine } = await import('./version.ts');
  await Bun.write(Bun.stdout, versionLine).catch(() => undefined);
  process.exit(0);
}

// Files are read and translated side by side when they are asked for together, and one after the other when each is
// asked for by the one before: what the commonest lines need is asked for here.
const words = argv.join('/');
const [{ runCli }, { errorsWritten, realIo }] = await Promise.all([
  import('./cli.ts'),
  import('./io.ts'),
  import('./profile.ts'),
  import('@svc/contract/client.ts'),
  import('@svc/contract/endpoint.ts'),
  /^[a-z][a-z-]*(\/[a-z][a-z-]*){0,2}$/.test(words)
    ? import(`./commands/${words}.ts`).catch(() => undefined)
    : undefined,
]);

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
