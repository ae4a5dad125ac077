import { runCli } from './cli.ts';
import { realIo } from './real-io.ts';

/** The process: signals, exit code and nothing else. */
const interrupt = new AbortController();
process.on('SIGINT', () => {
  if (interrupt.signal.aborted) process.exit(130);
  interrupt.abort();
  // What does not listen to the signal must not keep a person waiting.
  setTimeout(() => process.exit(130), 1000).unref();
});

process.exit(await runCli(realIo(process.argv.slice(2), process.env, interrupt.signal)));
