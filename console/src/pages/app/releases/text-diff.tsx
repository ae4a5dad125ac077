import { VisuallyHidden } from '@mantine/core';
import { useMemo } from 'react';
import './text-diff.css';
import { type DiffLine, diffLines, foldSame } from './line-diff.ts';

const lineMarks: Record<DiffLine['kind'], { sign: string; word: string }> = {
  same: { sign: ' ', word: '' },
  added: { sign: '+', word: 'added' },
  removed: { sign: '−', word: 'removed' },
};

export function TextDiff({
  before,
  after,
  isWhole = false,
}: {
  before: string;
  after: string;
  isWhole?: boolean;
}) {
  const parts = useMemo(
    () =>
      isWhole
        ? [{ kind: 'shown' as const, lines: diffLines(after, after) }]
        : foldSame(diffLines(before, after)),
    [before, after, isWhole],
  );
  if (parts.length === 0) return <p>The file is empty.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard.
    <section className="text-diff" aria-label="Lines" tabIndex={0}>
      <table>
        <tbody>
          {parts.map((part, at) =>
            part.kind === 'hidden' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a diff keep their order.
              <tr key={`part ${at}`} className="text-diff-hidden">
                <td colSpan={4}>{part.lines === 1 ? '1 unchanged line' : `${part.lines} unchanged lines`}</td>
              </tr>
            ) : (
              part.lines.map((line) => <Line key={`${line.before} ${line.after}`} line={line} />)
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}

function Line({ line: { kind, text, before, after } }: { line: DiffLine }) {
  const { sign, word } = lineMarks[kind];
  return (
    <tr className={`text-diff-${kind}`}>
      <td className="text-diff-number">{before}</td>
      <td className="text-diff-number">{after}</td>
      <td>
        <span aria-hidden>{sign}</span>
        {word && <VisuallyHidden>{word}</VisuallyHidden>}
      </td>
      <td className="text-diff-text">{text}</td>
    </tr>
  );
}
