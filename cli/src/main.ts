import { runCli } from './cli.ts';
import { realIo } from './io.ts';

/** The process: signals, exit code and nothing else. */
let stop: (() => void) | undefined;
let interrupted = false;
process.on('SIGINT', () => {
  if (interrupted || stop === undefined) process.exit(130);
  interrupted = true;
  stop();
  // What does not listen must not keep a person waiting.
  setTimeout(() => process.exit(130), 1000).unref();
});

const io = realIo(process.argv.slice(2), process.env, (callback) => {
  stop = callback;
});
process.exit(await runCli(io));
