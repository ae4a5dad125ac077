import { memo } from 'react';
import { textParts } from './ansi.ts';
import { hitsIn, type KeptLine } from './log-line.ts';

/** Drawn once: a log only ever grows at its end. */
export const LogRow = memo(function LogRow({ line, words }: { line: KeptLine; words: string }) {
  return (
    <div className="log-row" data-stream={line.stream}>
      <time dateTime={line.time} title={new Date(line.time).toLocaleString()}>
        {clock(line.time)}
      </time>
      {/* Said in words: colour alone tells not everybody. */}
      {line.stream !== 'stdout' && <span className="log-stream">{line.stream}</span>}
      <span>
        {textParts(line.text).map(({ text, color, isBold }, at) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line never change.
            key={at}
            style={{
              ...(color && { color: `var(--log-${color})` }),
              ...(isBold && { fontWeight: 700 }),
            }}
          >
            {hitsIn(text, words).map((piece, place) =>
              // biome-ignore lint/suspicious/noArrayIndexKey: they stand where they stand.
              place % 2 === 1 ? <mark key={place}>{piece}</mark> : piece,
            )}
          </span>
        ))}
      </span>
    </div>
  );
});

function clock(time: string): string {
  const at = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
