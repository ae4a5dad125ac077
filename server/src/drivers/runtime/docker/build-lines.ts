import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { splitLines } from '../process/line-splitter.ts';
import type { LogSink } from '../runtime.ts';

/** What the engine says of itself while it builds, which tells an app's owners nothing. */
const ownWords =
  /^(?: ---> .*|Removing intermediate container [0-9a-f]+|Successfully (?:built|tagged) \S+|\[Warning\] One or more build-args.*)$/;
const red = '\u001b[91m';
const plain = '\u001b[0m';

export interface BuildMessage {
  stream?: string;
  status?: string;
  aux?: { ID?: string };
  error?: string;
  errorDetail?: { code?: number; message?: string };
}

export interface BuildLines {
  take(message: BuildMessage): void;
  end(): void;
}

/** Lines of a build from the engine's messages, which are pieces of text. `tellStep`: what is said of a step; null: nothing. */
export function buildLines(log: LogSink, tellStep: (instruction: string) => string | null): BuildLines {
  const encoder = new TextEncoder();
  const out = splitLines({ lineBytesMax: logLineBytesMax, onLine });
  const errors = splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => log('stderr', line) });

  function onLine(line: string): void {
    const step = /^Step \d+\/\d+ : (.*)$/s.exec(line);
    if (step) {
      const told = tellStep(step[1] ?? '');
      if (told !== null) log('platform', told);
    } else if (line !== '' && !ownWords.test(line)) log('stdout', line);
  }

  return {
    take({ stream, status }) {
      if (status !== undefined && stream === undefined) log('platform', status);
      if (stream === undefined) return;
      if (stream.startsWith(red)) errors.take(encoder.encode(stream.slice(red.length).replace(plain, '')));
      else out.take(encoder.encode(stream));
    },
    end() {
      out.end();
      errors.end();
    },
  };
}
